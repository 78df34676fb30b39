"""Limits on how much of a workspace one call may read, write and list."""

from __future__ import annotations

import msgspec

__all__ = ("FileLimits",)


class FileLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum of each.

    `read` and `write` are bytes of one file; `entries` is the length of a listing, and `depth` its
    levels; `scan` is the number of names read from one folder; `files` is the number of files and
    folders that a walk over the whole workspace may find.
    """

    read: int = 16 * 1024 * 1024
    write: int = 16 * 1024 * 1024
    entries: int = 1_000
    depth: int = 16
    scan: int = 50_000
    files: int = 50_000
