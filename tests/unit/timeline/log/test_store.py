"""What a store promises, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callblocks.core.blocks import Block, Entry
from callblocks.core.errors import NotABlock, TimelineError
from callblocks.timeline.log import log
from callblocks.timeline.log.log import MAX_APPEND, MAX_BLOCK, Head, Store, genesis
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import verify
from callblocks.timeline.timeline import Timeline
from support.stores import KINDS, block, fresh_address


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with fresh_address(request.param, tmp_path) as address:
        yield address


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with open_store(address) as store:
        yield store


def texts(store: Store, name: str = "talk") -> list[str | None]:
    return [entry.block.text for entry in store.entries(name)]


def test_blocks_are_numbered_from_one_and_read_as_they_were_written(store: Store) -> None:
    written = store.append("talk", [block("a"), block("b", meta={"k": [1, "\x00"]}, path="ar:x")])
    written += store.append("talk", [block("c\x00\ud83d", mime="text/markdown")])
    assert [entry.seq for entry in written] == [1, 2, 3]
    assert list(store.entries("talk")) == written
    assert written[1].block == block("b", meta={"k": [1, "\x00"]}, path="ar:x")
    assert written[2].block.text == "c\x00\ufffd"
    assert store.head("talk") == Head(3, written[2].hash)
    assert verify(store, "talk") == []


def test_another_who_opens_the_store_finds_everything(store: Store, address: str) -> None:
    written = store.append("talk", [block("a")])
    with open_store(address) as other:
        assert list(other.entries("talk")) == written
        written += other.append("talk", [block("b")])
    assert list(store.entries("talk")) == written


def test_entries_begin_after_a_number_and_end_at_a_limit(store: Store) -> None:
    store.append("other", [block("x")])
    store.append("talk", [block(str(number)) for number in range(1, 8)])
    assert [entry.seq for entry in store.entries("talk", 5)] == [6, 7]
    assert [entry.seq for entry in store.entries("talk", 2, 3)] == [3, 4, 5]
    assert [entry.seq for entry in store.entries("talk", -3, 2)] == [1, 2]
    assert list(store.entries("talk", 7)) == list(store.entries("talk", limit=0)) == []


def test_many_and_large_blocks_are_read_by_pages(store: Store) -> None:
    number = log.PAGE_ROWS * 2 + 1
    store.append("many", [block(str(at)) for at in range(number)])
    assert texts(store, "many") == [str(at) for at in range(number)]
    large = "x" * (log.PAGE_BYTES // 2)
    store.append("large", [block(large)] * 5)
    assert texts(store, "large") == [large] * 5
    assert verify(store, "large") == verify(store, "many") == []


def test_an_unknown_timeline_is_empty_and_not_in_the_list(store: Store) -> None:
    assert list(store.entries("nobody")) == []
    assert store.head("nobody") == Head(0, genesis("nobody"))
    assert store.append("nobody", []) == []
    assert store.append("nobody", [], expected=0) == []
    with pytest.raises(TimelineError):
        store.append("nobody", [block()], expected=1)
    assert store.names() == []
    assert verify(store, "nobody") == []


def test_the_list_has_every_timeline_by_name(store: Store) -> None:
    for name in ("b", "B", "a-1", "a.1"):
        store.append(name, [block(name)])
    listed = store.names()
    assert [one.name for one in listed] == ["B", "a-1", "a.1", "b"]
    assert [Head(one.count, one.hash) for one in listed] == [store.head(o.name) for o in listed]
    assert all(one.created.endswith("Z") and len(one.updated) == 20 for one in listed)
    assert all(texts(store, one.name) == [one.name] for one in listed)


def test_who_expects_another_number_is_refused_and_changes_nothing(store: Store) -> None:
    store.append("talk", [block("a")], expected=0)
    for expected in (0, 2):
        with pytest.raises(TimelineError, match="has 1 blocks") as caught:
            store.append("talk", [block("b")], expected=expected)
        assert caught.value.code == "conflict"
        assert caught.value.details["count"] == 1
    store.append("talk", [block("c")], expected=1)
    assert texts(store) == ["a", "c"]


def test_who_knows_an_old_end_writes_after_the_new_one(store: Store, address: str) -> None:
    store.append("talk", [block("a")])
    with open_store(address) as other:
        other.append("talk", [block("b")])
        store.append("talk", [block("c")])
        with pytest.raises(TimelineError) as caught:
            other.append("talk", [block("d")], expected=2)
        assert caught.value.code == "conflict"
        other.append("talk", [block("e"), block("f")], expected=3)
        store.append("talk", [block("g")], expected=5)
    assert texts(store) == ["a", "b", "c", "e", "f", "g"]
    assert verify(store, "talk") == []


@pytest.mark.parametrize("name", ["", ".a", "-a", "a/b", "a b", "ä", "a\n", "a\x00", "x" * 101])
def test_a_name_that_no_timeline_can_have_is_refused(store: Store, name: str) -> None:
    for use in (
        lambda: store.append(name, [block()]),
        lambda: store.entries(name).__next__(),
        lambda: store.head(name),
        lambda: store.follow(name),
        lambda: Timeline(store, name),
    ):
        with pytest.raises(TimelineError) as caught:
            use()
        assert caught.value.code == "bad_name"
    # The second is how assistant-ui names a chat that it has not kept yet.
    for allowed in ("x" * 100, "__LOCALID_2l2tYvh"):
        store.append(allowed, [block()])


def test_a_block_that_is_too_large_is_refused_and_one_at_the_limit_is_not(store: Store) -> None:
    room = MAX_BLOCK - len(
        '{"type":"react.notes","author":"assistant","turn_id":"turn_1",'
        '"ts":"2030-01-31T12:00:00Z","text":""}'
    )
    with pytest.raises(TimelineError, match="16,777,217") as caught:
        store.append("talk", [block("a"), block("x" * (room + 1))])
    assert caught.value.code == "block_too_large"
    assert texts(store) == []
    store.append("talk", [block("x" * room)])
    assert len(texts(store)[0] or "") == room


def test_blocks_that_are_too_large_together_are_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_APPEND > MAX_BLOCK
    monkeypatch.setattr(log, "MAX_APPEND", 1000)
    with pytest.raises(TimelineError, match="append fewer") as caught:
        store.append("talk", [block("x" * 300)] * 4)
    assert caught.value.code == "block_too_large"
    assert texts(store) == []


def test_a_store_that_was_closed_says_so(store: Store) -> None:
    store.append("talk", [block()])
    store.close()
    store.close()
    for use in (lambda: store.head("talk"), lambda: store.append("talk", [block()])):
        with pytest.raises(TimelineError, match="was closed") as caught:
            use()
        assert caught.value.code == "store_unavailable"


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.tuples(st.booleans(), st.integers(1, 3)), min_size=1, max_size=6),
        min_size=2,
        max_size=6,
    )
)
def test_any_interleaving_gives_one_chain_with_each_producer_in_its_order(
    store: Store, orders: list[list[tuple[bool, int]]]
) -> None:
    name = f"talk{len(store.names())}"
    kept: list[list[str]] = [[] for _ in orders]
    refused: list[tuple[bool, str]] = []

    def produce(number: int) -> None:
        for at, (expects, size) in enumerate(orders[number]):
            blocks = [block(f"{number}.{at}.{part}") for part in range(size)]
            expected = store.head(name).count if expects else None
            try:
                entries = store.append(name, blocks, expected)
            except TimelineError as error:
                refused.append((expects, error.code))
                continue
            assert [entry.seq - entries[0].seq for entry in entries] == list(range(size))
            assert expected is None or entries[0].seq == expected + 1
            kept[number] += [str(entry.block.text) for entry in entries]

    in_threads(produce, len(orders))
    assert set(refused) <= {(True, "conflict")}
    assert verify(store, name) == []
    found = [str(text) for text in texts(store, name)]
    for number, own in enumerate(kept):
        assert [text for text in found if text.startswith(f"{number}.")] == own


def in_threads(work: Callable[[int], None], number: int) -> None:
    errors: list[BaseException] = []

    def run(at: int) -> None:
        try:
            work(at)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(at,)) for at in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_many_timelines_and_producers_share_commits(store: Store) -> None:
    def produce(number: int) -> None:
        for at in range(10):
            store.append(f"talk{number % 3}", [block(f"{number}.{at}")])

    in_threads(produce, 12)
    for name in ("talk0", "talk1", "talk2"):
        assert store.head(name).count == 40
        assert verify(store, name) == []


def test_one_that_is_refused_does_not_fail_the_others_of_its_commit(address: str) -> None:
    commits: list[int] = []
    with open_store(address) as store:
        store.append("talk", [block("first")])
        assert isinstance(store, log.Log)
        commit = store._group._commit
        store._group._commit = lambda batch: (commits.append(len(batch)), commit(batch))[1]
        refused: list[str] = []

        def produce(number: int) -> None:
            try:
                store.append("talk", [block(str(number))], 7 if number % 2 else None)
            except TimelineError as error:
                refused.append(error.code)

        threads = [threading.Thread(target=produce, args=(number,)) for number in range(8)]

        def start() -> None:
            for at, thread in enumerate(threads, 1):
                thread.start()
                while len(store._group._waiting) < at:
                    threading.Event().wait(0.001)

        store._group.alone(start)
        for thread in threads:
            thread.join()
        assert commits == [8]
        assert refused == ["conflict"] * 4
        assert texts(store) == ["first", "0", "2", "4", "6"]
        assert verify(store, "talk") == []


WRITER = """
import sys
from callblocks.core.blocks import Block
from callblocks.timeline.log.open_store import open_store
address, who, number = sys.argv[1:]
with open_store(address) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for at in range(int(number)):
        store.append("talk", [Block(type="react.notes", author="tool", turn_id="t", ts="",
                                    text=f"{who}.{at}")])
"""


def writer(address: str, who: str, number: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, address, who, str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_that_write_and_one_that_reads_see_one_chain(
    store: Store, address: str
) -> None:
    with writer(address, "a", 40) as first, writer(address, "b", 40) as second:

        async def watch() -> list[Entry]:
            loop = asyncio.get_running_loop()
            follower = asyncio.create_task(take(store.follow("talk"), 100))
            for process in (first, second):
                await loop.run_in_executor(None, process.communicate, "\n")
            for at in range(20):
                store.append("talk", [block(f"c.{at}")])
            return await follower

        seen = asyncio.run(asyncio.wait_for(watch(), 120))
    assert first.returncode == second.returncode == 0
    assert seen == list(store.entries("talk"))
    assert verify(store, "talk") == []
    for who, number in (("a", 40), ("b", 40), ("c", 20)):
        own = [str(text) for text in texts(store) if str(text).startswith(who)]
        assert own == [f"{who}.{at}" for at in range(number)]


async def take(entries: AsyncGenerator[Entry, None], number: int) -> list[Entry]:
    found: list[Entry] = []
    async with aclosing(entries) as following:
        async for entry in following:
            found.append(entry)
            if len(found) == number:
                break
    return found


def run(main: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 120))


def test_a_follower_gets_what_is_there_and_then_what_comes(store: Store) -> None:
    store.append("talk", [block("a"), block("b")])

    async def main() -> None:
        following = asyncio.create_task(take(store.follow("talk", 1), 4))
        late = asyncio.create_task(take(store.follow("later"), 1))
        await asyncio.sleep(0.1)
        store.append("other", [block("x")])
        store.append("talk", [block("c")])
        await asyncio.sleep(0.05)
        store.append("talk", [block("d"), block("e")])
        store.append("later", [block("first")])
        assert [entry.block.text for entry in await following] == ["b", "c", "d", "e"]
        assert [entry.seq for entry in await late] == [1]

    run(main())


def test_followers_miss_nothing_while_threads_write(store: Store) -> None:
    async def main() -> None:
        followers = [asyncio.create_task(take(store.follow("talk"), 60)) for _ in range(3)]

        def produce(number: int) -> None:
            for at in range(15):
                store.append("talk", [block(f"{number}.{at}")])

        await asyncio.to_thread(in_threads, produce, 4)
        written = list(store.entries("talk"))
        assert len(written) == 60
        for follower in followers:
            assert await follower == written

    run(main())


def test_a_follower_that_is_cancelled_leaves_nothing_behind(store: Store) -> None:
    async def main() -> None:
        tasks = asyncio.all_tasks()
        store.append("talk", [block("a")])
        follower = asyncio.create_task(take(store.follow("talk"), 2))
        starting = asyncio.create_task(take(store.follow("talk"), 2))
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.sleep(0.1)
        follower.cancel()
        await asyncio.gather(follower, starting, return_exceptions=True)
        assert follower.cancelled()
        assert starting.cancelled()
        assert asyncio.all_tasks() == tasks
        # One that nobody closes ends with the loop.
        async for entry in store.follow("talk"):
            assert entry.seq == 1
            break

    threads = threading.active_count()
    run(main())
    assert threading.active_count() == threads


def test_followers_end_when_the_store_closes(store: Store) -> None:
    async def main() -> None:
        store.append("talk", [block("a")])
        follower = asyncio.create_task(take(store.follow("talk"), 2))
        await asyncio.sleep(0.1)
        store.close()
        assert len(await follower) == 1

    run(main())


def test_a_follower_catches_up_with_much(store: Store) -> None:
    number = log.PAGE_ROWS * 2 + 1
    store.append("talk", [block(str(at)) for at in range(number)])

    async def main() -> None:
        others = asyncio.create_task(asyncio.sleep(0))
        found = await take(store.follow("talk"), number)
        # A long way to catch up does not keep others from their turn.
        assert others.done()
        assert [entry.seq for entry in found] == list(range(1, number + 1))

    run(main())


def test_a_timeline_is_one_name_of_a_store(address: str) -> None:
    with Timeline.open(address, "talk") as timeline:
        (entry,) = timeline.append([block("a")], expected=0)
        assert timeline.name == "talk"
        assert list(timeline.entries()) == [entry]
        assert timeline.head() == Head(1, entry.hash)
        assert timeline.verify() == []
        assert asyncio.run(take(timeline.follow(), 1)) == [entry]
    with pytest.raises(TimelineError, match="was closed"):
        timeline.head()


def test_a_reader_that_stops_halfway_holds_nothing(store: Store) -> None:
    store.append("talk", [block(str(at)) for at in range(log.PAGE_ROWS + 5)])
    reading = store.entries("talk")
    assert [entry.seq for entry in islice(reading, 3)] == [1, 2, 3]
    store.append("talk", [block("more")])
    assert [entry.seq for entry in reading][-1] == log.PAGE_ROWS + 6


def test_a_reader_whose_store_is_closed_is_told(store: Store) -> None:
    store.append("talk", [block(str(at)) for at in range(log.PAGE_ROWS + 1)])
    reading = store.entries("talk")
    next(reading)
    store.close()
    with pytest.raises(TimelineError, match="was closed"):
        list(reading)


def test_what_is_returned_is_what_is_kept(store: Store) -> None:
    odd: Block = block("x", meta={"tuple": (1, 2), "half": "\udc00", "thing": object()})
    written = store.append("talk", [odd])
    assert written == list(store.entries("talk"))
    assert written[0].block.meta["tuple"] == [1, 2]


def test_what_is_no_block_is_the_callers_mistake(store: Store) -> None:
    with pytest.raises(NotABlock, match="a timeline takes a Block, not str"):
        store.append("talk", ["x"])  # pyright: ignore[reportArgumentType] that is the mistake
    assert store.head("talk").count == 0
