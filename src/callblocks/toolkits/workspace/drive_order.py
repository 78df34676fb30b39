"""The order of files: `folder,modifiedTime desc,name`, as Drive's `orderBy` has it."""

from __future__ import annotations

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError

__all__ = ("KEYS", "read_order")

# The sort keys.
KEYS = (
    "createdTime",
    "folder",
    "modifiedByMeTime",
    "modifiedTime",
    "name",
    "name_natural",
    "quotaBytesUsed",
    "recency",
    "sharedWithMeTime",
    "starred",
    "viewedByMeTime",
)


def read_order(text: str) -> tuple[tuple[str, bool], ...]:
    """Return the keys, each with True for descending; `invalid_input` for an unknown one."""
    return tuple(_key(part.split()) for part in text.split(",") if part.strip())


def _key(words: list[str]) -> tuple[str, bool]:
    match words:
        case [key] if key in KEYS:
            return key, False
        case [key, "desc"] if key in KEYS:
            return key, True
        case _:
            why = f"{brief(' '.join(words))} is no order; choose from {', '.join(KEYS)}"
            raise ToolError("invalid_input", f"{why}, each with or without ` desc`", orderBy=why)
