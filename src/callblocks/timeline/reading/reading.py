"""Bringing the content of paths before the model again: a status, then fresh blocks.

    {"paths": ["fi:turn_1.files/a.md"], "missing": [], "missing_skills": [],
     "exists_in_visible_context": [], "total_tokens": 120}

Content that the model sees already, at the same path, is not brought again. At most `MAX_PATHS`
paths are looked up, and blocks are brought until they cost `MAX_TOKENS` or have `MAX_SIZE`
characters; the rest is listed in `left_out`, for another call. `why` explains a missing file that
the timeline has. The first piece is brought whatever it costs, or a large file could never be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.outcomes import Notice
from callblocks.model.paths import Path
from callblocks.timeline.emitting.fitting import TRUNCATED
from callblocks.timeline.plain_json import whole
from callblocks.timeline.reading.asked import path_of
from callblocks.timeline.reading.finding import MAX_SIZE, MAX_TOKENS, Finder, Found, Piece

__all__ = ("MAX_PATHS", "MAX_TOKENS", "Reading", "read_paths")

# The most paths that one call may read.
MAX_PATHS = 50

_SAID = 200


class Reading(msgspec.Struct, frozen=True):
    """The status of `react.read`, the blocks that it brings, and notices."""

    status: dict[str, Any]
    blocks: list[Block]
    notices: list[Notice]


def read_paths(paths: Iterable[str], finder: Finder) -> Reading:
    """Read paths in their order, each once; an invalid or absent one is `missing`."""
    asked = {_spelled(text, path): path for text, path in ((one, path_of(one)) for one in paths)}
    tray = _Tray(finder)
    for at, (text, path) in enumerate(asked.items()):
        tray.read(text, path, looking=at < MAX_PATHS)
    return Reading(tray.status(list(asked)), tray.blocks, tray.notices)


class _Tray:
    """The collected results of one call."""

    def __init__(self, finder: Finder) -> None:
        self.blocks: list[Block] = []
        self.notices: list[Notice] = []
        self._finder = finder
        self._missing: list[str] = []
        self._why: dict[str, str] = {}
        self._missing_skills: list[str] = []
        self._exists: list[str] = []
        self._left_out: list[str] = []
        self._taken: set[tuple[str, str, str]] = set()
        self._tokens = self._size = 0

    def read(self, text: str, path: Path | None, *, looking: bool) -> None:
        """Take the content of a path; without `looking` it is only named."""
        if path is None:
            self._missing.append(text)
        elif not looking or self._tokens >= MAX_TOKENS or self._size >= MAX_SIZE:
            self._left_out.append(text)
        else:
            self._take_all(self._finder.find(path))

    def _take_all(self, found: Found) -> None:
        self._missing.extend(found.missing)
        self._why |= found.why
        self._missing_skills.extend(found.missing_skills)
        self._left_out.extend(found.left_out)
        self.notices.extend(found.notices)
        for piece in found.pieces:
            content = _content(piece.blocks[-1])
            if content not in self._taken:
                self._taken.add(content)
                self._take(piece)

    def _take(self, piece: Piece) -> None:
        cost = self._finder.cost(piece)
        if self._is_seen(piece):
            self._exists.append(piece.path)
        # The first piece passes whatever it costs: otherwise a large file could never be read.
        elif self._tokens and self._tokens + cost > MAX_TOKENS:
            self._left_out.append(piece.path)
        else:
            self._tokens += cost
            self._size += piece.size
            self.blocks.extend(map(_shown, piece.blocks))

    def _is_seen(self, piece: Piece) -> bool:
        seen = self._finder.seen(piece.path)
        return any(_is_same(block, piece.blocks[-1]) for block in seen)

    def status(self, asked: list[str]) -> dict[str, Any]:
        status: dict[str, Any] = {
            "paths": _listed(asked),
            "missing": _listed(self._missing),
            "missing_skills": _listed(self._missing_skills),
            "exists_in_visible_context": _listed(self._exists),
            "total_tokens": self._tokens,
        }
        if self._why:
            status["why"] = self._why
        if self._left_out:
            status["left_out"] = _listed(self._left_out)
        return status


def _spelled(text: str, path: Path | None) -> str:
    """Return the normal form of a path; an invalid one as it is, cut to a length for display."""
    if path is not None:
        return str(path)
    said = whole(text)
    return said if len(said) <= _SAID else f"{said[:_SAID]}…"


def _listed(paths: list[str]) -> list[str]:
    once = list(dict.fromkeys(paths))
    more = len(once) - MAX_PATHS
    return [*once[:MAX_PATHS], f"… and {more} more"] if more > 0 else once


def _content(block: Block) -> tuple[str, str, str]:
    """Return what makes two blocks the same for a reader: path and content."""
    if block.text is not None:
        return block.path, "text", block.text
    if block.base64 is not None:
        return block.path, "base64", block.base64
    return block.path, "digest", str(block.meta.get("digest", ""))


def _is_same(seen: Block, new: Block) -> bool:
    """Return whether a visible block shows what a new one would: the same, or more of the same."""
    if _content(seen) == _content(new):
        return True
    # A new copy that would be cut shorter than what is visible already adds nothing.
    cut_short = seen.text is not None and new.text is not None and new.text.endswith(TRUNCATED)
    return cut_short and (seen.text or "").startswith((new.text or "").removesuffix(TRUNCATED))


def _shown(block: Block) -> Block:
    return msgspec.structs.replace(block, meta={**block.meta, "hidden": False})
