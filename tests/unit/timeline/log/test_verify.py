from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.timeline.log.log import Head, Store, encode, link
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import verify
from support.postgres import connect
from support.stores import KINDS, block, fresh_address


class Tampered:
    """A timeline of eight blocks, and a way to change it behind the store's back."""

    def __init__(self, kind: str, address: str, store: Store) -> None:
        self.kind = kind
        self.address = address
        self.store = store
        self.rows = store.append("talk", [block(str(number)) for number in range(1, 9)])
        store.append("other", [block("x")])

    def change(self, statement: str, *values: object) -> None:
        """Run a statement; `{t}` stands for the table of timelines, `{b}` for that of blocks."""
        if self.kind == "sqlite":
            connection = sqlite3.connect(self.address, isolation_level=None)
            connection.execute(statement.format(t="timelines", b="blocks"), values)
            connection.close()
            return
        query = statement.format(t="callblocks_timelines", b="callblocks_blocks")
        with connect(self.address) as server:
            server.execute(query.replace("?", "%s").encode(), values)

    def found(self) -> list[tuple[int, str]]:
        assert verify(self.store, "other") == []
        return [(finding.seq, finding.code) for finding in verify(self.store, "talk")]


@pytest.fixture(params=KINDS)
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tampered]:
    with fresh_address(request.param, tmp_path) as address, open_store(address) as store:
        yield Tampered(request.param, address, store)


BROKEN = "chain_broken"
WHERE = "where timeline = 1 and seq = "


def test_a_changed_body_is_found_where_it_is(talk: Tampered) -> None:
    talk.change(f"update {{b}} set body = ? {WHERE} 3", encode(block("three")))
    talk.change(f"update {{b}} set body = ? {WHERE} 6", encode(block("six")))
    assert talk.found() == [(3, BROKEN), (6, BROKEN)]


def test_a_changed_hash_is_found_where_it_is(talk: Tampered) -> None:
    talk.change(f"update {{b}} set hash = ? {WHERE} 3", "0" * 64)
    assert talk.found() == [(3, BROKEN)]


def test_a_changed_body_with_a_hash_that_fits_is_found_at_the_next(talk: Tampered) -> None:
    body = encode(block("three"))
    fitting = link(talk.rows[1].hash, 3, body)
    talk.change(f"update {{b}} set body = ?, hash = ? {WHERE} 3", body, fitting)
    assert talk.found() == [(4, BROKEN)]


def test_a_lost_block_is_found(talk: Tampered) -> None:
    talk.change(f"delete from {{b}} {WHERE} 1")
    talk.change("delete from {b} where timeline = 1 and seq in (4, 5)")
    assert talk.found() == [(1, BROKEN), (4, BROKEN)]
    assert [entry.seq for entry in talk.store.entries("talk")] == [2, 3, 6, 7, 8]
    assert "blocks 4 to 5 are missing" in verify(talk.store, "talk")[1].message


def test_a_lost_tail_is_found(talk: Tampered) -> None:
    talk.change("delete from {b} where timeline = 1 and seq > 6")
    assert talk.found() == [(7, BROKEN)]


def test_blocks_behind_the_end_are_found(talk: Tampered) -> None:
    talk.change("update {t} set count = 6, hash = ? where name = 'talk'", talk.rows[5].hash)
    assert talk.found() == [(7, BROKEN)]


def test_an_end_with_another_hash_is_found(talk: Tampered) -> None:
    talk.change("update {t} set hash = ? where name = 'talk'", talk.rows[5].hash)
    assert talk.found() == [(8, BROKEN)]


def test_a_timeline_that_was_given_another_name_is_found(talk: Tampered) -> None:
    talk.change("delete from {b} where timeline = 2")
    talk.change("delete from {t} where name = 'other'")
    talk.change("update {t} set name = 'mine' where name = 'talk'")
    assert [finding.seq for finding in verify(talk.store, "mine")] == [1]


def test_a_body_that_is_no_block_is_found_and_the_rest_is_read(talk: Tampered) -> None:
    talk.change(f"update {{b}} set body = ? {WHERE} 5", b"\xff\x00")
    assert talk.found() == [(5, BROKEN), (5, "damaged_block")]
    entries = list(talk.store.entries("talk"))
    assert [entry.seq for entry in entries] == list(range(1, 9))
    assert [entry.block.type for entry in entries if entry.seq in (4, 5, 6)] == [
        "react.notes",
        "timeline.damaged",
        "react.notes",
    ]


def test_a_body_that_never_was_a_block_fits_the_chain_and_is_still_found(talk: Tampered) -> None:
    body = b"nothing"
    talk.change(
        f"update {{b}} set body = ?, hash = ? {WHERE} 8", body, link(talk.rows[6].hash, 8, body)
    )
    talk.change("update {t} set hash = ? where name = 'talk'", link(talk.rows[6].hash, 8, body))
    assert talk.found() == [(8, "damaged_block")]


def test_blocks_that_are_gone_with_their_table_are_found_one_by_one(talk: Tampered) -> None:
    talk.change("drop table {b}")
    found = [(finding.seq, finding.code) for finding in verify(talk.store, "talk")]
    assert found == [(seq, "store_damaged") for seq in range(1, 9)]


def test_a_store_that_says_nothing_of_its_timelines_is_one_finding(talk: Tampered) -> None:
    talk.change("drop table {t}")
    assert [finding.code for finding in verify(talk.store, "talk")] == ["store_damaged"]


def test_who_writes_while_one_looks_breaks_nothing(
    talk: Tampered, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = talk.store
    old, real = store.head("talk"), store.head

    def head(name: str) -> Head:
        """The end as it was; and then others write before the blocks are read, and after."""
        if "before" not in written:
            written.append("before")
            store.append(name, [block("more")])
            return old
        store.append(name, [block("and more")])
        return real(name)

    written: list[str] = []
    monkeypatch.setattr(store, "head", head)
    assert verify(store, "talk") == []
    assert real("talk").count == old.count + 2


def test_an_end_that_was_noted_is_there_as_long_as_nothing_was_changed(talk: Tampered) -> None:
    noted = talk.store.head("talk")
    talk.store.append("talk", [block("more")])
    for known in (noted, Head(8, noted.hash[:12].upper()), Head(1, talk.rows[0].hash)):
        assert verify(talk.store, "talk", known) == []


def test_a_cut_end_whose_row_was_set_back_is_found_by_what_was_noted(talk: Tampered) -> None:
    noted = talk.store.head("talk")
    talk.change("delete from {b} where timeline = 1 and seq > 6")
    talk.change("update {t} set count = 6, hash = ? where name = 'talk'", talk.rows[5].hash)
    assert talk.found() == []
    (finding,) = verify(talk.store, "talk", noted)
    assert (finding.seq, finding.code) == (7, BROKEN)
    assert "8 blocks were noted, and there are 6" in finding.message


def test_an_end_that_was_written_anew_is_found_by_what_was_noted(talk: Tampered) -> None:
    noted = talk.store.head("talk")
    body = encode(block("another"))
    hash = link(talk.rows[6].hash, 8, body)
    talk.change(f"update {{b}} set body = ?, hash = ? {WHERE} 8", body, hash)
    talk.change("update {t} set hash = ? where name = 'talk'", hash)
    assert talk.found() == []
    (finding,) = verify(talk.store, "talk", noted)
    assert (finding.seq, finding.code) == (8, BROKEN)


def test_a_timeline_that_is_gone_is_found_by_what_was_noted(talk: Tampered) -> None:
    noted = talk.store.head("talk")
    talk.change("delete from {b} where timeline = 1")
    talk.change("delete from {t} where name = 'talk'")
    assert talk.found() == []
    assert [finding.seq for finding in verify(talk.store, "talk", noted)] == [1]


def test_too_few_digits_of_a_hash_say_nothing(talk: Tampered) -> None:
    assert verify(talk.store, "talk", Head(8, talk.rows[7].hash[:11])) != []
    assert verify(talk.store, "talk", Head(8, "")) != []
