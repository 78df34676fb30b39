"""Recurrence lines, as iCalendar and Google write them.

    RRULE:FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20261231T225959Z
    EXDATE;TZID=Europe/Berlin:20261123T090000          not then
    RDATE;VALUE=DATE:20261224                          then too

Rules are parsed without a library, so that a bad rule is refused with a reason, and one that would
never end is recognized before it is expanded.
"""

from __future__ import annotations

import re
from math import prod

import msgspec

from callblocks.model.brief import brief

__all__ = ("DAYS", "FREQUENCIES", "Rule", "lines_of", "read_rule", "split_line")

FREQUENCIES = ("SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

# The BY parts of a rule in the order in which they are written, with the numbers that each accepts;
# numbers from -n to -1 count from the end.
_LIMITS = {
    "BYSECOND": (0, 59),
    "BYMINUTE": (0, 59),
    "BYHOUR": (0, 23),
    "BYDAY": (1, 53),
    "BYMONTHDAY": (1, 31),
    "BYYEARDAY": (1, 366),
    "BYWEEKNO": (1, 53),
    "BYMONTH": (1, 12),
    "BYSETPOS": (1, 366),
}
# One time per minute of a day. More is an attempt to make a step expensive.
_MOST_TIMES = 1_440
_FROM_END = ("BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS")
# All patterns are ASCII where digits matter: `\d` would match Arabic-Indic digits as well, which
# `int` accepts and other programs do not.
_DAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_UNTIL = re.compile(r"\d{8}(?:T\d{6}Z?)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,12}", re.ASCII)
_LINE = re.compile(r"(RRULE|EXRULE|RDATE|EXDATE)((?:;[A-Z-]+=[^:;]*)*):(.*)", re.IGNORECASE)


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule: its frequency, its end or count, and its BY parts (`by`)."""

    freq: str
    interval: int = 1
    count: int | None = None
    until: str = ""
    by: dict[str, tuple[str, ...]] = {}
    wkst: str = ""

    def text(self) -> str:
        """Return the rule as text, with its parts in the usual order."""
        parts = [f"FREQ={self.freq}"]
        if self.until:
            parts.append(f"UNTIL={self.until}")
        if self.count is not None:
            parts.append(f"COUNT={self.count}")
        if self.interval != 1:
            parts.append(f"INTERVAL={self.interval}")
        parts += [f"{name}={','.join(self.by[name])}" for name in _LIMITS if name in self.by]
        if self.wkst:
            parts.append(f"WKST={self.wkst}")
        return ";".join(parts)


def lines_of(given: str | list[str]) -> list[str]:
    """Return the lines of a model's input: a list, or one text; `RRULE:` may be missing."""
    texts = [given] if isinstance(given, str) else given
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return [f"RRULE:{line}" if line[:5].upper() == "FREQ=" else line for line in lines if line]


def split_line(line: str) -> tuple[str, dict[str, str], str]:
    """Return the name, the parameters and the value of a line; `ValueError` if it is malformed."""
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(
            "it starts with none of RRULE:, EXDATE: and RDATE:; write for example "
            "RRULE:FREQ=DAILY;COUNT=5 or RRULE:FREQ=WEEKLY;BYDAY=MO,TH"
        )
    pairs = (pair.partition("=") for pair in found[2].split(";")[1:])
    parameters = {name.upper(): value.strip('"') for name, _, value in pairs}
    return found[1].upper(), parameters, found[3].strip()


def read_rule(text: str) -> Rule:
    """Parse the text behind `RRULE:`; `ValueError` with the reason."""
    parts: dict[str, str] = {}
    # Blanks and a trailing semicolon are what models write most often; both are unambiguous.
    for part in text.upper().replace(" ", "").strip(";").split(";"):
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise ValueError(f"{brief(part)} is not NAME=VALUE")
        if name in parts:
            raise ValueError(f"{name} is there twice")
        parts[name] = value
    freq = parts.pop("FREQ", "")
    if freq not in FREQUENCIES:
        raise ValueError(f"FREQ is one of {', '.join(FREQUENCIES)}, not {brief(freq)}")
    # RFC 5545 forbids both in one rule, and programs disagree on which one wins.
    if "COUNT" in parts and "UNTIL" in parts:
        raise ValueError("a rule has COUNT or UNTIL, not both")
    rule = Rule(
        freq=freq,
        interval=_positive("INTERVAL", parts.pop("INTERVAL", "1")),
        count=_positive("COUNT", parts.pop("COUNT")) if "COUNT" in parts else None,
        until=_until(parts.pop("UNTIL", "")),
        wkst=_weekday(parts.pop("WKST", "")),
        by={name: _listed(name, value, freq) for name, value in parts.items()},
    )
    _require_sense(rule)
    return rule


def _positive(name: str, text: str) -> int:
    # The bound is that of a 32-bit integer, which other programs use. `int` of more digits than
    # `_NUMBER` permits would be slow.
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) < 2**31:
        raise ValueError(f"{name} is a number from 1 to {2**31 - 1}, not {brief(text)}")
    return int(text)


def _until(text: str) -> str:
    # Models write UNTIL with the separators of ISO 8601; iCalendar has none.
    if text and not _UNTIL.fullmatch(text.replace("-", "").replace(":", "")):
        raise ValueError(f"UNTIL is 20261231 or 20261231T225959Z, not {brief(text)}")
    return text.replace("-", "").replace(":", "")


def _weekday(text: str) -> str:
    if text and text not in DAYS:
        raise ValueError(f"WKST is one of {', '.join(DAYS)}, not {brief(text)}")
    return text


def _listed(name: str, text: str, freq: str) -> tuple[str, ...]:
    if name not in _LIMITS:
        raise ValueError(f"{brief(name)} is no part of a rule; there are: {', '.join(_LIMITS)}")
    values = tuple(text.split(","))
    for value in values:
        if name == "BYDAY":
            _require_day(value, freq)
        elif not _fits(name, value):
            low, high = _LIMITS[name]
            raise ValueError(f"{name} takes numbers from {low} to {high}, not {brief(value)}")
    return values


def _require_day(value: str, freq: str) -> None:
    found = _DAY.fullmatch(value)
    if found is None or (found[1] and not 1 <= abs(int(found[1])) <= 53):
        raise ValueError(f"BYDAY takes days such as MO, or 1MO and -1FR, not {brief(value)}")
    # RFC 5545 permits `1MO` only with MONTHLY and YEARLY.
    if found[1] and freq not in ("MONTHLY", "YEARLY"):
        raise ValueError(f"BYDAY={value} needs FREQ=MONTHLY or FREQ=YEARLY, not FREQ={freq}")


def _fits(name: str, value: str) -> bool:
    low, high = _LIMITS[name]
    if not _NUMBER.fullmatch(value):
        return False
    number = int(value)
    return low <= (abs(number) if name in _FROM_END else number) <= high


def _require_sense(rule: Rule) -> None:
    # Rules that are legal but cannot be meant are refused here, where the model can correct them.
    # Rules in files of others are read as they are, within a budget.
    times = prod(len(set(rule.by.get(name, "1"))) for name in ("BYHOUR", "BYMINUTE", "BYSECOND"))
    if times > _MOST_TIMES and rule.freq not in FREQUENCIES[:2]:
        raise ValueError(f"it names {times} times of a day; at most {_MOST_TIMES} are followed")
    if "BYWEEKNO" in rule.by and rule.freq != "YEARLY":
        raise ValueError("BYWEEKNO needs FREQ=YEARLY")
    if "BYSETPOS" in rule.by and len(rule.by) == 1:
        raise ValueError("BYSETPOS chooses among what other BY parts give; there are none")
