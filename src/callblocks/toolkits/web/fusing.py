"""Many lists of pages as one: a page that many queries name stands before one that few do.

    fused([["a", "b"], ["b", "c"]])   b, a, c

Reciprocal rank fusion: each list gives the page at its place r the weight 1 / (60 + r). Lists of
different engines need no scale in common for that. The same page is known by its canonical URL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from callblocks.model.canonical_url import canonical_url

__all__ = ("fused",)

# How little the first places of a list count more than those behind them.
_SMOOTH = 60


def fused(lists: Iterable[Sequence[dict[str, Any]]], limit: int) -> list[dict[str, Any]]:
    """The best rows of all lists, each page once, with the longest snippet that was said of it."""
    weights: dict[str, float] = {}
    rows: dict[str, dict[str, Any]] = {}
    for ranked in lists:
        seen: set[str] = set()
        for row in ranked:
            key = _key(row)
            if key not in seen:
                seen.add(key)
                weights[key] = weights.get(key, 0.0) + 1 / (_SMOOTH + len(seen))
                rows[key] = _joined(rows[key], row) if key in rows else row
    best = sorted(weights, key=lambda key: -weights[key])
    return [rows[key] for key in best[:limit]]


def _key(row: dict[str, Any]) -> str:
    """What a row is about: a page, or a passage of a file."""
    if row.get("url"):
        return canonical_url(row["url"])
    return repr([row.get(name) for name in ("path", "page", "line")])


def _joined(known: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    longer = max(known.get("snippet", ""), row.get("snippet", ""), key=len)
    return {**row, **known, "snippet": longer}
