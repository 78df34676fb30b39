"""Rows of a SQLite file as values. The types of stored values are not trusted.

A flipped bit turns a blob into a text, or a number into NULL, and SQLite returns it as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from callblocks.model.errors import TimelineError
from callblocks.timeline.stores.log import PAGE_BYTES
from callblocks.timeline.stores.store import Head, Row, Summary

__all__ = ("head_of", "page_of", "summary_of")


def page_of(found: Iterable[tuple[int, Any, Any]]) -> list[Row]:
    """Return rows until a page is full; a row of unexpected types counts as unreadable."""
    rows: list[Row] = []
    size = 0
    for seq, body, hash in found:
        # Exact types: SQLite's columns hold any type, and a damaged page may give any of them.
        if type(body) is bytes and type(hash) is str:
            rows.append(Row(seq, body, hash))
            size += len(body)
        else:
            rows.append(Row(seq, None, ""))
        if size > PAGE_BYTES:
            break
    return rows


def head_of(name: str, count: Any, hash: Any) -> Head:
    """Return the end of a timeline, from its row; raise `store_damaged` for an impossible one."""
    if type(count) is not int or type(hash) is not str or count < 0:
        raise TimelineError(
            "store_damaged", f"where timeline {name} ends cannot be read; see what export can read"
        )
    return Head(count, hash)


def summary_of(row: tuple[Any, ...]) -> Summary:
    """Return a timeline for a list; unreadable fields are left empty."""
    name, count, *texts = row
    number = count if type(count) is int else 0
    return Summary(str(name), number, *(text if type(text) is str else "" for text in texts))
