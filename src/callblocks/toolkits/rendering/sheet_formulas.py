"""Formulas of a sheet that only reckon, and that a program can read.

    =SUM(B2:B9)   =IF(A1>2, A1*1.19, 0)   ="Total " & C3
    =WEBSERVICE("…")   ='[x]y'!A1         they do more: they fetch, link or start something
    => see below   =SUM(A1   =SUM(A1;2)   they are none: a workbook that holds one is broken

What stands in brackets is read first, from the inside out, and becomes one value: `#`.
"""

from __future__ import annotations

import re

from openpyxl.utils import column_index_from_string

__all__ = ("only_reckons",)

_LONGEST = 500
_LONGEST_STRING = 255
_MANY = 255
_DEEPEST = 30
# How many values each function takes, at least and at most.
_FUNCTIONS = {
    **dict.fromkeys(("ABS", "DAY", "INT", "MONTH", "NOT", "SQRT", "YEAR"), (1, 1)),
    **dict.fromkeys(("CEILING", "COUNTIF", "FLOOR", "IFERROR", "MOD"), (2, 2)),
    **dict.fromkeys(("ROUND", "ROUNDDOWN", "ROUNDUP"), (2, 2)),
    **dict.fromkeys(("AVERAGEIF", "IF", "SUMIF"), (2, 3)),
    "DATE": (3, 3),
    **dict.fromkeys(("AND", "AVERAGE", "COUNT", "COUNTA", "MAX", "MEDIAN"), (1, _MANY)),
    **dict.fromkeys(("MIN", "OR", "PRODUCT", "STDEV", "SUM", "SUMPRODUCT"), (1, _MANY)),
}
_STRING = re.compile(r'"((?:[^"]|"")*)"')
_BRACKETS = re.compile(r"([A-Za-z]*)\(([^()]*)\)")
_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})", re.IGNORECASE)
_CELL = r"\$?[A-Z]{1,3}\$?[1-9][0-9]{0,6}"
_COLUMNS = r"\$?[A-Z]{1,3}:\$?[A-Z]{1,3}"
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:E[+-]?[0-9]{1,2})?"
_VALUE = rf"(?:\#|{_CELL}(?::{_CELL})?|{_COLUMNS}|{_NUMBER}|TRUE|FALSE)"
# There is one way to read each space: a text that is no formula must not take long to be none.
_SIGNED = rf"[+\- ]*{_VALUE}(?: *%)*"
_EXPRESSION = re.compile(rf"{_SIGNED}(?: *(?:<>|<=|>=|[+\-*/^&=<>]){_SIGNED})* *", re.IGNORECASE)


def only_reckons(formula: str) -> bool:
    """Whether a text that begins with `=` is a whole formula that reckons and does nothing else."""
    if len(formula) > _LONGEST or "#" in formula:
        return False
    strings = _STRING.findall(formula)
    text = _STRING.sub("#", formula[1:])
    if any(len(string) > _LONGEST_STRING for string in strings) or not _cells_exist(text):
        return False
    for _ in range(_DEEPEST):
        text, count = _BRACKETS.subn(_bracketed, text)
        if not count:
            break
    return bool(_EXPRESSION.fullmatch(text))


def _bracketed(match: re.Match[str]) -> str:
    """One value for what stands in brackets; a sign that nothing reads where it is wrong."""
    values = match[2].split(",")
    least, most = _FUNCTIONS.get(match[1].upper(), (1, 0)) if match[1] else (1, 1)
    right = least <= len(values) <= most and all(map(_EXPRESSION.fullmatch, values))
    return "#" if right else "!"


def _cells_exist(text: str) -> bool:
    """No sheet has more than 16,384 columns and 1,048,576 rows."""
    return all(
        column_index_from_string(column.upper()) <= 16_384 and int(row) <= 1_048_576
        for column, row in _REFERENCE.findall(text)
    )
