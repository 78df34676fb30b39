"""What a path stands for, as blocks that can be brought before the model again.

    fi: files, attachments    digest and content, from the folder of the turn, else from what
                              was kept; the file is then written back into its folder
    fi: code, tc:, ar:        the newest blocks at the path
    so:                       rows that are files as those files; the others as one block
    sk:                       the skill, after all that it imports

A copy is always a result of the call that reads, whatever it is a copy of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeAlias

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.errors import TimelineError, ToolError
from callblocks.model.outcomes import Notice
from callblocks.model.paths import FilePath, Path, SkillPath, SourcesPath
from callblocks.model.sources import Source, rows_text
from callblocks.timeline.emitting.file_blocks import TurnFile, file_blocks
from callblocks.timeline.emitting.holdings import Holdings, left_out
from callblocks.timeline.keeping.mime import mime_of
from callblocks.timeline.reading.asked import path_of, rows_path
from callblocks.timeline.reading.skills import Skill, Skills
from callblocks.timeline.rounds import call_key
from callblocks.timeline.stamp import JSON, Stamp
from callblocks.timeline.state import State

__all__ = ("MAX_TEXT", "Finder", "Found", "Piece", "Shows")

MAX_TEXT = 200_000
"""Bytes that are shown of one text file, or characters of rows of the sources pool."""


class Piece(msgspec.Struct, frozen=True):
    """Blocks that come together or not at all; the last one holds the content."""

    path: str
    blocks: tuple[Block, ...]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a path stands for, what of it is not there or too much, and what to tell."""

    pieces: tuple[Piece, ...] = ()
    missing: tuple[str, ...] = ()
    missing_skills: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()


Shows: TypeAlias = Callable[[int], bool]
"""Whether the model's view shows the block of a number; one that folds does not show all."""


class Finder(msgspec.Struct, frozen=True, kw_only=True):
    """Where paths are looked up; `stamp` is of the call that reads.

    `shows` is asked of blocks that are not hidden; without it they are all shown.
    """

    state: State
    holdings: Holdings
    skills: Skills
    stamp: Stamp
    shows: Shows | None = None

    def seen(self, path: str) -> list[Block]:
        """The blocks at a path that the model sees now."""
        visible = self.state.visible(path)
        return [one.block for one in visible if self.shows is None or self.shows(one.seq)]

    def find(self, path: Path) -> Found:
        """Look a path up; never raises for what is not there."""
        match path:
            case FilePath():
                return self._file(path)
            case SourcesPath():
                return self._sources(path)
            case SkillPath():
                return self._skill(path)
            case _:
                return self._newest(str(path))

    def _file(self, path: FilePath) -> Found:
        content = self.holdings.read(path)
        if content is None:
            content = self._kept(path)
        if content is None:
            return self._newest(str(path), whole=False)
        file = self._turn_file(path, content)
        blocks = file_blocks(
            self.stamp,
            file,
            tokens=self.holdings.tokens,
            fields={"visibility": "internal"},
            text_limit=MAX_TEXT,
        )
        piece = Piece(str(path), tuple(blocks))
        return Found(pieces=(piece,), notices=tuple(left_out(file)))

    def _turn_file(self, path: FilePath, content: bytes) -> TurnFile:
        mime = mime_of(path.name, content)
        kept = self.holdings.keep(path, content, mime)
        if isinstance(kept, TurnFile):
            return kept
        # What cannot be kept again can still be read.
        return TurnFile(path=path, content=content, mime=mime)

    def _kept(self, path: FilePath) -> bytes | None:
        """The content that was kept when the file came, written back to where it was."""
        metas = (entry.block.meta for entry in reversed(self.state.at(str(path))))
        digest = next((meta["digest"] for meta in metas if isinstance(meta.get("digest"), str)), "")
        try:
            content = self.holdings.artifacts.read(digest)
        except (TimelineError, OSError):
            return None
        with suppress(ToolError, OSError):
            self.holdings.files.write(path, content)
        return content

    def _newest(self, path: str, *, whole: bool = True) -> Found:
        """The newest blocks at a path; without `whole`, only those with its content."""
        entries = self.state.at(path)
        keys = [call_key(entry.block) for entry in entries]
        blocks = [
            entry.block
            for entry, key in zip(entries, keys, strict=True)
            if key == keys[-1] and (whole or _holds_content(entry.block))
        ]
        if not blocks:
            return Found(missing=(path,))
        return Found(pieces=tuple(Piece(path, (self._copy(block),)) for block in blocks))

    def _copy(self, block: Block) -> Block:
        return self.stamp.block(
            "react.tool.result",
            path=block.path,
            mime=block.mime,
            text=block.text,
            base64=block.base64,
            meta=block.meta,
        )

    def _sources(self, path: SourcesPath) -> Found:
        rows = self.state.pool.select(path.ranges)
        if not rows:
            return Found(missing=(str(path),))
        files = [self._file(file) for row in rows if (file := _file_of(row))]
        others = [row for row in rows if not _file_of(row)]
        return _together([*files, self._rows(others)] if others else files)

    def _rows(self, rows: list[Source]) -> Found:
        """One block of rows, as many as it may show."""
        shown = _first_rows(rows)
        path = rows_path(row.sid for row in shown)
        block = self.stamp.result("content", rows_text(shown, MAX_TEXT), mime=JSON, path=path)
        rest = [row.sid for row in rows[len(shown) :]]
        return Found(pieces=(Piece(path, (block,)),), left_out=(rows_path(rest),) if rest else ())

    def _skill(self, path: SkillPath) -> Found:
        return Found(
            pieces=tuple(self._active(skill) for skill in self.skills.resolve(path.id)),
            missing_skills=tuple(f"sk:{id}" for id in self.skills.missing(path.id)),
        )

    def _active(self, skill: Skill) -> Piece:
        path = f"sk:{skill.id}"
        text = f"ACTIVE skill {path}: {skill.title}\n\n{skill.text}"
        block = self.stamp.result("content", text, mime="text/markdown", path=path)
        return Piece(path, (block,))


def _together(founds: Iterable[Found]) -> Found:
    parts = list(founds)
    return Found(
        pieces=tuple(piece for found in parts for piece in found.pieces),
        missing=tuple(path for found in parts for path in found.missing),
        left_out=tuple(path for found in parts for path in found.left_out),
        notices=tuple(notice for found in parts for notice in found.notices),
    )


def _holds_content(block: Block) -> bool:
    """Whether what a file held is in the block: a digest only says what it was."""
    filled = block.text is not None or block.base64 is not None
    return filled and block.meta.get("role") != "digest"


def _file_of(row: Source) -> FilePath | None:
    path = path_of(row.path) if row.path else None
    return path if isinstance(path, FilePath) else None


def _first_rows(rows: list[Source]) -> list[Source]:
    """The rows whose texts fit together into one block; the first one in any case."""
    size = 0
    for at, row in enumerate(rows):
        size += min(len(row.text), MAX_TEXT)
        if at and size > MAX_TEXT:
            return rows[:at]
    return rows
