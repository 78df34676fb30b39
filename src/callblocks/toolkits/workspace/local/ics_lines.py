"""A pre-scan of an iCalendar file's lines, before the library parses them.

    BEGIN:VCALENDAR
    BEGIN:VTIMEZONE  …  END:VTIMEZONE      a zone: its lines are kept apart, nothing is expanded
    BEGIN:VEVENT     …  END:VEVENT         an event: within limits, or left out with a fault
    END:VCALENDAR

The library spends some 50 microseconds per line and ten per time of a list, and expands zone rules
without a bound. So its input is counted here first, with plain string operations: a part that is
too long is left out, and the others are read. An index needs only the properties that an event
shows; a writer needs all of them.
"""

# The library does not type its parser.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import re

import msgspec
from icalendar.parser import Contentline, Contentlines

from callblocks.model.brief import brief

__all__ = ("Lines", "lines_of_file")

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
