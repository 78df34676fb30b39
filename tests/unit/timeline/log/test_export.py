"""Out of a store and into one again: the same timeline, or nothing."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.blocks import Block
from callblocks.core.errors import TimelineError
from callblocks.timeline.log import transfer as importing
from callblocks.timeline.log.log import MAX_BLOCK, Store, StoredRow, decode, encode
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import export_lines, import_timeline, read_export, verify
from support.postgres import fresh_database
from support.sample_timelines import TS, a_talk, said


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        with open_store(tmp_path / "t.sqlite") as opened:
            yield opened
    else:
        with fresh_database() as address, open_store(address) as opened:
            yield opened


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Store]:
    """A store where any will do."""
    with open_store(tmp_path / "small.sqlite") as opened:
        opened.append("talk", a_talk())
        yield opened


def exported(store: Store, name: str = "talk") -> bytes:
    return b"".join(export_lines(store, name))


def refused(store: Store, content: bytes, name: str | None = None) -> TimelineError:
    """Why an import is refused; nothing of it is there then."""
    before = store.names()
    with pytest.raises(TimelineError) as caught:
        import_timeline(store, io.BytesIO(content), name)
    assert store.names() == before
    return caught.value


def changed(content: bytes, at: int, change: Callable[[dict[str, Any]], None]) -> bytes:
    """An export with one line changed."""
    lines = content.splitlines()
    line = json.loads(lines[at])
    change(line)
    lines[at] = json.dumps(line).encode()
    return b"\n".join(lines)


def test_what_was_exported_and_imported_is_the_same(store: Store, small: Store) -> None:
    store.append("talk", a_talk())
    content = exported(store)
    small_content = exported(small)
    assert content == small_content
    imported = import_timeline(store, io.BytesIO(content), "other")
    assert (imported.name, imported.source, imported.head) == ("other", "talk", store.head("other"))
    assert [entry.block for entry in store.entries("other")] == a_talk()
    assert verify(store, "other") == []


def test_under_its_own_name_the_hashes_stay(small: Store, store: Store) -> None:
    import_timeline(store, io.BytesIO(exported(small)))
    assert store.head("talk") == small.head("talk")
    assert exported(store) == exported(small)


def test_the_lines_say_what_they_are(small: Store) -> None:
    first, *entries, last = map(json.loads, exported(small).splitlines())
    assert first == {"format": "callblocks timeline", "version": 1, "name": "talk"}
    assert [entry["seq"] for entry in entries] == list(range(1, 16))
    assert entries[0]["block"]["type"] == "user.prompt"
    assert last == {"count": 15, "hash": entries[-1]["hash"]}


WORDS = st.text(st.characters() | st.sampled_from("\n\x00\u2028\ud800"), max_size=9)


def test_any_blocks_come_back(small: Store) -> None:
    numbers = count()

    @given(st.lists(st.builds(said, st.text(max_size=5), WORDS), min_size=1, max_size=5))
    def check(blocks: list[Block]) -> None:
        name = f"a{next(numbers)}"
        small.append(name, blocks)
        _, found = read_export(io.BytesIO(exported(small, name)))
        assert [block for block, _ in found] == [decode(encode(block)) for block in blocks]

    check()


def test_what_is_written_meanwhile_is_left_out(small: Store) -> None:
    lines = export_lines(small, "talk")
    next(lines)
    small.append("talk", [said("user.prompt", "late")])
    assert json.loads(list(lines)[-1])["count"] == 15


def test_a_name_that_is_taken_is_refused(small: Store) -> None:
    error = refused(small, exported(small))
    assert error.code == "timeline_exists"
    assert "--as" in error.message


def test_a_name_that_another_takes_meanwhile_is_refused(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = exported(small)
    head = small.head("free")
    small.append("free", [said("user.prompt", "first")])
    monkeypatch.setattr(small, "head", lambda name: head)
    with pytest.raises(TimelineError) as caught:
        import_timeline(small, io.BytesIO(content), "free")
    assert caught.value.code == "timeline_exists"


def test_a_bad_name_is_refused(small: Store) -> None:
    assert refused(small, exported(small), "../x").code == "bad_name"


@pytest.mark.parametrize("at", [1, 7, 15])
def test_a_block_that_was_changed_is_named(small: Store, at: int) -> None:
    content = changed(exported(small), at, lambda line: line["block"].update(author="evil"))
    error = refused(small, content, "two")
    assert (error.code, error.details) == ("chain_broken", {"seq": at})
    assert f"block {at} " in error.message


def test_a_block_that_was_taken_out_is_named(small: Store) -> None:
    lines = exported(small).splitlines(keepends=True)
    error = refused(small, b"".join(lines[:5] + lines[6:]), "two")
    assert (error.code, error.details) == ("chain_broken", {"seq": 5})


def test_a_block_that_was_put_in_is_named(small: Store) -> None:
    lines = exported(small).splitlines(keepends=True)
    error = refused(small, b"".join(lines[:5] + lines[4:]), "two")
    assert (error.code, error.details) == ("chain_broken", {"seq": 5})


def test_blocks_that_were_lost_at_the_end_are_noticed(small: Store) -> None:
    lines = exported(small).splitlines(keepends=True)
    error = refused(small, b"".join(lines[:-3] + lines[-1:]), "two")
    assert (error.code, error.details) == ("chain_broken", {"seq": 13})


def test_another_hash_at_the_end_is_noticed(small: Store) -> None:
    content = changed(exported(small), -1, lambda line: line.update(hash="0" * 64))
    assert refused(small, content, "two").code == "chain_broken"


def test_another_name_in_the_first_line_is_noticed(small: Store) -> None:
    content = changed(exported(small), 0, lambda line: line.update(name="other"))
    error = refused(small, content, "two")
    assert (error.code, error.details) == ("chain_broken", {"seq": 1})


def test_a_file_that_was_cut_is_refused(small: Store) -> None:
    content = exported(small)
    whole_lines = content[: content.rindex(b'{"count"')]
    assert refused(small, whole_lines, "two").code == "bad_import"
    assert refused(small, content[:-20], "two").code == "bad_import"
    assert refused(small, content[: len(content) // 2], "two").code == "bad_import"


def test_something_after_the_end_is_refused(small: Store) -> None:
    content = exported(small)
    assert refused(small, content + content, "two").code == "bad_import"


def test_blanks_and_the_order_of_keys_do_not_count(small: Store) -> None:
    lines = [json.dumps(json.loads(line), sort_keys=True) for line in exported(small).splitlines()]
    imported = import_timeline(small, io.BytesIO("\n\n".join(lines).encode()), "two")
    assert imported.head.count == 15


def test_a_newer_version_is_refused(small: Store) -> None:
    content = changed(exported(small), 0, lambda line: line.update(version=2))
    error = refused(small, content, "two")
    assert error.code == "newer_schema"
    assert "version 2" in error.message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no export\n",
        b"\x00\xff\xfe",
        b"[" * 100_000,
        b'{"format":"other","version":1,"name":"a"}\n',
        b'{"format":"callblocks timeline","version":"x","name":"a"}\n',
        b'{"format":"callblocks timeline","version":1,"name":"a"}\n{"seq":"x"}\n',
        b'{"format":"callblocks timeline","version":1,"name":"a"}\n' + b"[" * 100_000,
        b'{"format":"callblocks timeline","version":1,"name":"a"}\n{"seq":1,"hash":"","block":3}',
    ],
)
def test_what_is_no_export_is_refused(small: Store, content: bytes) -> None:
    assert refused(small, content).code == "bad_import"


def test_an_export_without_blocks_is_refused(small: Store) -> None:
    content = exported(small, "nothing")
    assert refused(small, content).code == "bad_import"


def test_a_line_of_fifty_megabytes_is_refused(small: Store) -> None:
    head = b'{"format":"callblocks timeline","version":1,"name":"a"}\n'
    line = b'{"seq":1,"hash":"","block":{"text":"' + b"x" * (50 * 2**20) + b'"}}\n'
    error = refused(small, head + line)
    assert error.code == "block_too_large"
    assert "line 2" in error.message


def test_an_import_may_be_larger_than_one_append(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "AT_ONCE", 1000)
    import_timeline(small, io.BytesIO(exported(small)), "two")
    assert [entry.block for entry in small.entries("two")] == a_talk()


def test_a_fault_between_two_parts_says_how_far_it_came(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "AT_ONCE", 1000)
    append = small.append

    def full(name: str, blocks: list[Block], expected: int | None = None) -> Any:
        if expected:
            raise TimelineError("store_full", "no room")
        return append(name, blocks, expected)

    monkeypatch.setattr(small, "append", full)
    with pytest.raises(TimelineError) as caught:
        import_timeline(small, io.BytesIO(exported(small)), "two")
    assert caught.value.code == "store_full"
    assert "of 15 blocks were written" in caught.value.message


def test_reading_an_export_needs_no_store(small: Store) -> None:
    name, blocks = read_export(io.BytesIO(exported(small)))
    assert (name, [block for block, _ in blocks]) == ("talk", a_talk())


def test_a_block_that_cannot_be_read_is_null_and_the_others_are_there(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    with open_store(path) as store:
        store.append("talk", a_talk())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("update blocks set body = x'00ff' where seq = 3")
        connection.execute("update blocks set body = ? where seq = 5", (b'{\n"type":"x"}',))
    lost: list[int] = []
    with open_store(path) as store:
        lines = list(export_lines(store, "talk", lost=lost.append))
        assert refused(store, b"".join(lines), "two").code == "damaged_block"
    assert lost == [3, 5]
    assert [json.loads(line)["block"] is None for line in lines[1:-1]].count(True) == 2


def test_missing_numbers_stay_and_a_large_gap_stays_small(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row, *_) = small.rows("talk")
    far = StoredRow(10**12, row.body, row.hash)
    monkeypatch.setattr(small, "rows", lambda *_, **__: iter([row, far]))
    gaps: list[tuple[int, int]] = []
    lines = list(export_lines(small, "talk", missing=lambda *gap: gaps.append(gap)))
    assert gaps == [(2, 10**12 - 1)]
    found = [json.loads(line) for line in lines[1:-1]]
    assert [one["seq"] for one in (found[0], found[1], found[-2], found[-1])] == [
        *(1, 2, 10**12 - 1, 10**12)
    ]
    assert len(found) < 20_000


def test_a_store_that_breaks_on_the_way_gives_what_it_has(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = small.rows

    def torn(name: str, after: int = 0, limit: int | None = None) -> Iterator[Any]:
        yield from rows(name, after, 4)
        raise TimelineError("store_damaged", "torn")

    monkeypatch.setattr(small, "rows", torn)
    lines: list[bytes] = []
    with pytest.raises(TimelineError):
        lines.extend(export_lines(small, "talk"))
    assert [json.loads(line).get("seq") for line in lines] == [None, 1, 2, 3, 4, None]


def test_a_block_larger_than_any_may_be_is_refused_by_the_store(small: Store) -> None:
    block = Block(type="x", author="x", turn_id="x", ts=TS, text="x" * MAX_BLOCK)
    with pytest.raises(TimelineError) as caught:
        small.append("big", [block])
    assert caught.value.code == "block_too_large"
