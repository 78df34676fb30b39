"""Files of a store are cut, and bits of them turned: a committed start, or an error with a code."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from callblocks.core.blocks import Entry
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.log import Store
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import verify
from support.dying_writer import Order
from support.stores import block
from support.writer_forks import WriterForks

SEED = 4
CODES = {"store_damaged", "newer_schema", "store_unavailable"}
"""What opening a damaged file may say."""


class Remains:
    """What a killed writer left: a file, the log beside it, and what both of them hold."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "copy" / "timeline.sqlite"
        self.database = (folder / "timeline.sqlite").read_bytes()
        self.log = (folder / "timeline.sqlite-wal").read_bytes()
        with self.laid(self.database, self.log) as store:
            self.entries = list(store.entries("talk"))
            self.other = list(store.entries("other"))
            assert verify(store, "talk") == verify(store, "other") == []
        self.whole = self.place.read_bytes()
        """The file after all of the log went into it."""

    def lay(self, database: bytes, log: bytes = b"") -> Path:
        """Put these bytes where they can be opened."""
        shutil.rmtree(self.place.parent, ignore_errors=True)
        self.place.parent.mkdir()
        self.place.write_bytes(database)
        if log:
            Path(f"{self.place}-wal").write_bytes(log)
        return self.place

    def laid(self, database: bytes, log: bytes = b"") -> Store:
        return open_store(self.lay(database, log))


@pytest.fixture(scope="module")
def remains(tmp_path_factory: pytest.TempPathFactory) -> Remains:
    """Two timelines in the file, and a writer who died with the log not yet in the file."""
    folder = tmp_path_factory.mktemp("remains")
    path = folder / "timeline.sqlite"
    with open_store(path) as store:
        store.append("talk", [block(f"begin {at} {'a' * at * 9}") for at in range(60)])
        store.append("other", [block(f"other {at}") for at in range(20)])
    with WriterForks() as forks:
        forks.kill(Order(address=str(path), home=str(folder), number=1, producers=2, after=40))
    return Remains(folder)


def turned(content: bytes, *places: int, rng: Random) -> bytes:
    """The content with some bits of these bytes turned."""
    changed = bytearray(content)
    for place in places:
        changed[place] ^= rng.choice((1, 2, 4, 8, 16, 32, 64, 128, rng.randrange(1, 256)))
    return bytes(changed)


def check_start(store: Store, remains: Remains) -> int:
    """The timeline is a start of what was committed, whole in itself, and can be gone on with."""
    found = list(store.entries("talk"))
    assert found == remains.entries[: len(found)]
    assert verify(store, "talk") == []
    assert list(store.entries("other")) == remains.other
    store.append("talk", [block("more")], expected=len(found))
    assert verify(store, "talk") == []
    return len(found)


def cuts(log: bytes) -> Iterator[int]:
    """Lengths: the ends of some frames and what is beside them, and any others."""
    rng = Random(SEED)
    frames = list(range(32, len(log) + 1, 4096 + 24))
    for end in rng.sample(frames, 12):
        yield from (max(end - 1, 0), end, min(end + 1, len(log)), min(end + 24, len(log)))
    yield from (0, 1, 31, 32, len(log))
    yield from (rng.randrange(len(log)) for _ in range(20))


def test_a_log_that_was_cut_gives_a_committed_start(remains: Remains) -> None:
    counts: dict[int, int] = {}
    for length in sorted(cuts(remains.log)):
        with remains.laid(remains.database, remains.log[:length]) as store:
            counts[length] = check_start(store, remains)
    assert counts[0] == 60
    assert counts[len(remains.log)] == len(remains.entries) > 60
    assert list(counts.values()) == sorted(counts.values()), "a longer log holds no less"
    assert len(set(counts.values())) > 5


def test_a_log_with_turned_bits_gives_a_committed_start(remains: Remains) -> None:
    rng = Random(SEED)
    size = len(remains.log)
    places = [*range(32), *range(32, 56), *(rng.randrange(size) for _ in range(50))]
    for place in places:
        log = turned(remains.log, place, rng=rng)
        with remains.laid(remains.database, log) as store:
            count = check_start(store, remains)
        assert count <= len(remains.entries), f"byte {place}, seed {SEED}"


def survey(store: Store, name: str) -> tuple[list[Entry], str | None]:
    """All that can be read, and the error after it."""
    found: list[Entry] = []
    try:
        for entry in store.entries(name):
            found.append(entry)
            assert len(found) < 10_000
    except TimelineError as error:
        return found, error.code
    return found, None


def check_noticed(store: Store, remains: Remains) -> str:
    """What was changed is noticed: the timeline is not there, reading fails, or verify finds it."""
    said: list[str] = []
    for name, right in (("talk", remains.entries), ("other", remains.other)):
        found, code = survey(store, name)
        findings = verify(store, name)
        if found == right and code is None and not findings:
            said.append("well")
            continue
        is_gone = not found and code is None and not findings
        assert is_gone or findings, name
        if is_gone:
            assert name not in names(store)
        # Whatever looks like a block of ours is one, or is found.
        changed = {e.seq for e in found if e not in right and e.block.type != "timeline.damaged"}
        assert not changed or {one.code for one in findings} & {"chain_broken", "store_damaged"}
        said.append("gone" if is_gone else "found")
    return "/".join(said)


def names(store: Store) -> set[str]:
    """The timelines in the list; none if it cannot be read."""
    listed: set[str] = set()
    with told(listed):
        listed.update(one.name for one in store.names())
    return listed - CODES


@contextmanager
def told(codes: set[str]) -> Generator[None, None, None]:
    """Take the code of what is refused; nothing else may be raised."""
    try:
        yield
    except TimelineError as error:
        codes.add(error.code)


def look_at(remains: Remains, content: bytes) -> str:
    """What becomes of a damaged file: never an error of another kind, never a wrong block."""
    codes: set[str] = set()
    said = ""
    with told(codes), remains.laid(content) as store:
        said = check_noticed(store, remains)
        with told(codes):
            store.append("talk", [block("more")])
        # Reading again after a write, or the try of one, does no harm either.
        survey(store, "talk")
        survey(store, "other")
    assert codes <= CODES
    return said or "/".join(codes)


def test_every_turned_byte_of_the_head_of_the_file_is_harmless_or_noticed(
    remains: Remains,
) -> None:
    rng = Random(SEED)
    for place in range(108):
        try:
            look_at(remains, turned(remains.whole, place, rng=rng))
        except Exception as error:
            raise AssertionError(f"byte {place}, seed {SEED}") from error


def structure(content: bytes) -> list[int]:
    """Bytes that say where things are: the start of each page, and the ends of the small ones."""
    pages = range(0, len(content), 4096)
    return [page + at for page in pages for at in range(24)]


@pytest.mark.parametrize("number", [1, 3])
def test_turned_bytes_of_the_file_are_harmless_or_noticed(remains: Remains, number: int) -> None:
    rng = Random(SEED + number)
    told: dict[str, int] = {}
    size = len(remains.whole)
    # The first pages hold the tables and the list of timelines.
    pools = (structure(remains.whole), range(4096 * 4), range(size))
    for _ in range(150):
        places = [rng.choice(rng.choice(pools)) for _ in range(number)]
        try:
            said = look_at(remains, turned(remains.whole, *places, rng=rng))
        except Exception as error:
            raise AssertionError(f"bytes {places}, seed {SEED + number}") from error
        told[said] = told.get(said, 0) + 1
    assert told.get("well/well", 0) < 150
    assert len(told) > 3, told


def test_a_file_that_was_cut_is_harmless_or_noticed(remains: Remains) -> None:
    rng = Random(SEED)
    size = len(remains.whole)
    for length in (*range(0, 200, 20), *range(4096, size, 4096 * 2), rng.randrange(size)):
        look_at(remains, remains.whole[:length])
