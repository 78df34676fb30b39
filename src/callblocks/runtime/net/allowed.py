"""What a person opened although it is not public: hosts with their ports.

    127.0.0.1:8123    [::1]:8123    build.internal:80

An entry opens exactly what a URL says so: a name that merely leads to an opened address is
not opened by that, and neither is another port.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from callblocks.model.errors import CallerError, ToolError
from callblocks.runtime.net.url import read_url

__all__ = ("Allowed", "read_allowed")

Allowed: TypeAlias = frozenset[tuple[str, int]]
"""Hosts, as a `Url` has them, with ports."""


def read_allowed(entries: Iterable[str]) -> Allowed:
    """Read `host:port` entries; one that is none raises `CallerError`."""
    return frozenset(_read(entry) for entry in entries)


def _read(entry: str) -> tuple[str, int]:
    try:
        url = read_url(f"http://{entry}")
    except ToolError as error:
        raise CallerError(f"{entry!r} opens nothing; write host:port") from error
    if not entry.endswith(f":{url.port}") or any(mark in entry for mark in "/?#"):
        raise CallerError(f"{entry!r} opens nothing; write host:port, and nothing else")
    return url.host, url.port
