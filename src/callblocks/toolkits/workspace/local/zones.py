"""Time zones: the one of this machine, and those that other programs name in their own way.

Europe/Berlin                                   as it is
/mozilla.org/20050126_1/Europe/Berlin           Europe/Berlin
W. Europe Standard Time                         Europe/Berlin
"""

from __future__ import annotations

import os
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

__all__ = ("known_zone", "machine_zone", "place")


_LONGEST = 200


def machine_zone() -> str:
    """The time zone that this machine is set to; UTC where that is not known."""
    named = os.environ.get("TZ", "").lstrip(":")
    link = os.path.realpath("/etc/localtime")
    for name in (named, link.partition("/zoneinfo/")[2].removeprefix("Etc/")):
        if name and known_zone(name) == name:
            return name
    return "UTC"


@cache
def known_zone(name: str) -> str:
    """The usual name of a zone that a file names in its own way, or "" if it is unknown."""
    if len(name) > _LONGEST:
        return ""
    if _is_zone(name):
        return name
    parts = name.split("/")
    for start in range(1, len(parts)):
        rest = "/".join(parts[start:])
        if _is_zone(rest):
            return rest
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

    return WINDOWS_TO_OLSON.get(name, "")


def place(name: str) -> ZoneInfo:
    """The zone of a known name."""
    return ZoneInfo(name)


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return bool(name)
