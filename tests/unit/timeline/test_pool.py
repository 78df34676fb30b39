"""A number stands for one source for ever, whoever adds, and however often a program starts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.blocks import Block
from callblocks.core.paths import ranges_of
from callblocks.core.sources import Source
from callblocks.timeline.timeline import SourcesPool

A, B, C = (f"https://{name}.example/" for name in "abc")
FILE = "fi:turn_1.files/a.pdf"
CONTRACT = "fi:turn_1.user.attachments/contract.pdf"
FILES = {FILE, "fi:turn_1.files/b.pdf", CONTRACT}

rows = st.fixed_dictionaries(
    {},
    optional={
        "url": st.sampled_from([A, B, C, f"{A}?utm_source=x", "no address"]),
        "path": st.sampled_from([FILE, "turn_1/files/a.pdf", "fi:turn_1.files/b.pdf"]),
        "title": st.text(st.characters(), max_size=2),
        "text": st.text(max_size=3),
        "rank": st.integers(0, 2),
    },
)
batches = st.lists(st.lists(rows, max_size=4), max_size=5)


def new_pool() -> SourcesPool:
    return SourcesPool(FILES.__contains__)


def block(text: str | None) -> Block:
    return Block(
        type="timeline.sources",
        author="timeline",
        turn_id="turn_1",
        ts="2030-01-31T12:00:00Z",
        text=text,
    )


def record(*sources: Any) -> Block:
    return block(json.dumps(sources))


def rebuilt(blocks: Iterable[Block]) -> SourcesPool:
    pool = new_pool()
    for one in blocks:
        pool.apply(one)
    return pool


def write(pool: SourcesPool, log: list[Block]) -> None:
    """Append what is new, and read it back, as a recorder does."""
    text = pool.record()
    if text:
        log.append(block(text))
        pool.apply(log[-1])


def everything(pool: SourcesPool) -> list[Source]:
    return pool.select(ranges_of(pool.sids))


def test_numbers_are_given_in_order_and_once_each() -> None:
    pool = new_pool()
    assert pool.add([{"url": A}, {"url": B}, {"url": f"{A}#top"}, {"path": FILE}]) == [1, 2, 1, 3]
    assert pool.add([{"url": B, "sid": 77}]) == [2]
    assert pool.sids == {1, 2, 3}


@given(batches)
def test_a_restart_gives_the_same_pool(batches: list[list[dict[str, Any]]]) -> None:
    pool, log = new_pool(), list[Block]()
    for batch in batches:
        pool.add(batch)
        write(pool, log)
    again = rebuilt(log)
    assert everything(again) == everything(pool)
    assert again.conflicts == []
    rows = [row for batch in batches for row in batch]
    assert again.add(rows) == pool.add(rows)


@given(batches, st.lists(rows, max_size=4))
def test_a_number_never_changes(
    batches: list[list[dict[str, Any]]], more: list[dict[str, Any]]
) -> None:
    pool, log = new_pool(), list[Block]()
    given_out: dict[str, int] = {}
    for batch in [*batches, more]:
        pool.add(batch)
        for source in everything(pool):
            assert given_out.setdefault(source.key, source.sid) == source.sid
        write(pool, log)
    assert pool.sids == set(range(1, len(pool.sids) + 1))


@given(batches)
def test_writing_now_or_later_gives_the_same_numbers(batches: list[list[dict[str, Any]]]) -> None:
    now, later, log = new_pool(), new_pool(), list[Block]()
    for batch in batches:
        assert now.add(batch) == later.add(batch)
        write(now, log)
    write(later, [])
    assert everything(now) == everything(later)


def test_a_record_holds_only_what_is_new_or_changed() -> None:
    pool, log = new_pool(), list[Block]()
    pool.add([{"url": A, "text": "snippet"}, {"url": B}])
    write(pool, log)
    assert pool.record() == ""
    pool.add([{"url": A, "text": "the whole page", "title": "A"}, {"url": B}])
    assert json.loads(pool.record()) == [
        {"sid": 1, "url": A, "title": "A", "text": "the whole page"}
    ]


def test_a_page_that_names_a_file_stays_a_page() -> None:
    pool = new_pool()
    assert pool.add([{"url": A}, {"path": FILE}]) == [1, 2]
    assert pool.add([{"url": A, "path": FILE, "title": "T"}]) == [1]
    assert pool.add([{"path": FILE}, {"url": B, "path": FILE}]) == [2, 3]
    assert pool.get(1) == Source(sid=1, url=A, title="T")
    assert pool.get(2) == Source(sid=2, path=FILE)
    assert pool.get(3) == Source(sid=3, url=B)


def test_pages_of_one_relative_path_are_two() -> None:
    rows = [{"url": A, "path": "src/files/x.py"}, {"url": B, "path": "src/files/x.py"}]
    assert new_pool().add(rows) == [1, 2]


def test_no_row_of_a_tool_says_what_a_file_of_the_person_holds() -> None:
    pool = new_pool()
    assert pool.add([Source(path=CONTRACT, title="Contract", text="they owe 10")]) == [1]
    assert pool.add([{"link": CONTRACT, "title": "evil", "snippet": "they owe 10000000"}]) == [1]
    assert pool.get(1) == Source(sid=1, path=CONTRACT, title="Contract", text="they owe 10")
    assert pool.add([{"link": "fi:turn_1.user.attachments/none.pdf", "text": "evil"}]) == [2]
    assert pool.get(2) == Source(sid=2, text="evil")


def test_a_backslash_does_not_make_a_page_of_another_host() -> None:
    pool = new_pool()
    rows = [{"url": f"{B}p", "text": "true"}, {"url": "https://a.example\\@b.example/p"}]
    assert pool.add(rows) == [1, 2]


def test_urls_that_differ_only_in_a_secret_are_two_also_after_a_restart() -> None:
    pool, log = new_pool(), list[Block]()
    rows = [{"url": f"{A}share?token=aaaaaa111"}, {"url": f"{A}share?token=bbbbbb222"}]
    assert pool.add(rows) == [1, 2]
    write(pool, log)
    again = rebuilt(log)
    assert again.add(reversed(rows)) == [2, 1]
    assert [source.url for source in everything(again)] == [f"{A}share?token=••••••••"] * 2
    assert "aaaaaa111" not in str(log)


def test_a_number_too_large_to_be_cited_is_not_taken() -> None:
    pool = rebuilt([record({"sid": 10**15 - 1, "url": A}, {"sid": 10**9, "url": B})])
    assert (pool.sids, pool.conflicts) == (set[int](), [10**15 - 1, 10**9])
    assert pool.add([{"url": C}]) == [1]


def test_after_the_very_last_number_the_free_ones_are_given() -> None:
    pool = rebuilt([record({"sid": 999_999_999, "url": A}, {"sid": 1, "url": B})])
    assert pool.add([{"url": C}, {"path": FILE}, {"url": A}]) == [2, 3, 999_999_999]


def test_sources_are_selected_by_number() -> None:
    pool = new_pool()
    pool.add([{"url": A}, {"url": B}, {"url": C}])
    assert [source.url for source in pool.select(((2, 999_999_999),))] == [B, C]
    assert pool.select(()) == []
    assert pool.get(9) is None


def test_a_known_source_is_found() -> None:
    pool = new_pool()
    pool.add([{"url": A, "title": "A"}])
    assert pool.find({"url": f"{A}?gclid=1"}) == Source(sid=1, url=A, title="A")
    assert pool.find({"url": B}) is None


def test_what_could_not_be_written_is_forgotten() -> None:
    pool, log = new_pool(), list[Block]()
    pool.add([{"url": A}])
    write(pool, log)
    assert pool.add([{"url": B}, {"url": A, "title": "A"}]) == [2, 1]
    pool.forget()
    assert (pool.record(), pool.sids, pool.get(1)) == ("", {1}, Source(sid=1, url=A))
    assert pool.add([{"url": C}]) == [2]


def test_of_two_writers_the_first_keeps_the_number() -> None:
    pool = new_pool()
    assert pool.add([{"url": A, "title": "A"}]) == [1]
    pool.apply(record({"sid": 1, "url": B}))
    assert (pool.record(), pool.get(1)) == ("", Source(sid=1, url=B))
    assert pool.add([{"url": A}, {"url": B}]) == [2, 1]
    assert pool.conflicts == []


def test_a_plan_lives_on_beside_what_another_wrote() -> None:
    pool = new_pool()
    pool.apply(record({"sid": 1, "url": A}))
    assert pool.add([{"url": A, "title": "A"}, {"url": B}, {"url": C}]) == [1, 2, 3]
    pool.apply(record({"sid": 1, "url": A, "text": "t"}, {"sid": 2, "url": B}))
    assert json.loads(pool.record()) == [
        {"sid": 1, "url": A, "title": "A", "text": "t"},
        {"sid": 3, "url": C},
    ]


def test_a_plan_gives_way_to_the_number_that_another_gave() -> None:
    pool = new_pool()
    assert pool.add([{"url": A}, {"url": B}, {"url": C}]) == [1, 2, 3]
    pool.apply(record({"sid": 2, "url": C}))
    assert pool.record() == ""
    assert pool.add([{"url": A}, {"url": B}, {"url": C}]) == [3, 4, 2]


def test_of_two_sources_under_one_number_the_first_keeps_it() -> None:
    pool = rebuilt(
        [record({"sid": 1, "url": A}), record({"sid": 1, "url": B}, {"sid": 2, "url": C})]
    )
    assert [source.url for source in everything(pool)] == [A, C]
    assert pool.conflicts == [1]
    assert pool.add([{"url": B}]) == [3]


def test_a_record_takes_no_path_from_another_source() -> None:
    first = record({"sid": 1, "url": A}, {"sid": 2, "path": FILE})
    pool = rebuilt([first, record({"sid": 1, "url": A, "path": FILE, "title": "A"})])
    assert everything(pool) == [Source(sid=1, url=A, title="A"), Source(sid=2, path=FILE)]


def test_one_source_under_two_numbers_keeps_both() -> None:
    pool = rebuilt([record({"sid": 1, "url": A}, {"sid": 2, "url": A, "title": "A"})])
    assert pool.sids == {1, 2}
    assert pool.add([{"url": A}]) == [1]


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "3",
        "null",
        '{"sid": 1}',
        "[" * 100_000,
        '[1, null, "x", []]',
        '[{"url": "https://a.example"}]',
        '[{"sid": "1"}]',
        '[{"sid": 1, "url": 7}]',
        '[{"sid": 0}, {"sid": -1}, {"sid": 1.5}, {"sid": 1e30}, {"sid": 9999999999999999}]',
    ],
)
def test_a_damaged_record_is_passed_over(text: str | None) -> None:
    pool = rebuilt([block(text), record({"sid": 1, "url": B, "newer": True})])
    assert everything(pool) == [Source(sid=1, url=B)]


@given(
    st.lists(
        st.lists(
            st.fixed_dictionaries(
                {"sid": st.integers(-1, 4)},
                optional={
                    "url": st.sampled_from(["", A, B]),
                    "path": st.sampled_from(["", FILE, "x"]),
                    "title": st.sampled_from(["", "t"]),
                },
            ),
            max_size=4,
        ),
        max_size=4,
    ),
    st.lists(rows, max_size=4),
)
def test_whatever_the_records_say_the_first_of_a_number_stays(
    records: list[list[dict[str, Any]]], more: list[dict[str, Any]]
) -> None:
    pool = new_pool()
    first: dict[int, Source] = {}
    for batch in records:
        pool.apply(record(*batch))
        for source in everything(pool):
            known = first.setdefault(source.sid, source)
            assert not known.url or known.url == source.url
            assert not known.path or known.path == source.path
    highest = max(pool.sids, default=0)
    assert all(sid <= highest + len(more) for sid in pool.add(more))


def test_many_sources_are_added_and_read_again() -> None:
    pool, log = new_pool(), list[Block]()
    assert pool.add({"url": f"{A}{n}"} for n in range(2000)) == list(range(1, 2001))
    write(pool, log)
    assert rebuilt(log).sids == pool.sids
