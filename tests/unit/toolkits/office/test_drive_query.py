"""Drive's search syntax: what is written is read again, and a mistake is found at its place."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.drive_query import (
    FIELDS,
    KEYS,
    And,
    Not,
    Or,
    Query,
    Term,
    is_words,
    read_order,
    read_query,
    read_time,
    terms,
    write_query,
)

_TIMES = st.datetimes().map(lambda moment: read_time(moment.isoformat()))


def _values(kind: str) -> st.SearchStrategy[str | bool]:
    if kind == "truth":
        return st.booleans()
    return _TIMES if kind == "time" else st.text(max_size=12)


@st.composite
def drawn_terms(draw: st.DrawFn) -> Term:
    name = draw(st.sampled_from(sorted(FIELDS)))
    operator = draw(st.sampled_from(FIELDS[name].operators))
    return Term(name, operator, draw(_values(FIELDS[name].kind)))


def _joined(items: st.SearchStrategy[Query]) -> st.SearchStrategy[Query]:
    some = st.lists(items, min_size=2, max_size=4).map(tuple)
    return items.map(Not) | some.map(And) | some.map(Or)


QUERIES: st.SearchStrategy[Query] = st.recursive(drawn_terms(), _joined, max_leaves=12)


@given(QUERIES)
def test_what_is_written_is_read_again(query: Query) -> None:
    written = write_query(query)
    assert read_query(written) == query
    assert not is_words(written)


@given(st.text(alphabet="name contains 'x'\"\\()=!<>andortrue", max_size=60) | st.text(max_size=30))
@example("not " * 100 + "trashed")
@example("(" * 100 + "trashed")
@example(" or ".join(["trashed and starred"] * 60))
@example("name = 'x' and " * 400 + "trashed")
def test_any_text_is_a_query_or_a_fault_at_a_place(text: str) -> None:
    is_words(text)
    query = fault = None
    try:
        query = read_query(text)
    except ToolError as error:
        fault = error
    if query is not None:
        assert read_query(write_query(query)) == query
    else:
        assert fault is not None
        assert fault.code == "invalid_input"
        assert "character" in fault.details["query"]


def test_and_and_or_go_from_left_to_right() -> None:
    a, b, c = (Term("name", "=", one) for one in "abc")
    assert read_query("name='a' and name='b' or name='c'") == Or((And((a, b)), c))
    assert read_query("name='a' or name='b' and name='c'") == And((Or((a, b)), c))
    assert read_query("name='a' or (name='b' and name='c')") == Or((a, And((b, c))))
    assert read_query("name='a' AND name='b' AND name='c'") == And((a, b, c))
    assert read_query("(name='a' and name='b') and name='c'") == And((And((a, b)), c))
    assert read_query("not name='a' and name='b'") == And((Not(a), b))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('name = "it\'s"', r"name = 'it\'s'"),
        ("parents in '1a'", "'1a' in parents"),
        ("sharedWithMe and starred", "sharedWithMe = true and starred = true"),
        ("modifiedTime>2024-05-01", "modifiedTime > '2024-05-01T00:00:00.000Z'"),
        ("createdTime < '2024-05-01T12:00:00+02:00'", "createdTime < '2024-05-01T10:00:00.000Z'"),
        ("trashed = 'TRUE'", "trashed = true"),
    ],
)
def test_other_spellings_become_the_one_that_google_takes(text: str, written: str) -> None:
    assert write_query(read_query(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "budget 2024",
        "notes in March",
        "what contains sugar",
        "O'Reilly",
        '"annual report"',
        "contains",
        "in",
        "(draft)",
        "and",
    ],
)
def test_words_are_told_from_the_syntax(text: str) -> None:
    assert is_words(text)


@pytest.mark.parametrize("text", ["name contains x", "size > 3", "'a' in folders", "fullText='x'"])
def test_an_attempt_at_the_syntax_is_no_words(text: str) -> None:
    assert not is_words(text)


def test_a_query_that_is_too_long_is_refused() -> None:
    with pytest.raises(ToolError, match="9000 characters"):
        read_query("x" * 9000)


def test_terms_are_all_comparisons() -> None:
    query = read_query("not (name = 'a' or trashed = true) and 'x' in parents")
    assert [term.field for term in terms(query)] == ["name", "trashed", "parents"]


def test_an_order_has_keys_and_directions() -> None:
    assert read_order("folder, modifiedTime desc,name") == (
        ("folder", False),
        ("modifiedTime", True),
        ("name", False),
    )
    assert read_order("") == ()
    assert all(read_order(key) for key in KEYS)


@pytest.mark.parametrize("text", ["size", "name up", "name desc desc"])
def test_an_unknown_order_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match="is no order"):
        read_order(text)
