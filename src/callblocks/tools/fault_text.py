"""Messages about a wrong field, shared by both checks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias, cast

from callblocks.core.call_text import to_compact_text
from callblocks.core.redaction import REDACTED, is_secret_key, redact_start
from callblocks.core.text import brief, close_to, listed
from callblocks.tools.schema import Schema, schemas_at
from callblocks.tools.tool import FieldFault

__all__ = (
    "MAX_DEPTH",
    "MAX_VALUES",
    "Place",
    "has_part",
    "is_too_deep",
    "kinds",
    "missing",
    "must_be",
    "odd_values",
    "path_text",
    "quoted",
    "said",
    "unexpected",
    "value_at",
    "written",
)

# --- Values and places in messages: short, without secrets, on one line ---
#
#     "ten"   true   null   12   a list of 3   an object
#
#     to   rows[2].name   headers["X y"]

_WIDTH = 60
_PLAIN_KEY = re.compile(r"[\w-]+")
_KINDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def said(value: object, place: Iterable[object] = ()) -> str:
    """Return a value that a model gave, at its place, for a message."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            # A value is judged by the names on its way: `headers.Authorization` is a secret
            # whatever it looks like.
            return REDACTED if _is_secret(place) else quoted(value)
        case dict():
            return "an object" if value else "an empty object"
        case list() | tuple():
            return f"a list of {len(cast('Sequence[Any]', value))}"
        case _:
            return brief(value, 40)


def quoted(text: str) -> str:
    """Return the start of a text as JSON, so that a line end or a control character is visible."""
    start = redact_start(text, _WIDTH)
    if len(start) <= _WIDTH:
        return _as_json(start)
    return f"{_as_json(start[:_WIDTH])}… ({len(text):,} characters)"


def path_text(place: Iterable[object]) -> str:
    """Return a place inside an input; a name that is no plain word is quoted."""
    path = ""
    for part in place:
        if isinstance(part, int):
            path += f"[{part}]"
        elif isinstance(part, str) and len(part) <= _WIDTH and _PLAIN_KEY.fullmatch(part):
            path += f".{part}" if path else part
        else:
            path += f"[{quoted(part) if isinstance(part, str) else brief(part, _WIDTH)}]"
    return path


def kinds(names: Iterable[str]) -> str:
    """Return types of JSON Schema in words: `an integer or null`."""
    return " or ".join(dict.fromkeys(_KINDS.get(name, name) for name in names))


def _is_secret(place: Iterable[object]) -> bool:
    return any(isinstance(part, str) and is_secret_key(part) for part in place)


def _as_json(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return shown.encode("utf-8", "backslashreplace").decode()


# --- Messages about a wrong field, shared by both checks ---

Place: TypeAlias = Sequence[str | int]

# The most characters of an example that is shown whole.
_EXAMPLE = 200


def missing(place: Place, root: Schema) -> FieldFault:
    """Describe a required field that is missing, with the first of its `examples`, if any."""
    examples = [one for held in schemas_at(root, place) for one in held.get("examples", ())]
    hint = f"; such as {_shown(examples[0])}" if examples else ""
    return FieldFault(path_text(place), f"required, missing{hint}")


def _shown(example: object) -> str:
    """Return an example as it is to be written."""
    shown = to_compact_text(example)
    whole = shown[:1] in ("[", "{") and len(shown) <= _EXAMPLE
    return shown if whole else said(example, ())


def unexpected(place: Place, root: Schema) -> FieldFault:
    """Describe an unknown field, with the known ones and the one that was probably meant."""
    name = str(place[-1])
    fields = _fields(root, place[:-1])
    owner = "this tool" if len(place) == 1 else path_text(place[:-1])
    if not fields:
        return FieldFault(path_text(place), f"not a field of {owner}; it has no fields")
    # The known fields are listed in any case; the nearest one is a hint, never a silent repair.
    near = close_to(name, fields)
    hint = f"; did you mean `{near}`?" if near else ""
    problem = f"not a field of {owner}; its fields are {listed(fields)}{hint}"
    return FieldFault(path_text(place), problem)


def must_be(place: Place, what: str, value: object) -> FieldFault:
    """Describe a value of the wrong type: `must be an integer, got "ten"`."""
    is_row = what == "a list" and isinstance(place[-1] if place else None, int)
    rows = "; rows are lists: [[…]]" if is_row else ""
    return FieldFault(path_text(place), f"must be {what}, got {said(value, place)}{rows}")


def has_part(given: object, part: str | int) -> bool:
    """Return whether an object has such a field, or a list such an item."""
    if isinstance(given, list):
        return isinstance(part, int) and part < len(cast("list[Any]", given))
    return isinstance(given, dict) and part in given


def value_at(given: object, place: Place) -> object:
    """Return the value at a place of an input; `None` where there is none."""
    for part in place:
        given = cast("Any", given)[part] if has_part(given, part) else None
    return given


def _fields(root: Schema, place: Place) -> list[str]:
    named: Iterable[object] = (one.get("properties") for one in schemas_at(root, place))
    known = [cast("dict[str, Any]", one) for one in named if isinstance(one, dict)]
    return list(dict.fromkeys(name for one in known for name in one))


# --- Tests whether an input is JSON at all, and small enough to be processed ---
#
# A parser gives plain JSON; a caller's own code may give anything. NaN and Infinity, lone
# surrogates, numbers of thousands of digits, nesting past 100 levels and more than 100,000 values
# are faults, with their places.

MAX_DEPTH = 100
MAX_VALUES = 100_000
# Python neither parses nor formats longer integers.
_MAX_BITS = 14_000

_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode


def written(value: dict[str, Any]) -> bytes | None:
    """Return the input as JSON; `None` if it is no JSON or too much: `odd_values` says where."""
    try:
        text = _encode(value)
        content = text.encode()
    except (ValueError, TypeError, RecursionError, OverflowError):
        return None
    # A cheap test first: text with few brackets cannot be deep, and short text cannot hold many
    # values. Only otherwise is the whole value walked.
    shallow = text.count("[") + text.count("{") <= MAX_DEPTH
    if (shallow and len(text) <= 2 * MAX_VALUES) or next(odd_values(value), None) is None:
        return content
    return None


def is_too_deep(value: object) -> bool:
    """Return whether a value is nested deeper than an input may be."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 2):
        held: list[Any] = [one for one in level if isinstance(one, dict | list | tuple)]
        if not held:
            return False
        level = [part for one in held for part in _parts(one)]
    return True


def _parts(held: Any) -> Iterable[Any]:
    return cast("dict[Any, Any]", held).values() if isinstance(held, dict) else held


def odd_values(value: object) -> Iterator[FieldFault]:
    """Yield every place that is no JSON, too deep or past the count; the latter ends the walk."""
    # Depth-first with an explicit stack, so that a hostile depth costs memory in proportion and no
    # RecursionError.
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    seen = 0
    while waiting:
        place, one = waiting.pop()
        seen += 1
        if seen > MAX_VALUES:
            yield FieldFault(
                "", f"has more than {MAX_VALUES:,} values; put them in a file and pass its path"
            )
            return
        if len(place) > MAX_DEPTH:
            problem = f"is nested deeper than {MAX_DEPTH} levels; make it flatter"
            yield FieldFault(path_text(place[:3]), problem)
        elif problem := _problem(one):
            yield FieldFault(path_text(place), problem)
        else:
            waiting.extend(reversed(list(_inside(place, one))))


def _inside(
    place: tuple[str | int, ...], value: object
) -> Iterator[tuple[tuple[str | int, ...], object]]:
    if isinstance(value, dict):
        for key, part in cast("dict[Any, Any]", value).items():
            yield (*place, key), part
    elif isinstance(value, list | tuple):
        for at, part in enumerate(cast("list[Any]", value)):
            yield (*place, at), part


def _problem(value: object) -> str:
    match value:
        case None | bool() | list() | tuple():
            return ""
        case str():
            return "" if _is_text(value) else "has half a character (a lone surrogate)"
        case int() | float():
            return _number_problem(value)
        case dict():
            return _key_problem(cast("dict[Any, Any]", value))
        case _:
            return f"must be a JSON value, got a {type(value).__name__}"


# Judged by bits: converting a huge integer to text, only to count its digits, takes quadratic time.
def _number_problem(value: float) -> str:
    if isinstance(value, int):
        return "has too many digits" if value.bit_length() > _MAX_BITS else ""
    return "" if math.isfinite(value) else f"must be a finite number, got {said(value)}"


def _key_problem(value: dict[Any, Any]) -> str:
    for key in value:
        if not isinstance(key, str):
            return f"must have text as keys, got {said(key)}"
        if not _is_text(key):
            return "has a key with half a character (a lone surrogate)"
    return ""


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
