"""Today's date, for a model that wrote "tomorrow" as a date.

today is Monday 2026-11-16; write 2026-11-17
"""

from __future__ import annotations

from datetime import date, timedelta

__all__ = ("day_words", "today", "way_out")

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def today() -> date:
    """Return the current date in the machine's zone."""
    return date.today()


def day_words(day: date) -> str:
    """Return a date with its weekday, such as Monday 2026-11-16."""
    return f"{_WEEKDAYS[day.weekday()]} {day.isoformat()}"


def way_out(form: str = "write {day}") -> str:
    """Suggest a date instead of a word for a day; `{day}` in the form is tomorrow."""
    now = today()
    return f"today is {day_words(now)}; {form.format(day=now + timedelta(days=1))}"
