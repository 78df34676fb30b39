"""The JSON that a dialect writes for a value."""

from __future__ import annotations

import json
from typing import Any

from callblocks.model.brief import brief
from callblocks.model.errors import Unwritable

__all__ = ("dumps",)


def dumps(value: Any, dialect: str) -> str:
    """Return a value as JSON in one line, without `\\u` escapes, or raise `Unwritable`."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error
