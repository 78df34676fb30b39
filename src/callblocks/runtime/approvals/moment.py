"""The current time by two clocks: the wall clock, and a steady clock that nobody can set back.

The wall clock says when an approval expires, also after a restart of the machine. The steady clock
counts since the machine was booted. Within one boot, setting the wall clock back does not extend an
approval.
"""

from __future__ import annotations

import time
from functools import cache

import msgspec

__all__ = ("Moment", "boot_id", "steady_time")

# CLOCK_BOOTTIME also counts while the machine is suspended. CLOCK_MONOTONIC does not, so an
# approval would survive a night of sleep.
_AWAKE_AND_ASLEEP: int | None = getattr(time, "CLOCK_BOOTTIME", None)
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Moment(msgspec.Struct, frozen=True):
    """Seconds since 1970, seconds since boot, and the id of that boot."""

    wall: float
    steady: float
    boot: str


def steady_time() -> float:
    """Return the seconds since boot, which are the same for every process."""
    if _AWAKE_AND_ASLEEP is None:
        return time.monotonic()
    return time.clock_gettime(_AWAKE_AND_ASLEEP)


@cache
def boot_id() -> str:
    """Return an id of this boot; "" where the system has none."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
