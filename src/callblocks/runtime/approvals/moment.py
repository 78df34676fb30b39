"""When it is, by two clocks: the one on the wall, and one that nobody can turn back.

The wall clock says when an approval expires, also after a restart of the machine. The steady
clock counts since the machine started: while that is the same start, a wall clock that goes
back gives nobody more time.
"""

from __future__ import annotations

import time
from functools import cache

import msgspec

__all__ = ("Moment", "boot_id", "steady_time")

# Counts while the machine sleeps, where the system has such a clock.
_AWAKE_AND_ASLEEP: int | None = getattr(time, "CLOCK_BOOTTIME", None)
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Moment(msgspec.Struct, frozen=True):
    """Seconds since 1970, seconds since the start of the machine, and which start that was."""

    wall: float
    steady: float
    boot: str


def steady_time() -> float:
    """Seconds since the machine started, the same for every process."""
    if _AWAKE_AND_ASLEEP is None:
        return time.monotonic()
    return time.clock_gettime(_AWAKE_AND_ASLEEP)


@cache
def boot_id() -> str:
    """A name for this start of the machine; "" where the system gives none."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
