"""Parsing of one iCalendar file to index rows."""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime, timedelta

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.local.calendar_files import read_file
from callblocks.toolkits.workspace.local.ics_event import every, read_event, read_point
from callblocks.toolkits.workspace.local.ics_file import BROKEN, Group, IcsFile, event_id
from callblocks.toolkits.workspace.local.ics_times import instant, to_utc
from callblocks.toolkits.workspace.local.plan import plan_of
from callblocks.toolkits.workspace.local.series import Series
from callblocks.toolkits.workspace.local.work import Work

__all__ = ("EventReader", "Read", "Spanned", "etag_of", "span_of", "words_of")

# The zone for floating times where only their approximate place matters.
_ANYWHERE = "UTC"

# Budget for finding the ends of the series of one file; later series count as endless.
_WORK = 100_000

_FILES_WORK = 200_000
"""The same for all files that are read together.

A series whose end is not counted is looked at in every request, and nothing of it is lost.
"""

_FAULTS = 5


class Spanned(msgspec.Struct, frozen=True):
    """A series with its search keys; `at` is its number in the file."""

    series: Series
    at: int
    first: float
    last: float
    words: str


class Read(msgspec.Struct, frozen=True):
    """The content of a file, and the reasons for what could not be read."""

    series: list[Spanned] = []
    faults: list[str] = []


class EventReader:
    """Reads the files of a calendar that changed; they share what reading may cost."""

    def __init__(self, folder: int, calendar: str, files: int) -> None:
        self._folder = folder
        self._calendar = calendar
        self._files = files
        self._work = Work(_FILES_WORK)

    def read(self, name: str) -> Read:
        """Read a file; whatever is wrong with it is a fault."""
        work = Work(_WORK, self._work)
        return _read_events(self._folder, self._calendar, name, work, self._files)


def _read_events(folder: int, calendar: str, name: str, work: Work, files: int) -> Read:
    try:
        content = read_file(folder, name)
        file = IcsFile(content, whole=False, files=files)
    except ToolError as error:
        return Read(faults=[f"{calendar}/{name}: {error.message}"])
    except BROKEN as error:
        return Read(faults=[f"{calendar}/{name} is no iCalendar file: {brief(str(error))}"])
    found: list[Spanned] = []
    faults = [f"{calendar}/{name}: {fault}" for fault in file.faults]
    etag = etag_of(content)
    for at, group in enumerate(file.groups):
        try:
            found.append(_spanned(group, at, f"{calendar}/{name}/{at}", etag, faults, work))
        except (ToolError, *BROKEN) as error:
            faults.append(f"{calendar}/{name}: an event is left out: {brief(str(error))}")
    if len(faults) > _FAULTS:
        faults[_FAULTS:] = [f"{calendar}/{name}: and {len(faults) - _FAULTS} more"]
    return Read(found, faults)


def etag_of(content: bytes) -> str:
    """Return the entity tag of a file's content."""
    return f'"{hashlib.sha256(content).hexdigest()[:16]}"'


def words_of(event: Json) -> str:
    """Return the searchable text of an event."""
    people = [*event.get("attendees", []), event.get("organizer", {})]
    texts = [event.get(name, "") for name in ("summary", "description", "location")]
    texts += [one.get(name, "") for one in people for name in ("email", "displayName")]
    return "\n".join(text for text in texts if text).casefold()


def _spanned(
    group: Group, at: int, place: str, etag: str, faults: list[str], work: Work
) -> Spanned:
    id = event_id(group.uid, place)
    known: Json = {"iCalUID": group.uid or id, "etag": etag}
    master = None
    if group.master is not None:
        master = read_event(group.master) | known | {"id": id}
        _require_rule(master, place, faults)
        # EXRULE is deprecated and rare. Ignoring it silently would show events that do not take
        # place.
        if every(group.master, "EXRULE"):
            faults.append(f"{place}: EXRULE is not applied; name the times with EXDATE")
    overrides: list[Json] = []
    for one in group.overrides:
        original = read_point(one, "RECURRENCE-ID")
        assert original is not None
        event = read_event(one) | known
        event.pop("recurrence", None)
        overrides.append(event | {"recurringEventId": id, "originalStartTime": original})
    series = Series(id, group.uid, master, overrides)
    first, last = span_of(series, work)
    words = "\n".join(words_of(one) for one in (master, *overrides) if one)
    return Spanned(series, at, first, last, words)


def _require_rule(master: Json, place: str, faults: list[str]) -> None:
    """Remove recurrence lines that cannot be parsed, with a fault; the event itself stays."""
    try:
        plan_of(master, _ANYWHERE)
    except (ToolError, *BROKEN) as error:
        lines = master.pop("recurrence", None)
        if lines is None:
            raise
        faults.append(f"{place}: the recurrence is not understood: {brief(str(error))}")


def span_of(series: Series, work: Work) -> tuple[float, float]:
    """Return the time span of a series in seconds; infinite without an end."""
    points = [
        instant(one[name], _ANYWHERE).timestamp()
        for one in (series.master, *series.overrides)
        if one
        for name in ("start", "end")
    ]
    first, last = min(points), max(points)
    if series.master is None or not series.master.get("recurrence"):
        return first, last
    plan = plan_of(series.master, _ANYWHERE)
    end = plan.last(work)
    if end is None:
        return first, math.inf
    first = min([first, *(_seconds(one, plan.zone) for one in plan.extra)])
    return first, max(last, _seconds(end, plan.zone) + plan.length / timedelta(seconds=1))


def _seconds(local: datetime, zone: str) -> float:
    try:
        return to_utc(local, zone).timestamp()
    except OverflowError:
        return local.replace(tzinfo=UTC).timestamp()
