"""Time zones: that of this machine, and names that other programs use.

Europe/Berlin                                   as it is
/mozilla.org/20050126_1/Europe/Berlin           Europe/Berlin
W. Europe Standard Time                         Europe/Berlin
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

__all__ = ("known_zone", "machine_zone", "place")


# Zone names come from files: bounds on their length and on the number of suffixes to try.
_LONGEST, _SEGMENTS = 200, 3


def machine_zone() -> str:
    """Return the zone of this machine; UTC if it is unknown."""
    named = os.environ.get("TZ", "").lstrip(":")
    link = os.path.realpath("/etc/localtime")
    # `TZ` first, as the C library does. It may also hold a POSIX rule such as `CET-1CEST`, which is
    # no name of a zone and is passed over.
    for name in (named, link.partition("/zoneinfo/")[2].removeprefix("Etc/")):
        if name and known_zone(name) == name:
            return name
    return "UTC"


@lru_cache(1_000)
def known_zone(name: str) -> str:
    """Return the IANA name of a zone that a file names in its own way, or ""."""
    if len(name) > _LONGEST:
        return ""
    if name in _names():
        return name
    parts = name.split("/")
    for start in range(max(1, len(parts) - _SEGMENTS), len(parts)):
        rest = "/".join(parts[start:])
        if rest in _names():
            return rest
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

    return WINDOWS_TO_OLSON.get(name, "")


def place(name: str) -> ZoneInfo:
    """Return the zone of a known name."""
    return ZoneInfo(name)


@cache
def _names() -> frozenset[str]:
    """Return all names of zones: a file may name thousands, and opening each would take long."""
    return frozenset(available_timezones())
