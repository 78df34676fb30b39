"""Rows as a terminal without colours shows them."""

from __future__ import annotations

from collections.abc import Iterable

from callblocks.views.rows import Row, plain


def lines(rows: Iterable[Row]) -> list[str]:
    """The text of each row, without the blanks at its end."""
    return [plain(row).rstrip() for row in rows]


EVIL = "\x1b[2J\x9b2J\u202e\x07\r"
"""What would steer a terminal."""


def harmless(rows: Iterable[Row]) -> bool:
    """Whether nothing in rows steers a terminal."""
    return all(text.isprintable() for row in rows for _, text in row)
