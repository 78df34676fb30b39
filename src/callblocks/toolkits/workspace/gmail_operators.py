"""The operators of Gmail's search, and the values that each of them takes.

    from: to: cc: bcc: subject: filename: list: deliveredto: rfc822msgid:    text
    label: in: category: is: has:                                            names
    before: older: after: newer:                 2026/01/31, 2026-01-31, or seconds since 1970
    older_than: newer_than:                      3d, 2m, 1y
    larger: smaller: size:                       1000, 10K, 5M

A day begins at midnight here.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import datetime, timedelta

__all__ = (
    "AGES",
    "DATES",
    "IS",
    "KINDS",
    "OPERATORS",
    "SIZES",
    "STARS",
    "TEXTS",
    "fault_of_value",
    "read_age",
    "read_date",
    "read_size",
)

TEXTS = (
    *("from", "to", "cc", "bcc", "subject", "filename"),
    *("list", "deliveredto", "rfc822msgid", "label", "in"),
)
DATES = ("before", "older", "after", "newer")
AGES = ("older_than", "newer_than")
SIZES = ("larger", "smaller", "size")

# The values of `is:`.
IS = ("unread", "read", "starred", "unstarred", "important", "snoozed", "muted")

STARS = (
    *("yellow-star", "orange-star", "red-star", "purple-star", "blue-star", "green-star"),
    *("red-bang", "yellow-bang", "orange-guillemet", "green-check", "blue-info"),
    "purple-question",
)

# The values of `has:` for links, with the address that such a link contains.
KINDS = {
    "drive": "drive.google.com",
    "document": "docs.google.com/document",
    "spreadsheet": "docs.google.com/spreadsheets",
    "presentation": "docs.google.com/presentation",
    "youtube": "youtube.com",
}

_HAS = ("attachment", "userlabels", "nouserlabels", *KINDS, *STARS)
_CATEGORIES = (
    *("primary", "social", "promotions", "updates", "forums"),
    *("reservations", "purchases"),
)
OPERATORS = (*TEXTS, "is", "has", "category", *DATES, *AGES, *SIZES)

_DATE = re.compile(r"([0-9]{4})[/-]([0-9]{1,2})[/-]([0-9]{1,2})")
_AMERICAN = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
_SECONDS = re.compile(r"[0-9]{9,11}")
_AGE = re.compile(r"([0-9]{1,5})([dmy])", re.IGNORECASE)
_SIZE = re.compile(r"([0-9]{1,12})([km]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1024, "m": 1024 * 1024}


def fault_of_value(operator: str, value: str) -> str:
    """Return the fault of an operator's value, or ""."""
    if operator in _NAMES:
        known = _NAMES[operator]
        return "" if value.lower() in known else f"no such value; there are: {', '.join(known)}"
    if operator in _FORMS:
        reader, words = _FORMS[operator]
        return words if reader(value) is None else ""
    return ""


def read_date(value: str) -> float | None:
    """Return the timestamp of a date's local midnight; `None` if it is no date."""
    if _SECONDS.fullmatch(value):
        return float(value)
    found, american = _DATE.fullmatch(value), _AMERICAN.fullmatch(value)
    if found:
        year, month, day = map(int, found.groups())
    elif american:
        month, day, year = map(int, american.groups())
    else:
        return None
    try:
        return datetime(year, month, day).timestamp()
    except (ValueError, OverflowError):
        return None


def read_age(value: str, now: float) -> float | None:
    """Return the timestamp of an age before `now`; `None` if it is no age."""
    found = _AGE.fullmatch(value)
    if not found:
        return None
    count, unit = int(found[1]), found[2].lower()
    try:
        start = datetime.fromtimestamp(now)
        if unit == "d":
            return (start - timedelta(days=count)).timestamp()
        return _months_before(start, count * (12 if unit == "y" else 1)).timestamp()
    except (ValueError, OverflowError):
        return 0.0  # before all mail


def read_size(value: str) -> int | None:
    """Return the number of bytes; `None` if it is no size."""
    found = _SIZE.fullmatch(value)
    return int(found[1]) * _UNITS[found[2].lower()] if found else None


def _months_before(start: datetime, count: int) -> datetime:
    year, month = divmod(start.year * 12 + start.month - 1 - count, 12)
    day = min(start.day, monthrange(year, month + 1)[1])
    return start.replace(year=year, month=month + 1, day=day)


def _age(value: str) -> object:
    return _AGE.fullmatch(value)


_NAMES = {"is": IS, "has": _HAS, "category": _CATEGORIES}
_FORMS: dict[str, tuple[Callable[[str], object], str]] = {
    **dict.fromkeys(DATES, (read_date, "write a date such as 2026/01/31, or seconds since 1970")),
    **dict.fromkeys(AGES, (_age, "write an age such as 3d, 2m or 1y")),
    **dict.fromkeys(SIZES, (read_size, "write a size in bytes, or such as 10K or 5M")),
}
