"""Search over all timelines, on both stores."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from callblocks.timeline.log.log import Store, Summary
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.recall.search import BEGIN, END, Search, open_search
from support.stores import KINDS, block, fresh_address


@pytest.fixture(params=KINDS)
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[Store, Search]]:
    with (
        fresh_address(request.param, tmp_path) as address,
        open_store(address) as store,
        open_search(address, tmp_path / "search.sqlite") as index,
    ):
        yield store, index


def _names(both: tuple[Store, Search], query: str, limit: int = 10) -> list[str]:
    store, index = both
    index.update(store, store.names())
    return sorted(hit.name for hit in index.find(query, limit))


def test_what_was_said_is_found_by_its_words(both: tuple[Store, Search]) -> None:
    store, index = both
    store.append("a", [block("When is low water at Holm Island?", type="user.prompt")])
    store.append("b", [block("High water is at noon.", type="assistant.completion")])
    assert _names(both, "water") == ["a", "b"]
    assert _names(both, "island low") == ["a"]
    assert _names(both, "WATER no") == ["b"]
    assert _names(both, "desert") == []
    (hit,) = index.find("low", 5)
    assert (hit.turn, hit.who, hit.seq) == ("turn_1", "user", 1)
    assert f"{BEGIN}low{END} water" in hit.excerpt


def test_what_comes_later_is_found_too_and_once_a_timeline(both: tuple[Store, Search]) -> None:
    store, index = both
    store.append("a", [block("apples")])
    assert _names(both, "apples") == ["a"]
    store.append("a", [block("more apples and pears")])
    assert _names(both, "apples") == ["a"]
    assert _names(both, "pears") == ["a"]
    index.update(store, store.names())
    assert len(index.find("apples", 5)) == 1


@pytest.mark.parametrize("query", ["", "  ", '"', "a' OR '1", "(x", "x*:&|!", "*", "-", "\0", "𝄞"])
def test_a_query_of_anything_is_a_query(both: tuple[Store, Search], query: str) -> None:
    store, _ = both
    store.append("a", [block("some text\0 with a sign")])
    assert _names(both, query) in ([], ["a"])


def test_results_of_tools_are_not_searched(both: tuple[Store, Search]) -> None:
    store, _ = both
    store.append("a", [block("secret", type="react.tool.result")])
    assert _names(both, "secret") == []


def test_a_file_that_is_no_index_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "search.sqlite"
    file.write_bytes(b"no database at all " * 100)
    with open_store(tmp_path / "timeline.sqlite") as store:
        store.append("a", [block("apples")])
        with open_search(str(tmp_path / "timeline.sqlite"), file) as index:
            assert _names((store, index), "apples") == ["a"]
        with open_search(str(tmp_path / "timeline.sqlite"), file) as index:
            assert index.find("apples", 1)[0].name == "a"


def test_a_timeline_that_is_begun_anew_is_read_anew(both: tuple[Store, Search]) -> None:
    store, index = both
    store.append("a", [block("apples"), block("pears")])
    assert _names(both, "pears") == ["a"]
    (known,) = store.names()
    store.append("b", [block("plums")])
    anew = Summary("a", 1, "", "another time", known.updated)
    index.update(store, [anew])
    assert [hit.seq for hit in index.find("apples", 5)] == [1]
