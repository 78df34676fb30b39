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

from callblocks.core.blocks import Block, Entry
from callblocks.core.json_values import json_text, whole
from callblocks.core.outcomes import Failure, Notice
from callblocks.core.paths import MessagePath, Path
from callblocks.core.text import brief
from callblocks.timeline.codec.call_blocks import TRUNCATED, Stamp
from callblocks.timeline.recall.lookup import (
    MAX_SIZE,
    MAX_TOKENS,
    Finder,
    PathLookup,
    Piece,
    path_of,
    spellings,
)
from callblocks.timeline.timeline import CallKey, State, Tokens, cost_of

__all__ = (
    "MAX_PATHS",
    "MAX_TOKENS",
    "Hidden",
    "Reading",
    "hide",
    "read_paths",
)

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

    def _take_all(self, found: PathLookup) -> None:
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


# --- Hiding the blocks at a path from the model: the rules, and the record ---
#
#     frozen | too old | the tail
#            ^         ^
#            |         at most `editable_tail_size_in_tokens` follow a block in the tail
#            the cache point
#
# Only the tail can be hidden. Frozen blocks are in the provider's caches, and hiding a block far
# back would make the provider process the rest of the prompt anew. The call that hides is on the
# timeline already when this is judged: it is no round yet, and does not count.
#
# The person's messages and the answers to them are never hidden: a prompt injection in a tool's
# text could make a model forget its task.
#
# Of several blocks at one path those in the tail are hidden. Nothing is edited: a record covers the
# blocks, and `react.read` brings a fresh copy.


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    """The result of hiding: a record to append, or a failure, or neither if it was hidden
    already.
    """

    path: str
    blocks: int = 0
    tokens_freed: int = 0
    record: Block | None = None
    failure: Failure | None = None


def hide(path: str, *, state: State, tokens: Tokens, stamp: Stamp) -> Hidden:
    """Judge whether the blocks at a path may be hidden; `stamp` is of the call that hides."""
    asked = path_of(path)
    ways = spellings(asked, state) if asked else ()
    # The spelling at which blocks exist becomes the path of the record, so that it covers them.
    known = next((way for way in ways if state.at(way)), None)
    if known is None:
        return _refused(path, "not_found")
    if isinstance(asked, MessagePath):
        return _refused(known, "hide_refused")
    visible = state.visible(known)
    if not visible:
        return Hidden(path=known)
    own = (stamp.turn, stamp.call)
    tail = _tail(state, tokens, own)
    if visible[-1].seq <= state.frozen:
        return _refused(known, "hide_before_cache")
    if visible[-1].seq < tail:
        return _refused(known, "hide_too_old")
    after = max(state.frozen, tail - 1)
    return _hidden(known, [one for one in visible if one.seq > after], after, state, tokens, stamp)


_WORDS = {
    "not_found": "nothing on this timeline is at {path}; give a path as the results show it",
    "hide_refused": "{path} is what was said between you and the person, and is never hidden; "
    "hide results or files",
    "hide_before_cache": "{path} is before the cache point and stays as it is; "
    "only what is newer can be hidden",
    "hide_too_old": "{path} is too far back to be hidden; only the newest blocks can be",
}


def _refused(path: str, code: str) -> Hidden:
    words = _WORDS[code].format(path=brief(path))
    return Hidden(path=path, failure=Failure(code=code, message=words))


def _tail(state: State, tokens: Tokens, own: CallKey) -> int:
    """Return the number from which on blocks can be hidden."""
    # Walk backwards and spend the budget; the block that exhausts it still belongs to the tail. A
    # hidden block costs only its placeholder, so hiding extends the tail.
    room = state.settings.editable_tail_size_in_tokens
    first = state.last + 1
    for entry in state.backwards():
        if room <= 0:
            break
        if (entry.block.turn_id, entry.block.call_id) != own:
            first = entry.seq
            room -= _cost(entry, state, tokens)
    return first


def _cost(entry: Entry, state: State, tokens: Tokens) -> int:
    placeholder = state.placeholders.get(entry.seq)
    return cost_of(entry.block, tokens) if placeholder is None else tokens.text(placeholder)


def _hidden(
    path: str, entries: list[Entry], after: int, state: State, tokens: Tokens, stamp: Stamp
) -> Hidden:
    placeholder = f"[hidden; react.read(paths={json_text([path])}) shows it again]"
    cost = sum(cost_of(entry.block, tokens) for entry in entries)
    record = stamp.block(
        "timeline.hidden",
        path=path,
        text=placeholder,
        meta={"after": after, "before": state.last + 1},
        author="timeline",
    )
    freed = cost - tokens.text(placeholder) * len(entries)
    return Hidden(path=path, blocks=len(entries), tokens_freed=max(freed, 0), record=record)
