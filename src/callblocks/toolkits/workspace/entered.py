"""Interpretation of a value that a person types into a cell (`USER_ENTERED`).

    12   -3.5   1e3   1,234.5     numbers           TRUE   false    booleans
    12%  $1,234.50                numbers, with the pattern that shows them so
    =SUM(A1:A3)                   a formula, kept as it is
    '007                          text: 007
    2030-01-31   3/1/2030         dates: they stay as typed, and so readable

Everything else is text, also a number of more than 15 digits, which would lose its end.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

__all__ = ("Cell", "Kind", "Value", "enter", "rendered", "shown", "typed")

Kind: TypeAlias = Literal["text", "number", "boolean", "formula"]
Value: TypeAlias = str | int | float | bool

# A double keeps 15 significant decimal digits; more would change the number silently.
_DIGITS = 15
_NUMBER = re.compile(
    r"([+-]?)([$€£¥]?)([0-9]{1,3}(?:,[0-9]{3})+|[0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?(%?)"
)
_SIGNS = "$€£¥"


class Cell(msgspec.Struct, frozen=True, gc=False):
    """The content of a cell; `pattern` is the number format: `0%`, `$#,##0.00`."""

    value: Value
    kind: Kind
    pattern: str = ""


def typed(value: Value) -> Cell:
    """Return a cell that holds a value as it is (`RAW`)."""
    if isinstance(value, str):
        return Cell(value, "text")
    if isinstance(value, bool):
        return Cell(value, "boolean")
    # Whole numbers become integers, so that 3.0 is shown as 3. Above 2**53 not every integer is a
    # double, and the conversion would invent digits.
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return Cell(int(value) if whole else value, "number")


def enter(value: Value) -> Cell:
    """Return a cell with the value that a typed text means."""
    if not isinstance(value, str):
        return typed(value)
    if value.startswith("=") and len(value) > 1:
        return Cell(value, "formula")
    if value.startswith("'"):
        return Cell(value[1:], "text")
    word = value.strip()
    if word.upper() in ("TRUE", "FALSE"):
        return Cell(word.upper() == "TRUE", "boolean")
    return _number(word) or Cell(value, "text")


def rendered(cell: Cell, render: str) -> Value:
    """Return a cell as FORMATTED_VALUE, UNFORMATTED_VALUE or FORMULA."""
    return shown(cell) if render == "FORMATTED_VALUE" else cell.value


def shown(cell: Cell) -> str:
    """Return a cell as a person sees it."""
    value = cell.value
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return value
    return _patterned(value, cell.pattern) if cell.pattern else f"{value:.15g}"


def _number(word: str) -> Cell | None:
    found = _NUMBER.fullmatch(word)
    if found is None:
        return None
    sign, currency, whole, part, power, percent = found.groups(default="")
    digits = (whole + part[1:]).replace(",", "")
    # Grouping and decimals alone are no number, and `$5%` means nothing.
    if not digits or len(digits.strip("0")) > _DIGITS or (currency and percent):
        return None
    # The exponent is changed instead of dividing by 100: 7.1 / 100 is 0.07099999999999999.
    power = power or ("e-2" if percent else "")
    number = float(f"{sign}{whole.replace(',', '')}{part}{power}")
    number = number / 100 if percent and power != "e-2" else number
    if abs(number) == float("inf"):
        return None
    value = typed(number).value
    return Cell(value, "number", _pattern(currency, "," in whole, part, percent))


def _pattern(currency: str, grouped: bool, part: str, percent: str) -> str:
    """Return the number format of a typed number; "" for a plain one."""
    # Spreadsheets show two decimals as soon as one was typed.
    end = ".00" if part[1:] else ""
    if percent:
        return f"0{end}%"
    return f"{currency}#,##0{end}" if currency or grouped else ""


def _patterned(number: float, pattern: str) -> str:
    plain = pattern.rstrip("%")
    percent = plain != pattern
    digits = 2 if plain.endswith(".00") else 0
    size = abs(number) * 100 if percent else abs(number)
    grouped = "," if "," in plain else ""
    sign = "-" if number < 0 else ""
    currency = plain[:1] if plain[:1] in _SIGNS else ""
    return f"{sign}{currency}{size:{grouped}.{digits}f}{'%' if percent else ''}"
