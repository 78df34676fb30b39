r"""Calls, results and prose as chat text, and values in messages.

    shown     read_file(path=a&b.txt)           what a person reads, one line, cut to size
    written   read_file(path=a&amp;b.txt)       the same inside `<tool>…</tool>`

Showing redacts, then cuts; writing escapes the rest, so a cut never falls inside an escape. Written
text has no `<` of its own and no `@` that would mention someone. Each `unescape_…` is the exact
inverse of its `escape_…`, for any string.

A failed call's result is written `❌ message`. A result that merely starts with ❌ has that
character as a reference, so the two are never confused.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from callblocks.core.redaction import REDACTED, is_secret_key, redact_start
from callblocks.core.text import brief

__all__ = (
    "MAX_TOOL_RESULT_DISPLAY_CHARS",
    "escape",
    "escape_call",
    "escape_id",
    "escape_name",
    "escape_prose",
    "escape_result",
    "escape_shown",
    "format_size",
    "kinds",
    "neutralise_mentions",
    "path_text",
    "quoted",
    "restore_mentions",
    "said",
    "show_arguments",
    "show_call",
    "show_result",
    "split_cut",
    "to_compact_text",
    "unescape",
    "unescape_call",
    "unescape_id",
    "unescape_prose",
    "unescape_result",
    "unescape_shown",
)

# The most characters of a result in chat text.
MAX_TOOL_RESULT_DISPLAY_CHARS = 500

_VALUE_LIMIT = 250
_ARGUMENTS_LIMIT = 1_200
_KILO = 1024
_FAILED = "❌ "
_ZERO_WIDTH_SPACE = "\u200b"
_LINE_BREAKS = str.maketrans("\r\n", "  ")
_CUT = re.compile(r"… \(truncated, ([0-9]+(?:\.[0-9])?[KM]?B)\)\Z")

# The references that `html.escape` writes, its decimal twin for `'`, and those of this module.
_REFERENCES = {
    "&amp;": "&",
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&#x27;": "'",
    "&#39;": "'",
    "&#40;": "(",
    "&#64;": "@",
    "&#10;": "\n",
    "&#13;": "\r",
    "&#10060;": "❌",
}
_REFERENCE = re.compile("|".join(_REFERENCES))
_ID_REFERENCES = str.maketrans({"@": "&#64;", "\n": "&#10;", "\r": "&#13;"})

# Prose that would parse as a block: our tags, and the legacy Markdown markers. Letters are ASCII
# and blanks are bounded, so that an incremental parser can decide the same.
_TAG = r"/?(?ai:tool|validation)"
_STARS = r"\ufe0f?[^\S\n]{0,100}\*\*[^\S\n]{0,100}"
_LEGACY_CALL = rf"{_STARS}(?ai:tool call)"
_LEGACY_RESULT = rf"{_STARS}`"
_LEVELS = rf"(?:amp;)*(?:lt;{_TAG}|#128295;{_LEGACY_CALL}|#9989;{_LEGACY_RESULT})"
_PROSE_MARK = re.compile(rf"<(?={_TAG})|🔧(?={_LEGACY_CALL})|✅(?={_LEGACY_RESULT})|&(?={_LEVELS})")
_ESCAPED_MARK = re.compile(
    rf"&lt;(?={_TAG})|&#128295;(?={_LEGACY_CALL})|&#9989;(?={_LEGACY_RESULT})|&amp;(?={_LEVELS})"
)
_PROSE_REFERENCES = {"<": "&lt;", "🔧": "&#128295;", "✅": "&#9989;", "&": "&amp;"}
_PROSE_MARKS = {reference: mark for mark, reference in _PROSE_REFERENCES.items()}


def show_call(name: str, input: Mapping[str, object] | None) -> tuple[str, bool]:
    """Return a call in one line, `name(key=value, …)`, and whether something was cut."""
    arguments, truncated = show_arguments(input)
    return f"{name.translate(_LINE_BREAKS)}({arguments})", truncated


def show_arguments(input: Mapping[str, object] | None) -> tuple[str, bool]:
    """Return the arguments alone, `key=value, …`, and whether something was cut."""
    values = [(str(key), *_show_value(str(key), value)) for key, value in (input or {}).items()]
    joined = ", ".join(f"{key.translate(_LINE_BREAKS)}={value}" for key, value, _ in values)
    shown, truncated = _cut(joined, _ARGUMENTS_LIMIT, "…")
    return shown, truncated or any(cut for _, _, cut in values)


def show_result(result: object, limit: int = MAX_TOOL_RESULT_DISPLAY_CHARS) -> tuple[str, bool]:
    """Return a result of at most `limit` characters with its whole size, and whether it was cut.

    `None` and an empty string give an empty text.
    """
    whole = "" if result is None else to_compact_text(result)
    size = len(whole.encode("utf-8", "surrogatepass"))
    return _cut(redact_start(whole, limit), limit, f"… (truncated, {format_size(size)})")


def split_cut(shown: str) -> tuple[str, str | None]:
    """Split a shown result into its text, and its whole size if it was cut."""
    mark = _CUT.search(shown, max(0, len(shown) - 64))
    return (shown[: mark.start()], mark[1]) if mark else (shown, None)


def to_compact_text(value: object) -> str:
    """Return any value as text: a string as it is, others as JSON, or else by `str`."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return _say(value)


def format_size(size: int) -> str:
    """Format a number of bytes: `512B`, `2.3KB`, `10.0MB`."""
    if size < _KILO:
        return f"{size}B"
    # Rounded first: 1048575 bytes are 1.0MB, not 1024.0KB.
    tenths = _round(size * 10, _KILO)
    if tenths < _KILO * 10:
        return f"{tenths // 10}.{tenths % 10}KB"
    tenths = _round(size * 10, _KILO * _KILO)
    return f"{tenths // 10}.{tenths % 10}MB"


def neutralise_mentions(text: str) -> str:
    """Insert a zero-width space after each `@`, so that no chat takes it for a mention."""
    return text.replace("@", "@" + _ZERO_WIDTH_SPACE)


def restore_mentions(text: str) -> str:
    """Remove one zero-width space after each `@`."""
    return text.replace("@" + _ZERO_WIDTH_SPACE, "@")


def escape(text: str) -> str:
    """Escape text for inside a tag: `&`, `<`, `>` and both quotes as references."""
    return html.escape(text)


def unescape(raw: str) -> str:
    """Invert `escape`; references that are not ours stay as they are."""
    return _REFERENCE.sub(lambda found: _REFERENCES[found[0]], raw)


def escape_shown(text: str) -> str:
    """Escape shown text: no markup in it, no mentions."""
    return escape(neutralise_mentions(text))


def unescape_shown(raw: str) -> str:
    """Invert `escape_shown`."""
    return restore_mentions(unescape(raw))


def escape_name(name: str) -> str:
    """Escape a tool's name on one line; its own `(` is a reference, so the first `(` ends it."""
    return escape_shown(name.translate(_LINE_BREAKS)).replace("(", "&#40;")


def escape_call(name: str, arguments: str | None) -> str:
    """Return a call's line from its name and shown arguments; without arguments, the name alone."""
    if arguments is None:
        return escape_name(name)
    return f"{escape_name(name)}({escape_shown(arguments.translate(_LINE_BREAKS))})"


def unescape_call(raw: str) -> tuple[str, str | None]:
    """Parse a call's line: its name, and its arguments as shown or `None` if it has no `(`."""
    name, paren, arguments = raw.partition("(")
    shown = unescape_shown(arguments.removesuffix(")")) if paren else None
    return unescape_shown(name), shown


def escape_id(id: str) -> str:
    """Escape an id for inside `id="…"`, on one line, without mentions."""
    return escape(id).translate(_ID_REFERENCES)


def unescape_id(raw: str) -> str:
    """Invert `escape_id`."""
    return unescape(raw)


def escape_result(text: str, failed: bool) -> str:
    """Escape a shown result, or the message of a failed call."""
    raw = escape_shown(text)
    if failed:
        return _FAILED + raw
    return "&#10060;" + raw[1:] if raw.startswith("❌") else raw


def unescape_result(raw: str) -> tuple[str, bool]:
    """Invert `escape_result`: return the text, and whether the call failed."""
    failed = raw.startswith(_FAILED)
    return unescape_shown(raw.removeprefix(_FAILED) if failed else raw), failed


def escape_prose(text: str) -> str:
    """Escape prose so that no tag and no legacy marker in it parses as a block.

    Only text that looks like one is changed: `<tool` becomes `&lt;tool`, and text that already was
    `&lt;tool` becomes `&amp;lt;tool`, one level more. Escape whole prose, not pieces of it: a tag
    can be cut in two.
    """
    return _PROSE_MARK.sub(lambda found: _PROSE_REFERENCES[found[0]], text)


def unescape_prose(raw: str) -> str:
    """Invert `escape_prose`, removing exactly one level."""
    return _ESCAPED_MARK.sub(lambda found: _PROSE_MARKS[found[0]], raw)


def _show_value(key: str, value: object) -> tuple[str, bool]:
    if is_secret_key(key) and not isinstance(value, bool | None):
        return REDACTED, False
    start = redact_start(to_compact_text(value), _VALUE_LIMIT)
    return _cut(start.translate(_LINE_BREAKS), _VALUE_LIMIT, "…")


def _cut(text: str, limit: int, mark: str) -> tuple[str, bool]:
    if len(text) <= limit:
        return text, False
    # A surrogate pair kept as two characters is one character to every later reader.
    pair = "\ud800" <= text[limit - 1] <= "\udbff" and "\udc00" <= text[limit] <= "\udfff"
    return text[: limit - pair] + mark, True


def _round(size: int, unit: int) -> int:
    return (size + unit // 2) // unit


def _say(value: object) -> str:
    try:
        return str(value)
    except Exception:  # any tool's value may be shown, and its `__str__` may do anything
        return f"<{type(value).__name__}>"


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
