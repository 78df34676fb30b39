"""Limits on the size and the time of responses."""

from __future__ import annotations

import msgspec

__all__ = ("NetLimits",)


class NetLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a client. Sizes are in bytes, times in seconds.

    `body` counts the decompressed bytes. `deadline` is for a whole request with its redirects;
    `connect` and `read` are for one step of it. `connections` is the number open at one time.
    """

    body: int = 5 * 1024 * 1024
    sent: int = 10 * 1024 * 1024
    header_bytes: int = 64 * 1024
    headers: int = 200
    redirects: int = 5
    connections: int = 8
    connect: float = 10.0
    read: float = 20.0
    deadline: float = 60.0
