"""The value of a spreadsheet cell: number, date, boolean, simple formula or text.

11,482   −2.5   +4 %   $12.50     numbers, shown as they were written
2030-01-31                        a date, from 1900 on
=SUM(B2:B9)                       a formula, if it only computes within its own sheet
=WEBSERVICE("…")   007            text, as are numbers that would lose digits or their form
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import msgspec

from callblocks.toolkits.rendering.sheet_formulas import only_reckons
from callblocks.toolkits.workspace.entered import Cell, enter

__all__ = ("Value", "value_of")

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LEADING_ZERO = re.compile(r"[+-]?0\d")
# Spreadsheets have no dates before this year.
_FIRST_YEAR = 1900
# Spreadsheets store numbers as doubles and show 15 digits; larger ones (card numbers) stay text.
_EXACT = 10**15


class Value(msgspec.Struct, frozen=True):
    """A value and its number format; `refused` marks a formula that stays text."""

    value: Any
    pattern: str = ""
    formula: bool = False
    refused: bool = False


def value_of(given: Any) -> Value:
    """Interpret a value as a person means it who writes it into a table."""
    if given is None:
        return Value(None)
    if isinstance(given, bool) or (isinstance(given, int | float) and abs(given) < _EXACT):
        return Value(given)
    text = str(given)
    word = text.strip()
    if word.startswith("=") and len(word) > 1:
        return Value(word, formula=True) if only_reckons(word) else Value(text, refused=True)
    if _DATE.fullmatch(word):
        return _date(word)
    if _LEADING_ZERO.match(word):
        return Value(text)
    entered = enter(word.replace("\u2212", "-").replace("\u00a0", " ").replace(" %", "%"))
    return _number(entered, word) if entered.kind in ("number", "boolean") else Value(text)


def _number(entered: Cell, word: str) -> Value:
    """Return a number with a format that keeps its notation."""
    pattern = entered.pattern
    decimals = len(word.rstrip("% ").partition(".")[2])
    if entered.kind == "number" and not pattern:
        whole = "#,##0" if "," in word else "0"
        if "e" not in word.lower():
            pattern = f"{whole}.{'0' * decimals}" if decimals else whole
    if word.startswith("+") and pattern:
        pattern = f"+{pattern};-{pattern};{pattern}"
    return Value(entered.value, pattern)


def _date(word: str) -> Value:
    try:
        day = date.fromisoformat(word)
    except ValueError:
        return Value(word)
    return Value(day, "yyyy-mm-dd") if day.year >= _FIRST_YEAR else Value(word)
