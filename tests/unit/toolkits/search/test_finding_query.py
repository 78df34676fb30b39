from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.toolkits.search.query import read_query


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("tide table", '("tide") AND ("table")'),
        ('"low tide" harbour', '("low tide") AND ("harbour")'),
        ("“low tide”", '("low tide")'),
        ("tide OR ebb flood", '("tide" OR "ebb") AND ("flood")'),
        ("tide | ebb", '("tide" OR "ebb")'),
        ("tide AND ebb", '("tide") AND ("ebb")'),
        ("tide -spring -neap", '(("tide")) NOT ("spring" OR "neap")'),
        ('tide -"spring tide"', '(("tide")) NOT ("spring tide")'),
        ("tide NOT spring", '(("tide")) NOT ("spring")'),
        ("tid*", '("tid" *)'),
        ("file_read", '("file read")'),
        ("東京", '("東 京")'),
        ("OR", '("or")'),
        ("OR tide", '("tide")'),
        ("tide OR", '("tide")'),
        ('"unclosed phrase', '("unclosed phrase")'),
        ('a"b', '("a b")'),
    ],
)
def test_a_query_means(text: str, expression: str) -> None:
    assert read_query(text).exact == expression


@pytest.mark.parametrize("text", ["", "   ", "***", "🐱", '""', "-", '"', "- -"])
def test_no_word_is_no_condition(text: str) -> None:
    assert not read_query(text).groups


def test_what_is_only_excluded_finds_nothing() -> None:
    query = read_query("-tide")
    assert not query.groups
    assert query.without


_PIECES = st.sampled_from(
    ('"', "*", "-", "OR", "AND", "NOT", "NEAR(", ")", "{a b}:", "^", "+", " ", "tide", "東京", "\0")
)


@given(st.text() | st.lists(_PIECES, max_size=60).map("".join))
@example('"' * 2_001)
@example("a OR " * 500)
@example("\ud800 tide")
def test_any_text_is_a_query_that_the_index_can_read(text: str) -> None:
    query = read_query(text)
    if not query.groups:
        return
    with closing(sqlite3.connect(":memory:")) as store:
        store.execute("create virtual table words using fts5 (name, heading, text)")
        for expression in (query.exact, query.started, query.loose):
            store.execute("select * from words where words match ?", (expression,)).fetchall()
            store.execute("select * from words where words match ?", (f"name : ({expression})",))
