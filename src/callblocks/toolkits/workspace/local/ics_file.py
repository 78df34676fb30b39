"""An iCalendar file: VEVENTs grouped by UID.

    group     the event of one UID, or the series, with those occurrences that differ from it

Files of other programs are read as they are: with several events, without UIDs, with folded lines,
and with unknown properties. Parts that are too long are left out (`faults`). The zones of a file
are evaluated by file_zones.py and not by the library, which would expand them without a bound.
"""

# The library types what a component holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec
from icalendar import Calendar, Event, Timezone
from icalendar.parser.ical.component import ComponentIcalParser

from callblocks.toolkits.workspace.local.file_zones import FileZone, work_of_zones
from callblocks.toolkits.workspace.local.ics_event import every
from callblocks.toolkits.workspace.local.ics_lines import lines_of_file
from callblocks.toolkits.workspace.local.ics_text import keep_backslashes
from callblocks.toolkits.workspace.local.vtimezone import vtimezone
from callblocks.toolkits.workspace.local.zones import known_zone

__all__ = ("BROKEN", "Group", "IcsFile", "event_id", "new_file", "touch")

# Exceptions of the library on damaged input; it has no exception class of its own.
BROKEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

_ID = re.compile(r"[a-v0-9]{5,1024}", re.ASCII)
# A zone name with a vendor prefix, in a property with TZID or in the zone itself.
_VENDOR = re.compile(
    rb"^(TZID:|(?:DTSTART|DTEND|RECURRENCE-ID|EXDATE|RDATE)(?:;[^:;\r\n]*)*?;TZID=)"
    rb"\"?(/[^\":;\r\n]+)\"?",
    re.MULTILINE,
)
_Parameters: TypeAlias = Any
_PRODUCT = "-//callblocks//office//EN"


class Group(msgspec.Struct):
    """The events of one UID; an invitation to one occurrence has no master."""

    uid: str
    master: Event | None = None
    overrides: list[Event] = []

    def events(self) -> list[Event]:
        """Return all events, the master first."""
        return [*([self.master] if self.master is not None else []), *self.overrides]


class IcsFile:
    """A parsed file; without `whole` it has only the shown properties, and no zones."""

    def __init__(self, content: bytes, *, whole: bool = True, files: int = 1) -> None:
        text = _VENDOR.sub(_without_vendor, content.removeprefix(b"\xef\xbb\xbf"))
        read = lines_of_file(text, whole=whole)
        self.faults = read.faults
        work = work_of_zones(files)
        self._zones = {
            name: FileZone(name, lines, work) for name, lines in read.zones.items() if name
        }
        found: list[Any] = _Reader(read.lines).parse()
        self._calendars = [one for one in found if isinstance(one, Calendar)]
        if not self._calendars:
            raise ValueError("it has no VCALENDAR")
        self.groups = self._grouped()
        for group in self.groups:
            for event in group.events():
                self._set_zones(event)

    def _grouped(self) -> list[Group]:
        groups: dict[str, Group] = {}
        events = [part for one in self._calendars for part in one.subcomponents]
        for at, event in enumerate(part for part in events if isinstance(part, Event)):
            uid = str(event.get("UID", ""))
            group = groups.setdefault(uid or f"\n{at}", Group(uid))
            if every(event, "RECURRENCE-ID"):
                group.overrides.append(event)
            elif group.master is None:
                group.master = event
            else:
                # Two masters with one UID: some programs export copies so. Each is an event of its
                # own.
                groups[f"{uid}\n{at}"] = Group(uid, event)
        return list(groups.values())

    def _set_zones(self, event: Event) -> None:
        """Apply the file's own zones to times whose zone names are unknown."""
        for name in ComponentIcalParser.datetime_names:
            for value in every(event, name):
                zone = self._zones.get(str(value.params.get("TZID", "")))
                for one in getattr(value, "dts", ()) if zone is not None else ():
                    if isinstance(one.dt, datetime) and one.dt.tzinfo is None:
                        one.dt = one.dt.replace(tzinfo=zone)

    def add(self, event: Event, beside: Event) -> None:
        """Add an event to the VCALENDAR of another one."""
        self._home(beside).add_component(event)

    def remove(self, event: Event) -> None:
        """Remove an event."""
        home = self._home(event)
        home.subcomponents[:] = [part for part in home.subcomponents if part is not event]

    def to_bytes(self) -> bytes:
        """Return the file with the zones that its events need."""
        for one in self._calendars:
            _add_zones(one)
            keep_backslashes(one)
        return b"".join(one.to_ical() for one in self._calendars)

    def _home(self, event: Event) -> Calendar:
        for one in self._calendars:
            if any(part is event for part in one.subcomponents):
                return one
        raise LookupError("the event is of another file")


class _Reader(ComponentIcalParser):
    """The library's parser with zones by name only; a bad property spoils only itself."""

    def __init__(self, lines: list[Any]) -> None:
        factory = Calendar._get_component_factory()  # pyright: ignore[reportPrivateUsage]
        super().__init__(lines, factory, Calendar.types_factory)

    def handle_end_component(self, vals: str) -> None:
        """End a component without its name: the library would put its zone into a process-wide
        cache, in which one file could redefine the zones of all others.
        """
        super().handle_end_component("")

    def parse_and_add_property(
        self, name: str, params: _Parameters, val: str, tzid: str | None, line: Any
    ) -> None:
        """Parse a property; a zone of an unknown name is ignored."""
        try:
            zone = known_zone(str(tzid)) or None if tzid else None
            super().parse_and_add_property(name, params, val, zone, line)
        except (ArithmeticError, AttributeError, LookupError) as error:
            self.handle_property_parse_error(error, name, params, val, line)


def new_file(event: Event) -> bytes:
    """Return a file with one event."""
    whole = Calendar()
    whole.add("version", "2.0")
    whole.add("prodid", _PRODUCT)
    whole.add_component(event)
    _add_zones(whole)
    keep_backslashes(whole)
    return whole.to_ical()


def touch(event: Event, now: datetime) -> None:
    """Update SEQUENCE and the time stamps of an event."""
    number = every(event, "SEQUENCE")
    for name in ("SEQUENCE", "LAST-MODIFIED", "DTSTAMP"):
        event.pop(name, None)
    try:
        event.add("SEQUENCE", int(number[0]) + 1 if number else 1)
    except (TypeError, ValueError):
        event.add("SEQUENCE", 1)
    moment = now.astimezone(UTC).replace(microsecond=0)
    event.add("LAST-MODIFIED", moment)
    event.add("DTSTAMP", moment)


def event_id(uid: str, place: str) -> str:
    """Return the id of an event: its UID if Google accepts it, else a hash of UID or position."""
    if _ID.fullmatch(uid):
        return uid
    return hashlib.sha256((uid or place).encode(errors="replace")).hexdigest()[:32]


def _without_vendor(found: re.Match[bytes]) -> bytes:
    """Return the match with the plain zone name; the library only guesses it, with a warning."""
    zone = known_zone(found[2].decode(errors="replace"))
    return found[1] + zone.encode() if zone else found[0]


def _add_zones(calendar: Calendar) -> None:
    needed = calendar.get_used_tzids() - {"UTC"}
    there = {str(part.get("TZID", "")) for part in calendar.subcomponents if _is_zone(part)}
    years = [
        start.dt.year
        for part in calendar.subcomponents
        if isinstance(part, Event)
        for start in every(part, "DTSTART")
    ]
    for tzid in sorted(needed - there):
        if known_zone(tzid) == tzid:
            # VTIMEZONEs come first: some programs need them before the events.
            calendar.subcomponents.insert(0, vtimezone(tzid, min(years, default=1970)))


def _is_zone(part: object) -> bool:
    return isinstance(part, Timezone)
