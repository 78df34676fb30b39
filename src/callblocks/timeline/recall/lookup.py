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

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any, TypeAlias, cast

import msgspec

from callblocks.core.blocks import Block
from callblocks.core.errors import BadPath, TimelineError, ToolError
from callblocks.core.outcomes import Notice
from callblocks.core.paths import (
    CallPath,
    FilePath,
    Path,
    SkillPath,
    SourcesPath,
    parse_path,
    parse_physical,
    ranges_of,
)
from callblocks.core.sources import Source, rows_text
from callblocks.timeline.artifacts.media_types import mime_of
from callblocks.timeline.codec.call_blocks import JSON, Stamp
from callblocks.timeline.codec.ended_call import Holdings, TurnFile, file_blocks, left_out
from callblocks.timeline.recall.skills import Skill, Skills
from callblocks.timeline.timeline import State, call_key, cost_of

__all__ = (
    "GONE",
    "MAX_SIZE",
    "MAX_TEXT",
    "MAX_TOKENS",
    "Finder",
    "PathLookup",
    "Piece",
    "Shows",
    "asked_paths",
    "digest_of",
    "fields_kept",
    "is_named",
    "noted_digest",
    "path_of",
    "recovered",
    "rows_path",
    "spellings",
)

# --- The newest digest of a file on a timeline ---
#
#     kind, visibility, channel, description        what the file is for, whatever is in it now
#     edited, write_warning, sources_used           valid for that very content
#
# A file that is read again keeps them. The rest of a digest belongs to the call that reads.

_OF_FILE = ("kind", "visibility", "channel", "description")
_OF_CONTENT = ("edited", "write_warning", "sources_used")


def digest_of(path: FilePath, state: State) -> dict[str, Any]:
    """Return the fields of the newest digest of a file without an error; none where there
    is none.
    """
    text = str(path)
    found = (_fields(block) for block in _digests(text, state))
    well = (one for one in found if one.get("artifact_path") == text and "error" not in one)
    nothing: dict[str, Any] = {}
    return next(well, nothing)


# A file may have been edited since: facts about its content only hold while the digest is the same.
def fields_kept(digest: dict[str, Any], sha256: str) -> dict[str, Any]:
    """Return the fields of a digest that also hold for the file with this content."""
    is_same = digest.get("sha256") == sha256
    names = (*_OF_FILE, *_OF_CONTENT) if is_same else _OF_FILE
    return {name: digest[name] for name in names if name in digest}


def _digests(path: str, state: State) -> Iterator[Block]:
    """Yield the blocks that may be its digest, the likely ones first: most files have own
    blocks.
    """
    own = [entry.block for entry in reversed(state.at(path))]
    yield from own
    for turn, call in dict.fromkeys(map(call_key, own)):
        results = state.at(str(CallPath(turn, call, "result"))) if call else ()
        yield from (entry.block for entry in reversed(results))
    if not own:
        yield from (entry.block for entry in state.backwards())


def _fields(block: Block) -> dict[str, Any]:
    if block.meta.get("role") != "digest":
        return {}
    try:
        return msgspec.json.decode(block.text or "", type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return {}


# --- Membership of files in a timeline: a block must name the file ---
#
#     a block at fi:turn_1.files/a.md           its content, or an attachment
#     a digest whose artifact_path it is        a file of which nothing is shown
#     a source of the pool with that path       a row that is a file
#
# A file that merely lies in the folder is not part of the record. The current turn is an exception:
# the files of its tools have no block yet, and can be read.


# Only the one field that is needed, so that decoding skips the rest of a digest.
class _Digest(msgspec.Struct):
    artifact_path: str = ""


def is_named(path: FilePath, state: State, turn: str) -> bool:
    """Return whether a block names the file, or it belongs to the current turn."""
    text = str(path)
    if path.turn == turn or state.at(text) or state.pool.find(Source(path=text)):
        return True
    # A linear search, but only for files without a block of their own: all others were found above.
    return any(_names(entry.block, text) for entry in state.backwards())


def _names(block: Block, path: str) -> bool:
    if block.meta.get("role") != "digest":
        return False
    try:
        return msgspec.json.decode(block.text or "", type=_Digest).artifact_path == path
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False


# --- Recovery of a file that is gone from its folder: from artifacts, else from its block ---
#
# A block has the content only if its SHA-256 is the noted one: a text that was cut or redacted is
# not the file. A recovered file is written back to its folder.

GONE = "the file is no longer there, and what was kept of it is gone or damaged too"


def noted_digest(path: FilePath, state: State) -> str:
    """Return the SHA-256 of the newest content that a block notes; "" where none does."""
    metas = (entry.block.meta for entry in reversed(state.at(str(path))))
    contents = (meta.get("digest") for meta in metas if meta.get("role") == "content")
    return next((digest for digest in contents if isinstance(digest, str)), "")


def file_content(path: FilePath, state: State, holdings: Holdings) -> bytes | None:
    """Return the content of a file of a turn, from its folder or, on another machine, as kept."""
    content = holdings.read(path)
    if content is None and (noted := _noted(path, state)):
        content = recovered(path, noted, state, holdings)
    return content


def _noted(path: FilePath, state: State) -> str:
    return noted_digest(path, state) or str(digest_of(path, state).get("sha256", ""))


def recovered(path: FilePath, digest: str, state: State, holdings: Holdings) -> bytes | None:
    """Return the content with that digest, and write it back; `None` where it is lost."""
    try:
        content = holdings.artifacts.read(digest)
    except (TimelineError, OSError):
        # Newest first. The digest decides: a block may hold a cut or redacted text of the file.
        contents = (_content(entry.block) for entry in reversed(state.at(str(path))))
        same = (one for one in contents if one and sha256(one).hexdigest() == digest)
        content = next(same, None)
    if content is not None:
        with suppress(ToolError, OSError):
            holdings.files.write(path, content)
    return content


def _content(block: Block) -> bytes:
    if block.base64 is None:
        return (block.text or "").encode(errors="replace")
    with suppress(ValueError):
        return b64decode(block.base64)
    return b""


# --- Paths as a model requests them, which it may spell in more than one way ---
#
#     fi:turn_1.files/a.md    turn_1/files/a.md         the same file
#     so:sources_pool[1,2]    so:sources_pool[1-99]     the same rows, if there are two
#
# A selector is intersected with the pool, and never reaches beyond it.
#
# A list of paths may come as one text: a path on each line, with or without `- `, paths side by
# side, a JSON list, `paths: […]`. A path that a bracket or a quote has cut off is repaired.

_LABEL = re.compile(r"\s*paths\s*[:=]")
_BULLET = re.compile(r"(?:[-*•]|[0-9]{1,3}[.)])(?:[ \t]+|\Z)")
_BETWEEN = re.compile(r"[,\s]+(?=[\"'`]?(?:ar|fi|sk|so|tc):)")
_AROUND = " \t\r\n\"'`,"


def asked_paths(given: Iterable[str], known: Callable[[str], bool]) -> list[str]:
    """Return the paths in a list, or in the text of one; those that are `known` stay as
    they are.
    """
    items = list(given)
    if all(map(known, items)):
        return items
    text = _LABEL.sub("", "\n".join(items), count=1)
    listed = _json_list(text)
    if listed is not None:
        return listed
    return [path for line in text.split("\n") for path in _on_line(line.strip(), known)]


def _json_list(text: str) -> list[str] | None:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("paths")
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return items if all(isinstance(one, str) for one in items) else None


def _on_line(line: str, known: Callable[[str], bool]) -> Iterator[str]:
    # A file name may contain blanks and commas, so a whole line that is a known path is not split.
    if known(line):
        yield line
        return
    for piece in _BETWEEN.split(_BULLET.sub("", line, count=1)):
        if path := _whole(piece.strip(_AROUND)):
            yield path


def _whole(piece: str) -> str:
    """Return a path without the brackets around it, and with the one that a header could
    not hold.
    """
    path = piece.lstrip("[{").strip(_AROUND)
    if "[" not in path:
        return path.rstrip("]}").strip(_AROUND)
    return f"{path.partition(']')[0]}]" if path.startswith("so:") else path


def path_of(text: str) -> Path | None:
    """Return the path that a text denotes, on the timeline or on disk; `None` if it is neither."""
    for read in (parse_path, parse_physical):
        try:
            return read(text)
        except BadPath:
            continue
    return None


def spellings(path: Path, state: State) -> tuple[str, ...]:
    """Return the paths at which the denoted blocks may stand."""
    if not isinstance(path, SourcesPath):
        return (str(path),)
    known = [row.sid for row in state.pool.select(path.ranges)]
    return (str(path), rows_path(known)) if known else (str(path),)


def rows_path(sids: Iterable[int]) -> str:
    """Return the path of these rows of the sources pool, in its shortest spelling."""
    return str(SourcesPath(ranges_of(sids)))


# --- Lookup of paths, as blocks that can be brought before the model again ---

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


class PathLookup(msgspec.Struct, frozen=True, kw_only=True):
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

    def find(self, path: Path) -> PathLookup:
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

    def _file(self, path: FilePath) -> PathLookup:
        # A file that merely lies in the folder could have been put there by anyone; it is not part
        # of what happened, and is not shown.
        if not is_named(path, self.state, self.stamp.turn):
            return PathLookup(missing=(str(path),))
        about = digest_of(path, self.state)
        content = self.holdings.read(path)
        if content is None:
            # The digest that the timeline recorded decides what counts as the same file; a
            # recovered content is compared with it.
            noted = _noted(path, self.state)
            content = recovered(path, noted, self.state, self.holdings)
            if content is None and noted:
                return PathLookup(missing=(str(path),), why={str(path): GONE})
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
        return PathLookup(pieces=(piece,), notices=tuple(left_out(file)))

    def _turn_file(self, path: FilePath, content: bytes) -> TurnFile:
        mime = mime_of(path.name, content)
        kept = self.holdings.keep(path, content, mime)
        if isinstance(kept, TurnFile):
            return kept
        # A file that cannot be stored again can still be read.
        return TurnFile(path=path, content=content, mime=mime)

    def _newest(self, path: str, *, whole: bool = True) -> PathLookup:
        """Return the newest blocks at a path; without `whole`, only those with its content."""
        entries = self.state.at(path)
        keys = [call_key(entry.block) for entry in entries]
        blocks = [
            entry.block
            for entry, key in zip(entries, keys, strict=True)
            if key == keys[-1] and (whole or _holds_content(entry.block))
        ]
        if not blocks:
            return PathLookup(missing=(path,))
        return PathLookup(pieces=tuple(Piece(path, (self._copy(block),)) for block in blocks))

    def _copy(self, block: Block) -> Block:
        return self.stamp.block(
            "react.tool.result",
            path=block.path,
            mime=block.mime,
            text=block.text,
            base64=block.base64,
            meta={**block.meta, "role": _role(block)},
        )

    def _sources(self, path: SourcesPath) -> PathLookup:
        rows = self.state.pool.select(path.ranges)
        if not rows:
            return PathLookup(missing=(str(path),))
        others = [row for row in rows if not _file_of(row)]
        found = self._files([row for row in rows if _file_of(row)])
        return _together([*found, self._rows(others)] if others else found)

    def _files(self, rows: list[Source]) -> list[PathLookup]:
        """Return the files of rows, until they exceed what one call may bring."""
        found: list[PathLookup] = []
        tokens = size = 0
        for at, row in enumerate(rows):
            # Checked before each file is loaded: a selector such as 1-999 must not read a thousand
            # files.
            if tokens >= MAX_TOKENS or size >= MAX_SIZE:
                rest = rows_path(one.sid for one in rows[at:])
                return [*found, PathLookup(left_out=(rest,))]
            path = _file_of(row)
            found.append(PathLookup() if path is None else self._file(path))
            tokens += sum(map(self.cost, found[-1].pieces))
            size += sum(piece.size for piece in found[-1].pieces)
        return found

    def cost(self, piece: Piece) -> int:
        """Return the tokens of a piece."""
        return sum(cost_of(block, self.holdings.tokens) for block in piece.blocks)

    def _rows(self, rows: list[Source]) -> PathLookup:
        """Return one block of rows, as many as it may show."""
        shown = _first_rows(rows)
        path = rows_path(row.sid for row in shown)
        block = self.stamp.result("content", rows_text(shown, MAX_TEXT), mime=JSON, path=path)
        rest = [row.sid for row in rows[len(shown) :]]
        return PathLookup(
            pieces=(Piece(path, (block,)),), left_out=(rows_path(rest),) if rest else ()
        )

    def _skill(self, path: SkillPath) -> PathLookup:
        return PathLookup(
            pieces=tuple(self._active(skill) for skill in self.skills.resolve(path.id)),
            missing_skills=tuple(f"sk:{id}" for id in self.skills.missing(path.id)),
        )

    def _active(self, skill: Skill) -> Piece:
        path = f"sk:{skill.id}"
        text = f"ACTIVE skill {path}: {skill.title}\n\n{skill.text}"
        block = self.stamp.result("content", text, mime="text/markdown", path=path)
        return Piece(path, (block,))


def _together(founds: Iterable[PathLookup]) -> PathLookup:
    parts = list(founds)
    return PathLookup(
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
