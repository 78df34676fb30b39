"""An iCalendar file: VEVENTs grouped by UID.

    group     the event of one UID, or the series, with those occurrences that differ from it

Files of other programs are read as they are: with several events, without UIDs, with folded lines,
and with unknown properties. Parts that are too long are left out (`faults`). The zones of a file
are evaluated by vtimezone.py and not by the library, which would expand them without a bound.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec
from icalendar import Calendar, Component, Event, Timezone, vText
from icalendar.parser import Contentline, Contentlines
from icalendar.parser.ical.component import ComponentIcalParser

from callblocks.core.text import brief
from callblocks.toolkits.office.local.calendar.ics_event import every
from callblocks.toolkits.office.local.calendar.vtimezone import FileZone, vtimezone, work_of_zones
from callblocks.toolkits.office.times import known_zone

__all__ = (
    "BROKEN",
    "EventGroup",
    "IcsFile",
    "IcsText",
    "Lines",
    "event_id",
    "keep_backslashes",
    "lines_of_file",
    "new_file",
    "touch",
)

# --- Text whose backslashes survive writing: `C:\New` is a path and not a line break ---
#
# The iCalendar library reads `\\N` correctly, but writes the two characters `\N` as a line break.

# The library types what a component holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false


class IcsText(vText):
    """A text that is escaped without that fault."""

    __slots__ = ()

    def to_ical(self) -> bytes:
        r"""Return the text with `\`, `;`, `,` and line breaks escaped."""
        plain = str(self).replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
        return plain.replace("\r\n", "\\n").replace("\n", "\\n").replace("\r", "\\n").encode()


def keep_backslashes(whole: Component) -> None:
    """Replace the texts of a component, and of those in it, where the library would break them."""
    for part in whole.walk():
        for name, value in list(part.items()):
            part[name] = [_kept(one) for one in value] if isinstance(value, list) else _kept(value)


def _kept(value: Any) -> Any:
    if type(value) is not vText or "\\N" not in value:
        return value
    return IcsText(value, params=value.params)


# --- A pre-scan of an iCalendar file's lines, before the library parses them ---
#
#     BEGIN:VCALENDAR
#     BEGIN:VTIMEZONE  …  END:VTIMEZONE      a zone: its lines are kept apart, nothing is expanded
#     BEGIN:VEVENT     …  END:VEVENT         an event: within limits, or left out with a fault
#     END:VCALENDAR
#
# The library spends some 50 microseconds per line and ten per time of a list, and expands zone
# rules without a bound. So its input is counted here first, with plain string operations: a part
# that is too long is left out, and the others are read. An index needs only the properties that an
# event shows; a writer needs all of them.

# The library does not type its parser.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false


# Limit of physical lines, before unfolding.
_PHYSICAL = 250_000

# Limit of parsed lines of a file; a time of a list counts as two. The rest is left out.
_LINES = 40_000

_PART_LINES = 4_000
_PART_SIZE = 1_000_000
_PART_TIMES = 4_000
_PART_RULES = 20
_RULE_SIZE = 4_000
_HEAD_SIZE = 4_000
_DEPTH = 8

_ZONE = "VTIMEZONE"
_BEGIN = re.compile(r"BEGIN:\s*([^\s:;]{1,100})\s*", re.IGNORECASE)
_END = re.compile(r"END:\s*([^\s:;]{1,100})\s*", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9-]+")
_SHOWN = frozenset(
    (
        *("UID", "SUMMARY", "DESCRIPTION", "LOCATION", "STATUS", "CLASS", "TRANSP", "SEQUENCE"),
        *("DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID"),
        *("ORGANIZER", "ATTENDEE", "CREATED", "LAST-MODIFIED", "DTSTAMP", "ACTION", "TRIGGER"),
    )
)
_TIMES = ("RDATE", "EXDATE", "FREEBUSY", "CATEGORIES", "RESOURCES")


class Lines(msgspec.Struct):
    """The lines to parse, those of each zone by its name, and the reasons for omitted parts."""

    lines: list[Contentline] = []
    zones: dict[str, list[str]] = {}
    faults: list[str] = []


class _Part:
    """One event, zone or other component while its lines are counted."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.lines: list[Contentline] = []
        self.names: dict[str, str] = {}
        self.fault = ""
        self._size = self._times = self._rules = 0

    @property
    def cost(self) -> int:
        """The cost of parsing the part, in lines."""
        return len(self.lines) + 2 * self._times

    def add(self, line: Contentline, name: str) -> None:
        if self.fault:
            return
        self._size += len(line)
        if name in _TIMES:
            self._times += line.count(",") + 1
        elif name in ("RRULE", "EXRULE"):
            self._rules += 1
        elif name in ("UID", "SUMMARY", "TZID"):
            self.names.setdefault(name, line.partition(":")[2].strip())
        self.lines.append(line)
        self.refuse(self._refusal(line, name))

    def refuse(self, why: str) -> None:
        """Leave the part out, if there is a reason."""
        self.fault = self.fault or why
        if self.fault:
            self.lines.clear()

    def _refusal(self, line: str, name: str) -> str:
        rule = name in ("RRULE", "EXRULE")
        # A property whose parameters do not end within the limit.
        head = line.count(";", 0, _HEAD_SIZE) > 100 and line.find(":", 0, _HEAD_SIZE) < 0
        limits = (
            (len(self.lines) > _PART_LINES, f"more than {_PART_LINES} lines"),
            (self._size > _PART_SIZE, f"more than {_PART_SIZE} characters"),
            (self._times > _PART_TIMES, f"more than {_PART_TIMES} times or words in lists"),
            # Zones have one rule per observance; their work is bounded where they are used.
            (self._rules > _PART_RULES and self.kind != _ZONE, f"more than {_PART_RULES} rules"),
            (rule and len(line) > _RULE_SIZE, f"a rule of more than {_RULE_SIZE} characters"),
            (head, f"a property with more than {_HEAD_SIZE} characters of parameters"),
        )
        return next((words for passed, words in limits if passed), "")

    def describe(self) -> str:
        said = self.names.get("SUMMARY") or self.names.get("UID") or self.names.get("TZID") or ""
        return f"{self.kind} {brief(said)}" if said else self.kind


class _Scan:
    """The scan: the open components, and the part that is being counted."""

    def __init__(self, whole: bool) -> None:
        self.found = Lines([], {}, [])
        self.left_out = 0
        self._whole = whole
        self._cost = 0
        # The first open component is the calendar, the second an event or a zone in it.
        self._opened: list[str] = []
        self.part: _Part | None = None

    def take(self, line: Contentline) -> None:
        begin, end = _BEGIN.fullmatch(line), _END.fullmatch(line)
        if begin is not None:
            self._opened.append(begin[1].upper())
            if len(self._opened) == 2:
                self.part = _Part(self._opened[1])
        self._keep(line, is_edge=bool(begin or end))
        if end is not None and self._opened:
            self._opened.pop()
            if self.part is not None and len(self._opened) < 2:
                self._end(self.part)
                self.part = None

    def _keep(self, line: Contentline, *, is_edge: bool) -> None:
        if self.part is None:
            if is_edge or self._whole:
                self.found.lines.append(line)
            return
        match = _NAME.match(line)
        name = match[0].upper() if match else ""
        if len(self._opened) > _DEPTH:
            self.part.refuse(f"more than {_DEPTH} parts within each other")
        elif is_edge or self._whole or self.part.kind == _ZONE or name in _SHOWN:
            self.part.add(line, name)

    def _end(self, part: _Part) -> None:
        if part.fault:
            self.found.faults.append(f"{part.describe()} is left out: it has {part.fault}")
            return
        self._cost += part.cost
        if self._cost > _LINES:
            self.left_out += 1
            return
        if part.kind == _ZONE:
            # The first definition of a name counts.
            self.found.zones.setdefault(part.names.get("TZID", ""), list(part.lines))
        if part.kind != _ZONE or self._whole:
            self.found.lines += part.lines


def lines_of_file(content: bytes, *, whole: bool) -> Lines:
    """Return the lines of a file within the limits; `whole` keeps zones and all properties."""
    if content.count(b"\n") > _PHYSICAL:
        raise ValueError(f"it has more than {_PHYSICAL} lines")
    scan = _Scan(whole)
    for line in Contentlines.from_ical(content):
        scan.take(line)
    if scan.part is not None:
        raise ValueError(f"its {scan.part.describe()} has no end")
    if scan.left_out:
        why = f"{scan.left_out} parts are left out: {_LINES} lines and times of a file are read"
        scan.found.faults.append(why)
    return scan.found


# --- An iCalendar file: VEVENTs grouped by UID ---

# The library types what a component holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false


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


class EventGroup(msgspec.Struct):
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
        found: list[Any] = _IcsReader(read.lines).parse()
        self._calendars = [one for one in found if isinstance(one, Calendar)]
        if not self._calendars:
            raise ValueError("it has no VCALENDAR")
        self.groups = self._grouped()
        for group in self.groups:
            for event in group.events():
                self._set_zones(event)

    def _grouped(self) -> list[EventGroup]:
        groups: dict[str, EventGroup] = {}
        events = [part for one in self._calendars for part in one.subcomponents]
        for at, event in enumerate(part for part in events if isinstance(part, Event)):
            uid = str(event.get("UID", ""))
            group = groups.setdefault(uid or f"\n{at}", EventGroup(uid))
            if every(event, "RECURRENCE-ID"):
                group.overrides.append(event)
            elif group.master is None:
                group.master = event
            else:
                # Two masters with one UID: some programs export copies so. Each is an event of its
                # own.
                groups[f"{uid}\n{at}"] = EventGroup(uid, event)
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


class _IcsReader(ComponentIcalParser):
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
