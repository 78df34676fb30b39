"""The date line of a turn: `[Date]: Monday 2026-11-16 (Europe/Berlin)`.

The date is that of the turn's first block. It does not change while the turn runs, and a resumed
turn shows the same date. The line stands beside the newest prompt, because a line near the top that
changes daily would invalidate the model's prompt cache.
"""

from __future__ import annotations

from datetime import datetime

from callblocks.toolkits.workspace.today import day_words

__all__ = ("date_line",)


def date_line(ts: str, zone: str) -> str:
    """Return the line for a block's time in a zone; "" if the time or the zone is invalid."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        day = datetime.fromisoformat(ts).astimezone(ZoneInfo(zone)).date()
    except (ValueError, OverflowError, OSError, ZoneInfoNotFoundError):
        return ""
    return f"[Date]: {day_words(day)} ({zone})\n"
