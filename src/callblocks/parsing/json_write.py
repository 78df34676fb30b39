"""A value as JSON in one line, or a refusal that names it."""

from __future__ import annotations

import json
from typing import Any

from callblocks.model.brief import brief
from callblocks.model.errors import Unwritable

__all__ = ("write_json",)


def write_json(dialect: str, value: Any) -> str:
    """Write a value as JSON; raise `Unwritable` if JSON cannot represent it."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error
