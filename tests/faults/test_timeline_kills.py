"""Writers of a timeline are killed, again and again: nothing that was acknowledged is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from callblocks.core.blocks import Entry
from callblocks.runtime.journal import Journal
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.log.log import Head
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import artifact_of, verify, verify_artifacts
from callblocks.timeline.timeline import Timeline
from support.dying_writer import (
    ARTIFACT_POINTS,
    CALL_POINTS,
    COMMIT_POINTS,
    FILE_POINTS,
    Order,
    Point,
    call_of,
    play,
)
from support.recorded_sessions import Session
from support.stores import KINDS, block, fresh_address
from support.writer_forks import WriterForks

KILLS = 100
SEED = 4


@pytest.fixture(scope="module")
def forks() -> Iterator[WriterForks]:
    with WriterForks() as forks:
        yield forks


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with fresh_address(request.param, tmp_path) as address:
        yield address


class Witness:
    """Knows what was acknowledged, and looks whether it is there."""

    def __init__(self, address: str, home: Path) -> None:
        self.address = address
        self.artifacts = Artifacts(home / "artifacts")
        self.seen = Head(0, "")
        self.pending: list[Entry] = []
        self.acknowledged: Counter[str] = Counter()

    def hear(self, appends: list[list[Entry]]) -> None:
        """Take the acknowledgements of one that died."""
        for entries in appends:
            self.pending += entries
            self.acknowledged[producer_of(entries[-1])] += 1

    def look(self) -> None:
        """Everything acknowledged is there in one chain, and what was there is as it was."""
        with open_store(self.address) as store:
            assert verify(store, "talk") == []
            before = self.seen.count
            if before:
                assert next(store.entries("talk", before - 1)).hash == self.seen.hash
            fresh = list(store.entries("talk", before))
        assert [entry.seq for entry in fresh] == list(range(before + 1, before + len(fresh) + 1))
        for entry in self.pending:
            assert fresh[entry.seq - before - 1] == entry
        assert list(verify_artifacts(fresh, self.artifacts)) == []
        if fresh:
            self.seen = Head(fresh[-1].seq, fresh[-1].hash)
        self.pending = []

    def look_at_order(self) -> None:
        """Each producer's appends are there whole and in order: those acknowledged, and at most
        the one it waited for when it died."""
        with open_store(self.address) as store:
            blocks = [entry for entry in store.entries("talk") if entry.block.type == "react.notes"]
        found: dict[str, list[str]] = {}
        for entry in blocks:
            found.setdefault(producer_of(entry), []).append(names_of(entry))
        for producer, names in found.items():
            appends = [name for name in names if name.partition(" ")[2].startswith("1/")]
            assert names == [each for name in appends for each in whole(name)], producer
            assert [int(name.split(" ")[0]) for name in appends] == list(range(len(appends)))
            assert 0 <= len(appends) - self.acknowledged[producer] <= 1, producer


def producer_of(entry: Entry) -> str:
    """Writer and producer, of a block such as `12.3.7.1/2 xxx`."""
    return ".".join((entry.block.text or "").split(".")[:2])


def names_of(entry: Entry) -> str:
    """Which append of its producer it belongs to, and which part of it it is."""
    name = (entry.block.text or "").split(" ")[0].split(".")
    return f"{name[2]} {name[3]}"


def whole(name: str) -> list[str]:
    """All parts of the append whose first part has this name."""
    at, part = name.split(" ")
    number = part.partition("/")[2]
    return [f"{at} {each}/{number}" for each in range(1, int(number) + 1)]


def orders(address: str, home: Path) -> list[Order]:
    """A hundred times SIGKILL: at each named point some times, and most at random."""
    rng = Random(SEED)

    def die(point: Point = "", *, producers: int = 1, calls: bool = False) -> Order:
        few = calls and point
        return Order(
            address=address,
            home=str(home),
            number=0,
            work="calls" if calls else "blocks",
            producers=producers,
            point=point,
            after=rng.randrange(3 if few else 12),
            delay=rng.random() * rng.choice((0.0, 0.002, 0.02)),
        )

    chosen = [die(point, calls=True) for point in (*CALL_POINTS, *ARTIFACT_POINTS) * 3]
    chosen += [die(point, producers=number) for point in COMMIT_POINTS for number in (1, 1, 5, 5)]
    chosen += [die(calls=True) for _ in range(10)]
    chosen += [die(producers=rng.choice((1, 5))) for _ in range(KILLS - len(chosen))]
    # Inside a write it is the limit of the file that kills: these come on top.
    if "://" not in address:
        chosen += [die(point) for point in FILE_POINTS * 3]
        chosen += [die("in a write of the log", producers=5) for _ in range(2)]
    rng.shuffle(chosen)
    return [replace(order, number=number) for number, order in enumerate(chosen)]


def test_after_a_hundred_deaths_every_acknowledged_block_is_there(
    address: str, tmp_path: Path, forks: WriterForks
) -> None:
    witness, rng = Witness(address, tmp_path), Random(SEED)
    for order in orders(address, tmp_path):
        with ExitStack() as stack:
            if rng.random() < 0.3:
                # Somebody else has the store open.
                stack.enter_context(open_store(address)).head("talk")
            witness.hear(forks.kill(order))
        # Now and then the next writer finds it as the dead one left it.
        if rng.random() < 0.7:
            witness.look()
    with open_store(address) as store:
        store.append("talk", [block("last.0.0.1/1 the last")])
    witness.look()
    witness.look_at_order()
    assert witness.acknowledged.total() > KILLS


@pytest.mark.parametrize("point", [*CALL_POINTS, *ARTIFACT_POINTS])
def test_a_call_cut_short_is_gone_on_with_and_written_once(
    address: str, tmp_path: Path, forks: WriterForks, point: Point
) -> None:
    home = str(tmp_path)
    # The writer of an even number attaches nothing before its first call.
    acknowledged = forks.kill(
        Order(address=address, home=home, number=2, work="calls", point=point)
    )
    assert [entry.block.type for entry in acknowledged[-1]][-1] == "react.tool.call"
    with Timeline.open(address, "talk") as timeline:
        session, journal = Session(timeline, tmp_path), Journal(tmp_path / "journal")
        play(session, journal, call_of(2, 0), home)
        played = [entry.block for entry in timeline.entries()]
        assert timeline.verify() == []
        assert list(verify_artifacts(timeline.entries(), session.artifacts)) == []
        journal.close()
        session.files.close()
    effects = tmp_path / "effects"
    done = effects.read_text() if effects.exists() else ""
    assert done == ("" if point == "after the intent" else "2.0\n"), "never twice"
    types = [block.type for block in played]
    assert types[:2] == ["timeline.settings", "react.tool.call"]
    assert types.count("react.tool.call") == 1
    if point in ("before the result", "artifact kept, nothing appended"):
        # The journal knows how it ended.
        assert types[2:] == ["react.tool.result"] * 4
        assert any(map(artifact_of, played))
    else:
        assert [block.type for block in played if "indeterminate" in (block.text or "")]
        assert not any(map(artifact_of, played))
    assert not list((tmp_path / "artifacts").glob(".new-*")) or "artifact" in point


def test_a_file_half_attached_is_attached_anew(
    address: str, tmp_path: Path, forks: WriterForks
) -> None:
    for number, point in zip((1, 3, 5, 7), ARTIFACT_POINTS, strict=True):
        order = Order(address=address, home=str(tmp_path), number=number, work="calls", point=point)
        assert forks.kill(order) == []
        with Timeline.open(address, "talk") as timeline:
            session = Session(timeline, tmp_path)
            before = timeline.head().count
            session.recorder.attach(f"turn_{number}", "a.txt", f"c{number}_0 ".encode() * 3000)
            fresh = list(timeline.entries(before))
            assert any(artifact_of(entry.block) for entry in fresh)
            assert list(verify_artifacts(fresh, session.artifacts)) == []
            assert timeline.verify() == []
            session.files.close()
        assert not list((tmp_path / "artifacts").glob(".new-*"))
