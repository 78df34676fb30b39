"""Reminders: `VALARM` with a time before the start, and Google's form.

{"useDefault": false, "overrides": [{"method": "popup", "minutes": 10}]}
"""

# The library types what a property holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from datetime import timedelta
from typing import Any

from icalendar import Alarm, Event

from callblocks.toolkits.workspace.backend import Json

__all__ = ("read_alarms", "write_alarms")

_METHODS = {"DISPLAY": "popup", "AUDIO": "popup", "EMAIL": "email"}
_MINUTE = timedelta(minutes=1)


def read_alarms(event: Event) -> Json:
    """Return the reminders that are some minutes before the start."""
    overrides = [said for part in _alarms(event) if (said := _read(part))]
    return {"useDefault": False, "overrides": overrides} if overrides else {"useDefault": False}


def write_alarms(event: Event, reminders: Any) -> None:
    """Replace the reminders that `read_alarms` returns; others stay."""
    event.subcomponents[:] = [
        part for part in event.subcomponents if not (isinstance(part, Alarm) and _read(part))
    ]
    for one in (reminders or {}).get("overrides") or []:
        alarm = Alarm()
        alarm.add("action", "EMAIL" if one.get("method") == "email" else "DISPLAY")
        alarm.add("description", "Reminder")
        if one.get("method") == "email":
            alarm.add("summary", "Reminder")
        alarm.add("trigger", timedelta(minutes=-int(one["minutes"])))
        event.add_component(alarm)


def _alarms(event: Event) -> list[Alarm]:
    return [part for part in event.subcomponents if isinstance(part, Alarm)]


def _read(alarm: Alarm) -> Json:
    trigger = alarm.get("TRIGGER")
    before = getattr(trigger, "dt", None)
    method = _METHODS.get(str(alarm.get("ACTION", "")).upper())
    if method is None or not isinstance(before, timedelta) or before > timedelta():
        return {}
    if str(trigger.params.get("RELATED", "START")).upper() != "START":
        return {}
    return {"method": method, "minutes": -before // _MINUTE}
