"""Values and places in messages: short, without secrets, on one line.

"ten"   true   null   12   a list of 3   an object

to   rows[2].name   headers["X y"]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from callblocks.model.brief import brief
from callblocks.model.redaction import REDACTED, is_secret_key, redact_start

__all__ = ("kinds", "path_text", "quoted", "said")

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
