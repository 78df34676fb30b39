"""How a turn ended, in one line, from what its record says.

✗ failed: model_unreachable: no connection to 127.0.0.1:9
✗ limited: round_limit: the model was asked as often as it may be
■ stopped
✗ interrupted: the program ended while the turn ran
"""

from __future__ import annotations

from typing import Any

from callblocks.views.safe import visible_line

__all__ = ("ending_words", "why")

_STOPPED = "stopped"


def ending_words(meta: dict[str, Any]) -> str:
    """How the turn of a record ended; nothing for one that was answered."""
    status = _text(meta, "status") or "failed"
    if status == "answered":
        return ""
    if status == _STOPPED:
        return f"■ {_STOPPED}"
    reason = why(status, _text(meta, "code"), _text(meta, "message"))
    return visible_line(f"✗ {status}: {reason}" if reason else f"✗ {status}")


def why(status: str, code: str, message: str) -> str:
    """The reason of an end; a code that only says the status again is left out."""
    return ": ".join(word for word in (code, message) if word and word != status)


def _text(meta: dict[str, Any], name: str) -> str:
    value = meta.get(name)
    return value if isinstance(value, str) else ""
