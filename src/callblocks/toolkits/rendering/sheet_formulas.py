"""The allow-list of spreadsheet formulas: those that only compute.

    =SUM(B2:B9)   =IF(A1>2, A1*1.19, 0)   ="Total " & C3
    =WEBSERVICE("…")   ='[x]y'!A1         they do more: they fetch, link or start something
    => see below   =SUM(A1   =SUM(A1;2)   they are none: a workbook that holds one is broken

Strategy: strings are replaced by the placeholder `#` first, then innermost brackets repeatedly by
`#` if their content is valid, else by `!`, which no rule accepts. At the end the whole text must be
one expression. Regular expressions suffice because each step is flat.
"""

from __future__ import annotations

import re

from openpyxl.utils import column_index_from_string

__all__ = ("only_reckons",)

_LONGEST = 500
_LONGEST_STRING = 255
_MANY = 255
_DEEPEST = 30
# The minimum and maximum number of arguments of each permitted function.
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
# Each space can match in one place only: an ambiguous pattern would backtrack exponentially.
_SIGNED = rf"[+\- ]*{_VALUE}(?: *%)*"
_EXPRESSION = re.compile(rf"{_SIGNED}(?: *(?:<>|<=|>=|[+\-*/^&=<>]){_SIGNED})* *", re.IGNORECASE)


def only_reckons(formula: str) -> bool:
    """Tell if a text that begins with `=` is a complete formula that only computes."""
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
    """Return `#` for valid bracket content, or `!`, which nothing accepts."""
    values = match[2].split(",")
    least, most = _FUNCTIONS.get(match[1].upper(), (1, 0)) if match[1] else (1, 1)
    right = least <= len(values) <= most and all(map(_EXPRESSION.fullmatch, values))
    return "#" if right else "!"


def _cells_exist(text: str) -> bool:
    """Tell if all cell references are within 16,384 columns and 1,048,576 rows."""
    return all(
        column_index_from_string(column.upper()) <= 16_384 and int(row) <= 1_048_576
        for column, row in _REFERENCE.findall(text)
    )
