"""Lookup of paths, as blocks that can be brought before the model again.

    fi: files, attachments    digest and content, from the folder of the turn, else from what
                              was kept; the file is then written back into its folder. A file
                              that no block names is missing (see `named`)
    fi: code, tc:, ar:        the newest blocks at the path
    so:                       rows that are files as those files; the others as one block
    sk:                       the skill, after all that it imports

A copy is always a result of the call that reads, whatever it is a copy of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.outcomes import Notice
from callblocks.model.paths import FilePath, Path, SkillPath, SourcesPath
from callblocks.model.sources import Source, rows_text
from callblocks.timeline.emitting.file_blocks import TurnFile, file_blocks
from callblocks.timeline.emitting.holdings import Holdings, left_out
from callblocks.timeline.keeping.mime import mime_of
from callblocks.timeline.reading.asked import path_of, rows_path
from callblocks.timeline.reading.costs import cost_of
from callblocks.timeline.reading.digests import digest_of, fields_kept
from callblocks.timeline.reading.named import is_named
from callblocks.timeline.reading.recovering import GONE, noted_digest, recovered
from callblocks.timeline.reading.skills import Skill, Skills
from callblocks.timeline.rounds import call_key
from callblocks.timeline.stamp import JSON, Stamp
from callblocks.timeline.state import State

__all__ = ("MAX_SIZE", "MAX_TEXT", "MAX_TOKENS", "Finder", "Found", "Piece", "Shows")

# The most bytes shown of one text file, or characters of rows of the sources pool.
MAX_TEXT = 200_000

# The tokens after which one call brings no more.
MAX_TOKENS = 50_000

# The characters of text and base64 after which one call brings no more.
MAX_SIZE = 32 * 2**20


class Piece(msgspec.Struct, frozen=True):
    """Blocks that come together or not at all; the last one holds the content."""

    path: str
    blocks: tuple[Block, ...]

    @property
    def size(self) -> int:
        """Return the characters of text and base64."""
        return sum(len(block.text or "") + len(block.base64 or "") for block in self.blocks)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The blocks of a path, the parts that are missing or too much, and notices.

    `why` has words for what is missing, where more is known than its absence.
    """

    pieces: tuple[Piece, ...] = ()
    missing: tuple[str, ...] = ()
    why: dict[str, str] = {}
    missing_skills: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()


# Return whether the model's view shows the block of a number; a folding view does not show all.
Shows: TypeAlias = Callable[[int], bool]


class Finder(msgspec.Struct, frozen=True, kw_only=True):
    """The lookup of paths; `stamp` is of the call that reads.

    `shows` is called for blocks that are not hidden; without it they are all shown.
    """

    state: State
    holdings: Holdings
    skills: Skills
    stamp: Stamp
    shows: Shows | None = None

    def knows(self, text: str) -> bool:
        """Return whether a text is a path at which there are blocks."""
        path = path_of(text)
        return path is not None and bool(self.state.at(str(path)))

    def seen(self, path: str) -> list[Block]:
        """Return the blocks at a path that the model sees now."""
        visible = self.state.visible(path)
        return [one.block for one in visible if self.shows is None or self.shows(one.seq)]

    def find(self, path: Path) -> Found:
        """Look a path up; never raises for a missing one.

        Of rows that are files only as many are loaded as one call may bring.
        """
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
        # A file that merely lies in the folder could have been put there by anyone; it is not part
        # of what happened, and is not shown.
        if not is_named(path, self.state, self.stamp.turn):
            return Found(missing=(str(path),))
        about = digest_of(path, self.state)
        content = self.holdings.read(path)
        if content is None:
            # The digest that the timeline recorded decides what counts as the same file; a
            # recovered content is compared with it.
            noted = noted_digest(path, self.state) or str(about.get("sha256", ""))
            content = recovered(path, noted, self.state, self.holdings)
            if content is None and noted:
                return Found(missing=(str(path),), why={str(path): GONE})
        if content is None:
            return self._newest(str(path), whole=False)
        file = self._turn_file(path, content)
        blocks = file_blocks(
            self.stamp,
            file,
            tokens=self.holdings.tokens,
            fields={"visibility": "internal", **fields_kept(about, file.digest)},
            text_limit=MAX_TEXT,
        )
        piece = Piece(str(path), tuple(blocks))
        return Found(pieces=(piece,), notices=tuple(left_out(file)))

    def _turn_file(self, path: FilePath, content: bytes) -> TurnFile:
        mime = mime_of(path.name, content)
        kept = self.holdings.keep(path, content, mime)
        if isinstance(kept, TurnFile):
            return kept
        # A file that cannot be stored again can still be read.
        return TurnFile(path=path, content=content, mime=mime)

    def _newest(self, path: str, *, whole: bool = True) -> Found:
        """Return the newest blocks at a path; without `whole`, only those with its content."""
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
            meta={**block.meta, "role": _role(block)},
        )

    def _sources(self, path: SourcesPath) -> Found:
        rows = self.state.pool.select(path.ranges)
        if not rows:
            return Found(missing=(str(path),))
        others = [row for row in rows if not _file_of(row)]
        found = self._files([row for row in rows if _file_of(row)])
        return _together([*found, self._rows(others)] if others else found)

    def _files(self, rows: list[Source]) -> list[Found]:
        """Return the files of rows, until they exceed what one call may bring."""
        found: list[Found] = []
        tokens = size = 0
        for at, row in enumerate(rows):
            # Checked before each file is loaded: a selector such as 1-999 must not read a thousand
            # files.
            if tokens >= MAX_TOKENS or size >= MAX_SIZE:
                rest = rows_path(one.sid for one in rows[at:])
                return [*found, Found(left_out=(rest,))]
            path = _file_of(row)
            found.append(Found() if path is None else self._file(path))
            tokens += sum(map(self.cost, found[-1].pieces))
            size += sum(piece.size for piece in found[-1].pieces)
        return found

    def cost(self, piece: Piece) -> int:
        """Return the tokens of a piece."""
        return sum(cost_of(block, self.holdings.tokens) for block in piece.blocks)

    def _rows(self, rows: list[Source]) -> Found:
        """Return one block of rows, as many as it may show."""
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
        why={path: words for found in parts for path, words in found.why.items()},
        left_out=tuple(path for found in parts for path in found.left_out),
        notices=tuple(notice for found in parts for notice in found.notices),
    )


def _holds_content(block: Block) -> bool:
    """Return whether the block has a file's content: a digest only describes it."""
    filled = block.text is not None or block.base64 is not None
    return filled and block.meta.get("role") != "digest"


def _role(block: Block) -> str:
    """Return the role of a copy: the digest of a result stays one, everything else is content.

    A notice, a report or a status would describe the call that reads.
    """
    results = ("react.tool.result", "user.attachment")
    is_digest = block.type in results and block.meta.get("role") == "digest"
    return "digest" if is_digest else "content"


def _file_of(row: Source) -> FilePath | None:
    path = path_of(row.path) if row.path else None
    return path if isinstance(path, FilePath) else None


def _first_rows(rows: list[Source]) -> list[Source]:
    """Return the rows whose texts fit together into one block; the first one in any case."""
    size = 0
    for at, row in enumerate(rows):
        size += min(len(row.text), MAX_TEXT)
        if at and size > MAX_TEXT:
            return rows[:at]
    return rows
