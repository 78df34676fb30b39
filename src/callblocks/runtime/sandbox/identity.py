"""Private user ids: everything that such a user owns or runs belongs to one job.

Only root can switch to one. The ids come from a range that no distribution assigns; where root
itself lives in a user namespace, from the top of that namespace's range.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess

__all__ = ("choose_user", "kill_all_of", "stranger")

_FIRST, _COUNT = 1_900_000_000, 1 << 27
_FEW = 60_000


def stranger() -> int | None:
    """Return a new user id, also used as group id, for each call.

    Return `None` when there is none: not as root, nor where root is the only user there is.
    """
    if os.geteuid() != 0:
        return None
    with open("/proc/self/uid_map", encoding="ascii") as file:
        ranges = [(int(words[0]), int(words[2])) for words in map(str.split, file)]
    return choose_user(ranges)


def choose_user(ranges: list[tuple[int, int]]) -> int | None:
    """Return a user id within the ranges of `(first, count)` of a namespace."""
    # Random, not counted: two programs that run sandboxes at once must not choose the same user.
    wanted = _FIRST + secrets.randbelow(_COUNT)
    if any(first <= wanted < first + count for first, count in ranges):
        return wanted
    first, count = max(ranges, key=lambda each: each[1])
    if count < _FEW:
        return None
    # The upper half, because the lower half has the regular users of the namespace.
    return first + count - 1 - secrets.randbelow(count // 2)


def kill_all_of(user: int) -> None:
    """Kill every process of a user.

    A process of that user does it with `kill(-1)`: the kernel then kills all of them in one pass
    under its lock, and none can fork away.
    """
    for _ in range(100):
        if not _lives(user):
            return
        subprocess.run(
            ["/bin/sh", "-c", "kill -9 -1"],
            user=user,
            group=user,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            env={},
        )


def _lives(user: int) -> bool:
    """Return whether a process of the user is alive; zombies do not count."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == user and not _is_dead(name):
                    return True
    return False


def _is_dead(pid: str) -> bool:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b") ")[2][:1] in b"ZX"
