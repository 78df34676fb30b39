"""Fusion of several ranked lists of pages into one.

    fused([["a", "b"], ["b", "c"]])   b, a, c

Reciprocal rank fusion: a list gives the page at rank r the weight 1 / (60 + r). It needs no common
scale of scores, so lists of different engines can be fused. Pages are identified by their canonical
URL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from callblocks.model.canonical_url import canonical_url

__all__ = ("fused",)

# The constant of the RRF paper (Cormack 2009): it flattens the advantage of the first ranks.
_SMOOTH = 60


def fused(lists: Iterable[Sequence[dict[str, Any]]], limit: int) -> list[dict[str, Any]]:
    """Return the best rows of all lists, each page once, with the longest of its snippets."""
    weights: dict[str, float] = {}
    rows: dict[str, dict[str, Any]] = {}
    for ranked in lists:
        # A list that names a page twice must not count twice; its rank is that among distinct
        # pages.
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
    """Return the identity of a row: a page's URL, or the place of a passage in a file."""
    if row.get("url"):
        return canonical_url(row["url"])
    return repr([row.get(name) for name in ("path", "page", "line")])


def _joined(known: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    longer = max(known.get("snippet", ""), row.get("snippet", ""), key=len)
    return {**row, **known, "snippet": longer}
