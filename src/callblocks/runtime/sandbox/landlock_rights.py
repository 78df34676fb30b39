"""Landlock's access rights, in the numbers of the kernel."""

from __future__ import annotations

__all__ = (
    "DEVICE_CONTROL",
    "EXECUTE",
    "LIST",
    "MAKE_BLOCK",
    "MAKE_CHARACTER",
    "OLDEST",
    "READ",
    "TRUNCATE",
    "WRITE",
    "every_right",
    "landlock_version",
    "ruleset",
)

# The first version of Landlock that controls truncation.
OLDEST = 3

EXECUTE, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHARACTER, MAKE_BLOCK, TRUNCATE, DEVICE_CONTROL = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_LET_IN, _GO_OUT = 1 << 0, 1 << 1


def landlock_version() -> int:
    """Return the version of Landlock that the kernel offers, 0 for none."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    ask_version = ctypes.c_ulong(1)
    return max(0, libc.syscall(ctypes.c_long(444), None, ctypes.c_ulong(0), ask_version))


def every_right(version: int) -> int:
    """Return every file-system right that a version knows."""
    return (1 << 15) - 1 if version < 5 else (1 << 16) - 1


def ruleset(version: int, *, network: bool = False) -> bytes:
    """Return the ruleset attributes, as far as this version knows them.

    They cover the whole file system, incoming and outgoing TCP, abstract sockets and signals. With
    `network`, outgoing TCP is not restricted.
    """
    words = [every_right(version)]
    words += [_LET_IN if network else _LET_IN | _GO_OUT] if version >= 4 else []
    words += [0b11] if version >= 6 else []
    return b"".join(word.to_bytes(8, "little") for word in words)
