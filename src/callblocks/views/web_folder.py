"""Where the pages lie: `web/` beside `src/` in a checkout, `callblocks/web/` once installed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from callblocks.model.errors import CallblocksError

__all__ = ("web_folder",)

_MARK = Path("css", "tokens.css")


@cache
def web_folder() -> Path:
    """The folder with the pages, their scripts and their styles, without links in its path."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "web", package.parents[1] / "web"):
        if (folder / _MARK).is_file():
            return folder
    raise CallblocksError(f"no web folder in {package}: install callblocks again")
