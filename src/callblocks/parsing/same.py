"""Equality of JSON-like values, types included: `1`, `1.0` and `true` differ."""

from __future__ import annotations

from typing import Any, cast

__all__ = ("same",)


def same(one: Any, other: Any) -> bool:
    """Compare by type and value; the order of keys does not matter, and NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        ours, theirs = cast("dict[Any, Any]", one), cast("dict[Any, Any]", other)
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(one, list):
        items, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(others) and all(map(same, items, others))
    return one == other or (one != one and other != other)  # noqa: PLR0124 only NaN differs from itself
