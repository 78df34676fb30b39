"""A value as the JSON that a dialect writes, or the reason why it cannot be written."""

from __future__ import annotations

import json
from typing import Any

from callblocks.model.brief import brief
from callblocks.model.errors import Unwritable

__all__ = ("dumps",)


def dumps(value: Any, dialect: str) -> str:
    """JSON in one line, letters as they are; what is no JSON raises `Unwritable`."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error
