"""Every tool that comes with callblocks, for one workspace."""

from __future__ import annotations

from callblocks.runtime.files.root import Root
from callblocks.runtime.net.client import Client
from callblocks.runtime.net.url import Url
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.policy.redirects import redirect_refusal
from callblocks.toolkits.files import file_tools
from callblocks.toolkits.http import http_tools
from callblocks.toolkits.terminal import terminal_tools
from callblocks.tools.registry import Registry

__all__ = ("standard_tools",)


def standard_tools(root: Root, policy: Policy | None = None) -> Registry:
    """The registry of them. The workspace is `root`; `policy` judges where redirects lead."""
    judge = policy or Policy()

    def check(url: Url) -> str | None:
        return redirect_refusal(judge, api_call, str(url))

    (api_call,) = http_tools(Client(check=check))
    return Registry((*file_tools(root), *terminal_tools(root), api_call))
