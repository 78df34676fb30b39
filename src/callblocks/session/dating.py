"""The day of a turn, for a model that knows none: `[Date]: Monday 2026-11-16 (Europe/Berlin)`.

It is that of the turn's first block, so it stays while the turn runs, and a program that starts
again says the same. It stands with the newest prompt: what is before is kept in caches.
"""

from __future__ import annotations

from datetime import datetime

from callblocks.toolkits.workspace.today import day_words

__all__ = ("date_line",)


def date_line(ts: str, zone: str) -> str:
    """The line for a block's time, in a zone; "" for a time or a zone that nobody knows."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        day = datetime.fromisoformat(ts).astimezone(ZoneInfo(zone)).date()
    except (ValueError, OverflowError, OSError, ZoneInfoNotFoundError):
        return ""
    return f"[Date]: {day_words(day)} ({zone})\n"
