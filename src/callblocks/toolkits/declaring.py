"""Tools that are made anew for each turn, and are declared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from typing_extensions import Unpack

from callblocks.tools.declare import Options, tool
from callblocks.tools.tool import Tool

__all__ = ("declared",)

_known: dict[str, Tool] = {}
_nothing: dict[str, Any] = {"function": None, "preview": None, "paths": None}


def declared(**options: Unpack[Options]) -> Callable[[Callable[..., Any]], Tool]:
    """Declare a tool once; in the next turn only what it works on is another."""

    def declare(function: Callable[..., Any]) -> Tool:
        name = f"{function.__module__}.{function.__qualname__}"
        if name not in _known:
            _known[name] = replace(tool(function, **options), **_nothing)
        own = {key: options.get(key) for key in _nothing}
        return replace(_known[name], **{**own, "function": function})

    return declare
