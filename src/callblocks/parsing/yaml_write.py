r"""A writer of JSON-like values as readable YAML that reads back as the same value.

    query: cats
    exact: "yes"            # quoted: a YAML 1.1 reader would see a boolean
    results:
      - title: All About Cats
        tags: []
    script: |
      print("one")
      print("two")

A string is written plain only if it begins like a word and no reader of YAML 1.1 or 1.2 could read
anything else. A string of several lines is written as a literal block. Any other is in double
quotes, with escapes for control characters and for all else that a reader could change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from callblocks.parsing.yaml_core import YamlError

__all__ = ("dump",)

# Words that are booleans or null to YAML 1.1 or 1.2 do not stand plain. What begins with
# a letter, `_` or `/` is no number, date or indicator to either; `: ` and ` #` end it.
_PLAIN = re.compile(
    r"""(?!(?:y|n|yes|no|on|off|true|false|null)\Z)
        (?:[^\W\d]|/)
        (?:[\w./\\()\[\]{}<>"'`,;+*=&%$@!?|~^\#-]++ | :(?=[^ ]) | [ ](?=[^ \#:]))*""",
    re.IGNORECASE | re.VERBOSE,
)
# Characters that a reader keeps as they are: printable ones, without U+FEFF, which is a byte order
# mark, and without the line breaks of YAML 1.1.
_VISIBLE = " -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_BLOCK = re.compile(rf"[\t\n{_VISIBLE}]*")
_ESCAPED = re.compile(rf'["\\]|[^{_VISIBLE}]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}

# A reader looks for the `:` of a key within 1,024 characters; a longer key follows a `?`.
_LONGEST_KEY = 1000


class _Entry(NamedTuple):
    """An item or a member: its head is `-`, `key:`, or `:` behind a line with a long key."""

    head: str
    value: Any
    before: str = ""


def dump(value: Any, max_depth: int = 100) -> str:
    """Write a JSON-like value so that `load` gives it back, with the same types and key order.

    Raise `YamlError` for a lone surrogate, a number that is too long for Python to convert, a value
    that is not JSON-like, and more nesting than `max_depth`.
    """
    # Depth-first with a stack of iterators (`open_`) and not by recursion: the depth of the stack
    # is the indentation, and a deep value cannot exhaust Python's stack.
    entries = _entries(value)
    if not entries:
        return _scalar(value) + "\n"
    lines: list[str] = []
    lead = ""  # the `- ` of open lists, written on the line of the first entry inside of them
    open_ = [iter(entries)]
    while open_:
        if len(open_) > max_depth:
            raise YamlError(f"nested deeper than {max_depth}", "too-deep")
        entry = next(open_[-1], None)
        if entry is None:
            open_.pop()
            continue
        margin = "  " * (len(open_) - 1)
        if entry.before:
            lines.append((lead or margin) + entry.before)
            lead = ""
        line, lead = (lead or margin) + entry.head, ""
        entries = _entries(entry.value)
        if not entries:
            lines += _scalar_lines(line, entry.value, margin + "  ")
            continue
        open_.append(iter(entries))
        if entry.head == "-":
            lead = line + " "
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _entries(value: Any) -> list[_Entry]:
    """Return the entries of a list or a mapping; none for anything else."""
    if isinstance(value, list):
        return [_Entry("-", item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return [_member(key, item) for key, item in cast("dict[object, Any]", value).items()]
    return []


def _member(key: object, item: Any) -> _Entry:
    if not isinstance(key, str):
        raise YamlError(f"a key is a string, not {type(key).__name__}")
    written = _quote(key)
    if len(written) > _LONGEST_KEY:
        return _Entry(":", item, before=f"? {written}")
    return _Entry(f"{written}:", item)


def _scalar_lines(line: str, value: Any, margin: str) -> list[str]:
    if isinstance(value, str) and "\n" in value and value.strip() and _BLOCK.fullmatch(value):
        head, *rows = _block(value)
        return [f"{line} {head}", *(row and margin + row for row in rows)]
    return [f"{line} {_scalar(value)}"]


def _block(text: str) -> list[str]:
    """Write a literal block: its head, and its rows without their margin."""
    body = text.rstrip("\n")
    newlines = len(text) - len(body)
    # A reader detects the margin by the first row; if that is blank or indented, state it.
    margin = "2" if text[0] in " \t\n" else ""
    keep = "-" if not newlines else "+" if newlines > 1 else ""
    return [f"|{margin}{keep}", *body.split("\n"), *[""] * (newlines - 1)]


def _scalar(value: Any) -> str:
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise YamlError(f"not a JSON-like value: {type(value).__name__}")


def _integer(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError as error:
        raise YamlError("the number is too long") from error


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    digits, e, exponent = float.__repr__(value).partition("e")
    # YAML 1.1 reads `1e5` without a point as a string.
    return digits + (".0" if "." not in digits else "") + e + exponent


def _quote(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if "\ud800" <= char <= "\udfff":
        raise YamlError("a lone surrogate is not a character")
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"


_WRITERS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (str, _quote),
    (bool, lambda value: "true" if value else "false"),
    (int, _integer),
    (float, _float),
    (type(None), lambda _none: "null"),
    (list, lambda _empty: "[]"),
    (dict, lambda _empty: "{}"),
)
