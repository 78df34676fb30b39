"""Rows of tools become sources, and what two say of one is joined."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.sources import Source, merged, rows_text, source_of

texts = st.text(st.characters(), max_size=5)


def pairs_of(source: Source) -> st.SearchStrategy[tuple[Source, Source]]:
    """The source, and another that says something of the same page or file."""
    other = sources.map(lambda other: msgspec.structs.replace(other, url=source.url))
    same = other.map(lambda other: msgspec.structs.replace(other, path=source.path))
    return st.tuples(st.just(source), same)


sources = st.builds(
    Source,
    url=st.sampled_from(["", "https://a.example/", "https://b.example/"]),
    path=st.sampled_from(["", "fi:t.files/a", "fi:t.files/b"]),
    title=texts,
    text=texts,
    date=texts,
    meta=st.dictionaries(texts, st.integers(0, 3), max_size=2),
)


def test_a_page_is_known_by_its_url_alone_and_a_file_by_its_path() -> None:
    assert Source(url="HTTPS://A.example#x", path="fi:t.files/a").key == "url:https://a.example/"
    assert Source(path="fi:t.files/a").key == "file:fi:t.files/a"


def test_a_source_of_neither_is_known_by_what_it_says() -> None:
    assert Source(title="a", text="b").key == Source(title="a", text="b", date="2030").key
    assert Source(title="a", text="b").key != Source(title="ab").key
    assert Source(title="\ud800").key.startswith("text:")


@pytest.mark.parametrize(
    ("row", "source"),
    [
        ({"url": "https://a.example", "title": "A"}, Source(url="https://a.example", title="A")),
        ({"link": "https://a.example"}, Source(url="https://a.example")),
        ({"url": "", "href": "https://a.example"}, Source(url="https://a.example")),
        ({"snippet": "s", "published": "2030-01-31"}, Source(text="s", date="2030-01-31")),
        ({"text": "t", "snippet": "s"}, Source(text="t")),
        ({"url": "https://me:pw@a.example/x"}, Source(url="https://a.example/x")),
        ({"url": "https://a.example/@me"}, Source(url="https://a.example/@me")),
        ({"url": "https://me@you@a.example/"}, Source(url="https://a.example/")),
        ({"url": "https://b.example\\@a.example"}, Source(url="https://b.example\\@a.example")),
        ({"path": "turn_1/files/a//b"}, Source(path="fi:turn_1.files/a/b")),
        (
            {"path": "fi:turn_1.user.attachments/a", "text": "evil", "title": "evil", "score": 1},
            Source(path="fi:turn_1.user.attachments/a", meta={"score": 1}),
        ),
        ({"url": "fi:turn_1.files/a"}, Source(path="fi:turn_1.files/a")),
        ({"url": "fi:t.files/b", "path": "fi:t.files/a"}, Source(path="fi:t.files/a")),
        ({"url": "https://a.example", "path": "/rain"}, Source(url="https://a.example")),
        ({"url": "https://a.example", "path": "a/files/x"}, Source(url="https://a.example")),
        ({"path": "tc:turn_1.abc.result"}, Source()),
        ({"title": "half \ud800"}, Source(title="half \ufffd")),
        ({"sid": 9, "title": 3, "url": None}, Source()),
        ({"score": 0.5, "meta": {"rank": 1}}, Source(meta={"score": 0.5, "rank": 1})),
        ({"meta": "x", "odd": object(), "half": "\ud800"}, Source()),
        (Source(sid=9, title="A", meta={"a": 1}), Source(title="A", meta={"a": 1})),
    ],
)
def test_a_row_is_read(row: Source | dict[str, Any], source: Source) -> None:
    assert source_of(row, lambda path: True) == source


@pytest.mark.parametrize(
    "row",
    [
        {"path": "src/files/x.py"},
        {"path": "fi:turn_9.files/a"},
        {"link": "fi:turn_1.user.attachments/contract.pdf"},
    ],
)
def test_a_row_is_about_a_file_only_if_somebody_knows_that(row: dict[str, Any]) -> None:
    assert source_of({**row, "title": "T"}) == Source(title="T")
    assert source_of({**row, "title": "T"}, {"fi:turn_1.files/a"}.__contains__) == Source(title="T")


def test_urls_that_differ_only_in_a_secret_or_far_back_are_two_sources() -> None:
    for start, ends in (
        ("https://a.example/share?token=", ("aaaaaa111", "bbbbbb222")),
        (f"https://a.example/{'x' * 10_000}", ("first", "other")),
    ):
        one, other = (source_of({"url": start + end}) for end in ends)
        assert one.url == other.url
        assert one.key != other.key
        assert ends[0] not in one.key + one.digest
        assert source_of({"url": f"{start}{ends[0]}#top"}).key == one.key
        assert source_of(Source(url=start + ends[0])) == one


@given(sources)
def test_what_was_read_is_read_the_same_again_and_can_be_written(source: Source) -> None:
    once = source_of(source)
    assert source_of(once) == once
    assert msgspec.json.decode(msgspec.json.encode(once), type=Source) == once


def test_an_empty_field_is_filled_and_a_longer_text_wins() -> None:
    known = Source(sid=1, url="https://a.example", text="short", meta={"a": 1})
    row = Source(url="https://a.example#x", title="T", text="longer text", meta={"a": 2, "b": 3})
    assert merged(known, row) == Source(
        sid=1, url="https://a.example", title="T", text="longer text", meta={"a": 1, "b": 3}
    )
    assert merged(known, Source(text="tiny")) == known


def test_what_was_said_of_a_file_first_stays() -> None:
    known = Source(sid=1, path="fi:t.files/a", text="they owe 10")
    row = Source(path="fi:t.files/a", text="they owe 10000000", title="T")
    assert merged(known, row) == msgspec.structs.replace(known, title="T")
    assert merged(Source(path="fi:t.files/a"), row) == row


@given(sources.flatmap(pairs_of))
def test_joining_loses_nothing_and_is_done_once(pair: tuple[Source, Source]) -> None:
    one, other = pair
    both = merged(one, other)
    assert merged(both, other) == both == merged(both, one)
    assert both.text in (one.text, other.text)
    assert len(both.text) >= len(one.text)
    assert both.meta.items() >= one.meta.items()
    assert all(getattr(both, name) for name in ("url", "path", "title") if getattr(other, name))


def test_rows_are_written_for_a_model() -> None:
    rows = [
        Source(sid=1, url="https://a.example", title="A", text="long text", meta={"score": 1}),
        Source(sid=2, path="fi:t.files/a", date="2030"),
    ]
    assert rows_text(rows) == (
        '[{"sid":1,"title":"A","url":"https://a.example","text":"long text"},'
        '{"sid":2,"path":"fi:t.files/a","date":"2030"}]'
    )
    assert json.loads(rows_text(rows, limit=4))[0]["text"] == "long...[truncated]"
    assert json.loads(rows_text(rows, limit=9))[0]["text"] == "long text"
    assert rows_text([]) == "[]"
