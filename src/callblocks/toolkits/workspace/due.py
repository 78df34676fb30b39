"""The due date of a task: only the date counts, as in Google Tasks.

2030-01-31                   or a time of that day:
2030-01-31T15:00:00+01:00    the day as it is written
"""

from __future__ import annotations

import re
from datetime import date, datetime

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.today import way_out

__all__ = ("day_end", "day_start", "read_day")

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(_DAY.pattern + r"[Tt ].+")


def read_day(text: str, field: str) -> str:
    """Return the date in a text; "" stays "". `invalid_input` for another text."""
    text = text.strip()
    if not text:
        return ""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text).isoformat()
        if _MOMENT.fullmatch(text):
            return datetime.fromisoformat(text).date().isoformat()
    except ValueError:
        pass
    why = f"{brief(text)} is no date; {way_out()}"
    raise ToolError("invalid_input", why, **{field: why})


def day_start(day: str) -> str:
    """Return the start of a date in Google's form; "" stays ""."""
    return f"{day}T00:00:00.000Z" if day else ""


def day_end(day: str) -> str:
    """Return the end of a date, as an inclusive upper bound."""
    return f"{day}T23:59:59.999Z" if day else ""
