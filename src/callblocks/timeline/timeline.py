"""One timeline of a store.

with Timeline.open("state/timeline.sqlite", "talk") as timeline:
    timeline.append([block])
    async for entry in timeline.follow(after=12): ...
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, Self

from callblocks.core.blocks import Block, Entry
from callblocks.core.paths import FilePath
from callblocks.timeline.artifacts.mime import is_shown_binary
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.store import Head, Store, check_name
from callblocks.timeline.log.verify import Finding, verify

__all__ = (
    "APPROVALS",
    "ARTIFACTS",
    "JOURNAL",
    "PAGES",
    "TIMELINES",
    "TIMELINE_CODES",
    "TURNS",
    "Timeline",
    "Tokens",
    "TurnFiles",
    "cost_of",
    "turns_folder",
)


class Timeline:
    """A name in a store; an invalid name is a `TimelineError` (`bad_name`)."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = check_name(name)

    @classmethod
    def open(cls, target: str | os.PathLike[str], name: str) -> Self:
        """Return the timeline in the store at a path or an address; closing it closes the store."""
        check_name(name)
        return cls(open_store(target), name)

    def append(self, blocks: Iterable[Block], expected: int | None = None) -> list[Entry]:
        """Write blocks at the end, all or none; they are on disk when this returns.

        With `expected`, a timeline that does not have exactly this many blocks is a `conflict`.
        """
        return self.store.append(self.name, blocks, expected)

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
#
# Two timelines never share a folder of turns. No name has a `+`, and a password is not part of the
# place, so that a new password changes nothing.

APPROVALS = "approvals.sqlite"
ARTIFACTS = "artifacts"
JOURNAL = "journal.sqlite"
PAGES = "pages"
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
