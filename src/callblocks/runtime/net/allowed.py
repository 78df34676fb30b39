"""Exceptions that a person opened although they are not public: hosts with their ports.

    127.0.0.1:8123    [::1]:8123    build.internal:80

An entry opens exactly the host and port as a URL writes them. A name that merely resolves to an
opened address is not opened by that, and neither is another port.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from callblocks.model.errors import CallerError, ToolError
from callblocks.runtime.net.url import read_url

__all__ = ("Allowed", "read_allowed")

# Hosts, as a `Url` has them, with ports.
Allowed: TypeAlias = frozenset[tuple[str, int]]


def read_allowed(entries: Iterable[str]) -> Allowed:
    """Parse `host:port` entries; raise `CallerError` for an invalid one."""
    return frozenset(_read(entry) for entry in entries)


def _read(entry: str) -> tuple[str, int]:
    try:
        url = read_url(f"http://{entry}")
    except ToolError as error:
        raise CallerError(f"{entry!r} opens nothing; write host:port") from error
    if not entry.endswith(f":{url.port}") or any(mark in entry for mark in "/?#"):
        raise CallerError(f"{entry!r} opens nothing; write host:port, and nothing else")
    return url.host, url.port
