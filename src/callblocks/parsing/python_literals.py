"""A Python list or dictionary of plain values, put into JSON: `{'a': True}` is `{"a": true}`.

Only what differs is touched: quotes, and the three words. Whatever else is wrong stays wrong,
so that whoever reads the JSON finds it.
"""

from __future__ import annotations

import json
import re

__all__ = ("as_json",)

_TOKEN = re.compile(
    r"""'((?:[^'\\]|\\.)*)'|("(?:[^"\\]|\\.)*")|\b(True|False|None)\b|([^'"TFN]+|[TFN])""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "\\": "\\", "\n": ""}
_WORDS = {"True": "true", "False": "false", "None": "null"}


def as_json(text: str) -> str | None:
    """The same in JSON, or None where it is no Python literal or says nothing in Python's way."""
    bare = text.strip()
    if bare[:1] not in ("[", "{"):
        return None
    parts: list[str] = []
    at, changed = 0, False
    while at < len(bare):
        token = _TOKEN.match(bare, at)
        if token is None:
            return None
        quoted, string, word, other = token.groups()
        changed = changed or quoted is not None or word is not None
        if quoted is not None:
            parts.append(json.dumps(_ESCAPE.sub(_unescaped, quoted), ensure_ascii=False))
        else:
            parts.append(string or _WORDS.get(word or "") or other)
        at = token.end()
    return "".join(parts) if changed else None


def _unescaped(escape: re.Match[str]) -> str:
    return _ESCAPED.get(escape[1], escape[0])
