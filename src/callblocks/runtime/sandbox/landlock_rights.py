"""What Landlock guards, in the numbers of the kernel."""

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

OLDEST = 3
"""The first version that guards the cutting of files."""

EXECUTE, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHARACTER, MAKE_BLOCK, TRUNCATE, DEVICE_CONTROL = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_LET_IN, _GO_OUT = 1 << 0, 1 << 1


def landlock_version() -> int:
    """The version of Landlock that the kernel offers, 0 for none."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    ask_version = ctypes.c_ulong(1)
    return max(0, libc.syscall(ctypes.c_long(444), None, ctypes.c_ulong(0), ask_version))


def every_right(version: int) -> int:
    """Every right to the file system that a version knows."""
    return (1 << 15) - 1 if version < 5 else (1 << 16) - 1


def ruleset(version: int, *, network: bool = False) -> bytes:
    """What is guarded, as far as known.

    All of the file system, whom TCP lets in and goes out to, local sockets, who is signalled.
    With `network`, TCP may go out.
    """
    words = [every_right(version)]
    words += [_LET_IN if network else _LET_IN | _GO_OUT] if version >= 4 else []
    words += [0b11] if version >= 6 else []
    return b"".join(word.to_bytes(8, "little") for word in words)
