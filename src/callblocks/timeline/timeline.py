"""A timeline of a store, and its state: a fold over its entries."""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol, Self, TypeAlias, cast

import msgspec

from callblocks.core.blocks import RECORDS, Block, Entry
from callblocks.core.paths import FilePath, Ranges, chosen
from callblocks.core.sources import HasFile, Source, merged, source_of
from callblocks.timeline.artifacts.media_types import is_shown_binary
from callblocks.timeline.branches import Branches
from callblocks.timeline.log.log import Head, Store, check_name
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import Finding, verify

__all__ = (
    "APPROVALS",
    "ARTIFACTS",
    "JOURNAL",
    "PAGES",
    "SEARCH",
    "TIMELINES",
    "TIMELINE_CODES",
    "TURNS",
    "CacheSettings",
    "CallKey",
    "Claim",
    "Rounds",
    "SourcesPool",
    "State",
    "Timeline",
    "Tokens",
    "TurnFiles",
    "Uses",
    "call_key",
    "cost_of",
    "turns_folder",
)

# --- One timeline of a store ---
#
# Where many machines write, a worker has a claim while it runs a turn: the owner that is written
# with the turn, and the fence that each append carries.
#
# with Timeline.open("state/timeline.sqlite", "talk") as timeline:
#     timeline.append([block])
#     async for entry in timeline.follow(after=12): ...


class Claim(NamedTuple):
    """A worker's claim on a turn; the empty one is that of a program that writes alone."""

    owner: str = ""
    fence: int = 0


class Timeline:
    """A name in a store; an invalid name is a `TimelineError` (`bad_name`).

    `fence` is the number of the turn's owner where many machines write; each append carries it.
    """

    def __init__(self, store: Store, name: str, fence: int = 0) -> None:
        self.store = store
        self.name = check_name(name)
        self.fence = fence

    @classmethod
    def open(cls, target: str | os.PathLike[str], name: str) -> Self:
        """Return the timeline in the store at a path or an address; closing it closes the store."""
        check_name(name)
        return cls(open_store(target), name)

    def append(self, blocks: Iterable[Block], expected: int | None = None) -> list[Entry]:
        """Write blocks at the end, all or none; they are on disk when this returns.

        With `expected`, a timeline that does not have exactly this many blocks is a `conflict`.
        """
        return self.store.append(self.name, blocks, expected, self.fence)

    def entries(self, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """Return the entries with a number above `after`."""
        return self.store.entries(self.name, after, limit)

    def head(self) -> Head:
        """Return the number of blocks, and the hash of the last."""
        return self.store.head(self.name)

    def follow(self, after: int = 0) -> AsyncGenerator[Entry, None]:
        """Yield the entries above `after`, and then each new one as it comes."""
        return self.store.follow(self.name, after)

    def verify(self, known: Head | None = None) -> list[Finding]:
        """Return every fault of the timeline; nothing, if all is well.

        `known` is an earlier end of it, noted elsewhere: with it, a cut end is noticed as well.
        """
        return verify(self.store, self.name, known)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


# --- Codes of a `TimelineError`, with their meaning ---

TIMELINE_CODES = {
    "unknown_timeline": "no timeline of that name is in the store",
    "bad_name": "the name of a timeline is letters, digits and . _ -",
    "conflict": "another writer was first: the timeline is longer than expected",
    "fenced": "another worker has taken the turn over; nothing was written",
    "timeline_exists": "an import would overwrite a timeline of that name",
    "block_too_large": "a block passes the limit; keep what is large as an artifact",
    "store_unavailable": "the store cannot be opened or reached",
    "store_busy": "another writer held the store for too long",
    "store_full": "no room is left on the disk; nothing was written",
    "store_damaged": "the store is no database, or parts of it cannot be read",
    "newer_schema": "the store was written by a newer version of callblocks",
    "chain_broken": "a hash does not fit: a block was changed, lost or put in",
    "damaged_block": "a block is there, and cannot be read",
    "bad_import": "the file is no export of a timeline",
    "artifact_missing": "the file of an artifact is not there",
    "artifact_damaged": "the content of an artifact is not what its digest says",
}


# --- The layout of a state folder ---
#
#     timelines.sqlite         the store, unless another one is named
#     timelines/NAME           the files of the turns of a timeline of that store
#     timelines/NAME+0f1e2d…   those of a timeline of another store, with a hash of its place
#     artifacts                kept files, by their digest, for all of them
#     approvals.sqlite         questions to a person, and the answers
#     journal.sqlite           changes that calls were about to make, and their outcomes
#     pages                    cached web pages; may be deleted at any time
#     search.sqlite            the index of what was said; may be deleted at any time
#
# Two timelines never share a folder of turns. No name has a `+`, and a password is not part of the
# place, so that a new password changes nothing.

APPROVALS = "approvals.sqlite"
ARTIFACTS = "artifacts"
JOURNAL = "journal.sqlite"
PAGES = "pages"
SEARCH = "search.sqlite"
TIMELINES = "timelines.sqlite"
TURNS = "timelines"

_DIGITS = 16


def turns_folder(
    folder: str | os.PathLike[str], name: str, store: str | os.PathLike[str] | None = None
) -> Path:
    """Return the folder of the files of a timeline's turns; `store` is a path or an address."""
    top = Path(folder) / TURNS
    place = None if store is None else _place(os.fspath(store))
    # Real paths are compared, so that a link to the own store does not look like another store.
    if place is None or place == os.path.realpath(Path(folder) / TIMELINES):
        return top / name
    return top / f"{name}+{_hash(place)}"


def _place(store: str) -> str:
    from callblocks.timeline.log.open_store import server_address

    address = server_address(store)
    return os.path.realpath(store) if address is None else _without_password(address)


def _without_password(address: str) -> str:
    from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    query = [pair for pair in parse_qsl(parts.query) if "password" not in pair[0].lower()]
    netloc = f"{user.partition(':')[0]}{at}{host}"
    return urlunsplit(("postgresql", netloc, parts.path, urlencode(query), ""))


def _hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]


# --- The files of turns, as the timeline needs them: `turn_1/files/report.md` ---
#
# Only a regular file inside the folder of its turn counts: no link is followed, and a device is no
# file.


class TurnFiles(Protocol):
    """Access to files by their path on the timeline."""

    def read(self, path: FilePath) -> bytes | None:
        """Return the content, or `None` where no such file can be read."""
        ...

    def write(self, path: FilePath, content: bytes) -> None:
        """Write a file whole or not at all; raise `ToolError` or `OSError` where that fails."""
        ...

    def turns(self) -> Iterable[str]:
        """Return the turns that have a folder for files already."""
        ...

    def claim(self, turn: str) -> bool:
        """Create the folder for the files of a turn; return false where it exists."""
        ...

    def give_back(self, turn: str) -> None:
        """Remove the attachments of a turn that was claimed and not taken."""
        ...


# --- Token costs: counted by the caller's tokenizer, else characters / 4 ---
#
# The name of the method is recorded with a timeline, so that its counts stay comparable. Binary
# content is estimated by its type: nothing is decoded, and nothing is fetched.

# The approximate cost of an image once it is scaled to the size that models use.
_PICTURE = 1_600

# The approximate cost of the text and the image of one page of a PDF.
_PAGE = 2_000

_BYTES_OF_A_PAGE = 50_000
# No model reads more pages of one document.
_PAGES = 100


class Tokens:
    """A method of counting: `Tokens()`, or `Tokens(tokenizer.count, name="o200k")`."""

    def __init__(self, count: Callable[[str], int] | None = None, name: str = "") -> None:
        self._count = count
        self.name = name or ("chars/4" if count is None else "custom")

    # At least one token for a text that is not empty: a budget of zero-cost blocks would never end.
    def text(self, text: str) -> int:
        """Return the tokens of a text; a text that is not empty has at least one."""
        if self._count is not None:
            return self._count(text)
        return -(-len(text) // 4)

    def binary(self, size: int, mime: str) -> int:
        """Return an estimate for an image or a PDF; 0 for a type that a model is not shown."""
        if size <= 0 or not is_shown_binary(mime):
            return 0
        if mime == "application/pdf":
            return _PAGE * min(_PAGES, -(-size // _BYTES_OF_A_PAGE))
        return _PICTURE


# --- The cost of a block: the tokens of its text, or an estimate for an image or a PDF ---


def cost_of(block: Block, tokens: Tokens) -> int:
    """Return the tokens of a block's content; 0 for an empty one."""
    if block.text is not None:
        return tokens.text(block.text)
    if block.base64 is not None:
        return tokens.binary(len(block.base64) * 3 // 4, block.mime)
    return 0


# --- Uses of an id in a turn: how many names its calls have taken, and which still run ---
#
#     abc, abc-2, abc-3        taken: 3
#     abc-3 has no result      running: ["abc-3"]
#
# A taken name stays taken, and a result is never removed. So each name is visited once, however
# often the id comes again.


class Uses:
    """The uses of an id, as far as the timeline was read."""

    def __init__(self) -> None:
        self.taken = 0
        # The name of the use that follows, once it was looked for.
        self.free = ""
        self.running: list[str] = []


# --- Rounds of a timeline, and the point up to which it is frozen for prompt caches ---
#
# A round is one call with its results. It counts once its results are there, so rounds stand in the
# order in which they ended, and a running call is no round yet:
#
#     call a · call b · result b · result a        round 1 is b, round 2 is a
#
# The cache point is the end of round n - offset. Blocks at or before it are never shown differently
# again, because the provider's cache holds exactly those bytes, and changing one byte would make
# the provider process everything after it anew. So the record of what a call hides is written
# before its results: its own round does not count yet then.

# A call in a timeline: its turn and its id. Models number their calls anew in each turn.
CallKey: TypeAlias = tuple[str, str]

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class CacheSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings: how far back the model may hide blocks, and where the cache point stands.

    There is a cache point once there are `cache_point_min_rounds` rounds, and more than
    `cache_point_offset_rounds`, which is the number of the newest rounds that stay behind it.
    """

    editable_tail_size_in_tokens: _Count = 2000
    cache_point_min_rounds: _Count = 2
    cache_point_offset_rounds: _Count = 4


class Rounds:
    """The counter of rounds, fed with entries in their order."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._asked: set[CallKey] = set()
        self._last: CallKey | None = None
        self._going_on = False

    @property
    def count(self) -> int:
        """Return the number of rounds."""
        return len(self._ends)

    def feed(self, entry: Entry) -> None:
        """Take the next entry."""
        key = call_key(entry.block)
        # Strategy: `_asked` are calls without a result, `_last` is the call of the newest round,
        # `_going_on` is true while its results continue without a block of another call in between.
        if entry.block.type == "react.tool.call":
            self._ask(key)
        # Several results of one call in a row extend its round; a result of another call ends it.
        elif self._going_on and key == self._last:
            self._ends[-1] = entry.seq
        elif entry.block.type == "react.tool.result" and key in self._asked:
            self._asked.discard(key)
            self._ends.append(entry.seq)
            self._last, self._going_on = key, True
        else:
            self._going_on = False

    def _ask(self, key: CallKey) -> None:
        """Note a call: its results end a round of its own, also where its id was used before."""
        self._asked.add(key)
        self._going_on = False

    def cache_point(self, settings: CacheSettings) -> int:
        """Return the number of the last entry of round n - offset; 0 where there is no such
        round.
        """
        count = len(self._ends)
        index = count - max(settings.cache_point_offset_rounds, 0)
        if count < settings.cache_point_min_rounds or index < 1:
            return 0
        return self._ends[index - 1]


def call_key(block: Block) -> CallKey:
    """Return the call that a block belongs to; its id is empty for a block of no call."""
    return block.turn_id, block.call_id


# --- The sources of a timeline, each under a number that never changes ---
#
#     sids = pool.add(rows)              a known source keeps its number, a new one gets the next
#     text = pool.record()               what is new, for one block of type `timeline.sources`
#     pool.apply(block)                  each such block of the timeline, in its order
#
# Invariants
# - The blocks alone determine the pool, so a restarted program has the same numbers.
# - Rows that were added and not yet applied are a plan. `forget()` drops it where the block could
#   not be written, because another writer was first: apply that writer's blocks, and add again.
# - The same canonical URL, or the same file, is the same source (see `callblocks.core.sources`). A
#   tool's row is about a file only where `has_file` confirms that there is one.
# - In a damaged timeline a number may denote two sources: the first keeps it, the other is left out
#   of the pool and listed in `conflicts`, since a citation may have meant the first. So is a number
#   that is too large to be cited.

# The largest number that is given or accepted.
_MOST = 999_999_999


class SourcesPool:
    """One allocator. `conflicts` are numbers in damaged blocks that the pool did not take."""

    def __init__(self, has_file: HasFile | None = None) -> None:
        self._has_file = has_file
        self.conflicts: list[int] = []
        self._rows: dict[int, Source] = {}
        self._sids: dict[str, int] = {}
        self._last = 0
        self._plan: dict[int, Source] = {}
        self._planned: dict[str, int] = {}
        self._last_planned = 0
        self._free = itertools.count(1)

    @property
    def sids(self) -> set[int]:
        """Return every number in use."""
        return self._rows.keys() | self._plan.keys()

    def get(self, sid: int) -> Source | None:
        """Return the source of a number, with everything known of it."""
        return self._plan.get(sid) or self._rows.get(sid)

    def find(self, row: Source | Mapping[str, Any]) -> Source | None:
        """Return the source that a row is about, if it is known."""
        return self._known(self.read(row))

    def read(self, row: Source | Mapping[str, Any]) -> Source:
        """Return a row as a source, without giving it a number."""
        return source_of(row, self._has_file)

    def select(self, ranges: Ranges) -> list[Source]:
        """Return the sources in the ranges, by number; skip unused numbers."""
        found = (self.get(sid) for sid in chosen(ranges, self.sids))
        return [source for source in found if source is not None]

    def add(self, rows: Iterable[Source | Mapping[str, Any]]) -> list[int]:
        """Return the number of each row's source, in the order of the rows."""
        return [self._add(self.read(row)) for row in rows]

    def record(self) -> str:
        """Return new and changed rows as JSON, the text of a `timeline.sources` block; ""
        for none.
        """
        rows = [self._plan[sid] for sid in sorted(self._plan)]
        return msgspec.json.encode(rows).decode() if rows else ""

    def forget(self) -> None:
        """Drop the plan: its numbers are free again."""
        self._plan, self._planned, self._last_planned = {}, {}, 0

    def apply(self, record: Block) -> None:
        """Take the rows of a `timeline.sources` block; skip unreadable ones."""
        for row in _read(record.text or ""):
            self._take(row)
        # Another writer's rows may use the planned numbers, so the plan is rebuilt against them.
        plan = self._plan
        self.forget()
        for row in plan.values():
            self._plan_again(row)

    def _add(self, row: Source) -> int:
        known = self._known(row)
        if known is None:
            known = msgspec.structs.replace(row, sid=self._next())
            self._lay(known)
        else:
            self._lay_changes(known, row)
        return known.sid

    def _lay(self, row: Source) -> None:
        self._plan[row.sid] = row
        self._last_planned = max(self._last_planned, row.sid)
        self._planned.setdefault(row.key, row.sid)

    def _lay_changes(self, known: Source, row: Source) -> None:
        changed = merged(known, row)
        if changed != known:
            self._lay(changed)

    def _plan_again(self, row: Source) -> None:
        """Keep a planned row, unless the timeline has it by now, or uses its number for another
        source.
        """
        known = self._rows.get(row.sid)
        if known is None:
            # A planned number is only kept while it is still beyond the end of the timeline's own
            # numbers.
            if row.sid > self._last and self._owner(row.key) is None:
                self._lay(row)
        elif known.key == row.key:
            self._lay_changes(known, row)

    def _take(self, row: Source) -> None:
        known = self._rows.get(row.sid, row)
        # Two sources under one number: the first keeps it, because existing citations may mean it.
        if known.key != row.key or row.sid > _MOST:
            self.conflicts.append(row.sid)
            return
        self._rows[row.sid] = merged(known, row)
        self._last = max(self._last, row.sid)
        self._sids.setdefault(row.key, row.sid)

    def _next(self) -> int:
        """Return the number after the last; where a damaged block took the very last, a
        free one.
        """
        following = max(self._last, self._last_planned) + 1
        if following <= _MOST:
            return following
        return next(sid for sid in self._free if self.get(sid) is None)

    def _known(self, row: Source) -> Source | None:
        sid = self._owner(row.key)
        return None if sid is None else self.get(sid)

    def _owner(self, key: str) -> int | None:
        return self._sids.get(key, self._planned.get(key))


def _read(text: str) -> Iterator[Source]:
    """Yield the readable rows of a record."""
    try:
        rows = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return
    for row in cast("list[Any]", rows) if isinstance(rows, list) else []:
        try:
            source = msgspec.convert(row, Source)
        except msgspec.MsgspecError:
            continue
        if source.sid >= 1:
            yield source


# --- The state of a timeline: blocks by path, hidden blocks, rounds, sources, turns ---
#
#     state = State()
#     state.feed(timeline.entries(after=state.last))
#
# Invariants
# - The state is a fold over the entries in their order, and depends on nothing else, so a restarted
#   program has the same state.
# - Each entry costs the same, however long the timeline is.
# - A `timeline.hidden` record covers the blocks at its path whose number is between `after` and
#   `before` of its meta, except frozen ones: all up to `frozen`, the furthest cache point that
#   there ever was. Later settings do not move `frozen` back.


class State:
    """A timeline read so far.

    `turns` are those of any block, also of a record: they are taken; each has the number of its
    first block. `uses` is what is known of the ids in them, for naming calls. `hidden` maps the
    number of each hidden block to the number of the record over it. `settings` are those of the
    timeline, else those given. `owners` are the programs that took turns, where recorded, in that
    order; `ended` are the turns that are over, with their status. `branches` knows what each turn
    follows.
    """

    def __init__(self, settings: CacheSettings | None = None) -> None:
        self.last = 0
        self.settings = settings or CacheSettings()
        self.rounds = Rounds()
        self.frozen = 0
        self.pool = SourcesPool(lambda path: path in self._at)
        self.turns: dict[str, int] = {}
        self.owners: dict[str, str] = {}
        self.ended: dict[str, str] = {}
        self.uses: defaultdict[CallKey, Uses] = defaultdict(Uses)
        self.branches = Branches()
        self.hidden: dict[int, int] = {}
        self.placeholders: dict[int, str] = {}
        self._shown: list[Entry] = []
        self._at: dict[str, list[Entry]] = {}
        self._visible: dict[str, list[Entry]] = {}

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take the entries that follow."""
        for entry in entries:
            self.rounds.feed(entry)
            self.last = entry.seq
            self.turns.setdefault(entry.block.turn_id, entry.seq)
            if entry.block.type in RECORDS:
                self._record(entry)
            else:
                self._show(entry)
            # Monotonic on purpose: what a provider has cached stays cached, whatever later settings
            # say.
            self.frozen = max(self.frozen, self.rounds.cache_point(self.settings))

    def at(self, path: str) -> list[Entry]:
        """Return every block at a path, hidden or not, oldest first."""
        return list(self._at.get(path, ()))

    def has(self, path: str) -> bool:
        """Return whether any block was written at a path."""
        return path in self._at

    def visible(self, path: str) -> list[Entry]:
        """Return the blocks at a path that are not hidden, oldest first."""
        return list(self._visible.get(path, ()))

    def backwards(self) -> Iterable[Entry]:
        """Return all blocks that are no records, newest first."""
        return reversed(self._shown)

    def _show(self, entry: Entry) -> None:
        self._shown.append(entry)
        if entry.block.type == "user.prompt":
            self.branches.feed(entry.block)
        if entry.block.path:
            self._at.setdefault(entry.block.path, []).append(entry)
            self._visible.setdefault(entry.block.path, []).append(entry)

    def _record(self, entry: Entry) -> None:
        match entry.block.type:
            case "timeline.hidden":
                self._hide(entry)
            case "timeline.sources":
                self.pool.apply(entry.block)
            case "timeline.turn":
                self.ended[entry.block.turn_id] = str(entry.block.meta.get("status", ""))
            case "timeline.settings":
                self._set(entry.block)
            case _:
                pass

    def _set(self, record: Block) -> None:
        self.settings = _settings(record, self.settings)
        owner = record.meta.get("owner")
        if isinstance(owner, str):
            # A program that resumes an interrupted turn owns it then, and the turn is not over.
            self.owners.pop(record.turn_id, None)
            self.owners[record.turn_id] = owner
            self.ended.pop(record.turn_id, None)

    def _hide(self, entry: Entry) -> None:
        after = max(self.frozen, _number(entry.block.meta.get("after"), 0))
        before = _number(entry.block.meta.get("before"), entry.seq)
        # Only visible blocks are kept in this list, so a block is hidden at most once and the total
        # cost of all records is linear.
        visible = self._visible.get(entry.block.path, [])
        newer: list[Entry] = []
        # From the end, so that frozen blocks are not visited again with each record.
        while visible and visible[-1].seq > after:
            block = visible.pop()
            if block.seq < before:
                self.hidden[block.seq] = entry.seq
                self.placeholders[block.seq] = entry.block.text or ""
            else:
                newer.append(block)
        visible.extend(reversed(newer))


def _number(value: Any, default: int) -> int:
    return value if type(value) is int else default


def _settings(record: Block, settings: CacheSettings) -> CacheSettings:
    """Return the settings of a record; the previous ones where it has none that can be read."""
    try:
        said = msgspec.json.decode(record.text or "{}")
        return msgspec.convert(said["cache"], CacheSettings)
    except (msgspec.MsgspecError, KeyError, TypeError):
        return settings
