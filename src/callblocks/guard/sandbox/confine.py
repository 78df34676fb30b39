"""Self-confinement of a process of ours, before it works on data of others.

From then on it opens only the listed files, creates no socket and starts no program. A bug in a C
library that hostile data exploits is confined by the same locks.
"""

from __future__ import annotations

import mimetypes
import os
import sys
from collections.abc import Iterable

from callblocks.guard.sandbox.landlock import (
    DEVICE_CONTROL,
    EXECUTE,
    LIST,
    MAKE_BLOCK,
    MAKE_CHARACTER,
    OLDEST,
    READ,
    every_right,
    landlock_version,
    ruleset,
)
from callblocks.guard.sandbox.launcher import Doors
from callblocks.guard.sandbox.seccomp import machine_is_known, syscall_filter

__all__ = ("lock_in", "own_places")

_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/null",
    "/dev/urandom",
)


def own_places() -> list[str]:
    """Return the paths that a Python process needs: its packages, and the machine's libraries."""
    paths = [*filter(None, sys.path), sys.prefix, sys.base_prefix]
    return [*paths, *_SYSTEM, *map(str, mimetypes.knownfiles)]


def lock_in(*, read: Iterable[str], write: Iterable[str] = (), parent: int | None = None) -> bool:
    """Confine this process; return whether the machine can. Paths that do not exist are left out.

    With `parent`, the process ends when the thread that started it ends. Raise `OSError` where a
    lock that the machine has does not close.
    """
    version = landlock_version()
    if version < OLDEST or not machine_is_known():
        return False
    # No right to execute in the writable folder: a file that hostile data made us write cannot be
    # run.
    work = every_right(version) & ~(EXECUTE | MAKE_CHARACTER | MAKE_BLOCK | DEVICE_CONTROL)
    rules = [(path, work) for path in write if os.path.isdir(path)]
    rules += [(path, READ | LIST) for path in read if os.path.isdir(path)]
    rules += [(path, READ) for path in read if os.path.exists(path) and not os.path.isdir(path)]
    plan = {
        "filter": syscall_filter(apart=False),
        "ruleset": ruleset(version),
        "landlock": rules,
    }
    Doors(plan).close(parent)
    return True
