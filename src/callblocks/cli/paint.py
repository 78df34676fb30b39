"""Rows on standard output: each kind in its colour, or plain text where there is no terminal.

`NO_COLOR`, `FORCE_COLOR` and `TERM` are honoured, as rich does. Rows hold safe text only, and
rich's own markup is never read in them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from callblocks.views.rows import Kind, Row, plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ("STYLES", "Paper", "paint", "plain_text")

STYLES: dict[Kind, str] = {
    "plain": "",
    "quiet": "dim",
    "strong": "bold",
    "mark": "cyan",
    "name": "bold cyan",
    "key": "blue",
    "error": "red",
    "warning": "yellow",
    "code": "green",
    "reasoning": "dim italic",
    "heading": "bold",
}

_WITHOUT_TERMINAL = 100
_WIDEST = 120
_FORCING = ("FORCE_COLOR", "TTY_COMPATIBLE")


class Paper:
    """Standard output, for rows.

    `console` is None where plain text is wanted, or where rich is not installed.
    """

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()
        self.console = _console() if self.terminal or any(map(os.environ.get, _FORCING)) else None
        wide = get_terminal_size().columns if self.terminal else _WITHOUT_TERMINAL
        if self.console and self.terminal:
            wide = self.console.width
        self.width = min(wide, _WIDEST)

    def print(self, rows: Sequence[Row]) -> None:
        """Print rows, which have their width, at once."""
        if not rows:
            return
        if self.console is not None:
            self.console.print(paint(rows), soft_wrap=True)
        else:
            sys.stdout.write(plain_text(rows))
        sys.stdout.flush()


def plain_text(rows: Iterable[Row]) -> str:
    """Rows without colours, each on its line."""
    return "".join(f"{plain(row).rstrip()}\n" for row in rows)


def paint(rows: Iterable[Row]) -> Text:
    """Rows as one rich text."""
    from rich.text import Text

    lines = [Text.assemble(*((text, STYLES[kind]) for kind, text in row)) for row in rows]
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def _console() -> Console | None:
    """Return the console of rich, or None where rich is not installed: text is plain then."""
    try:
        from rich.console import Console
    except ImportError:
        return None

    return Console(highlight=False, markup=False, emoji=False)
