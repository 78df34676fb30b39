"""Gmail's search syntax: what is read, what is refused, and that writing is the way back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.mail_query import (
    OPERATORS,
    All,
    AnyOf,
    MailTerm,
    Not,
    Query,
    all_of,
    any_of,
    fault_of_value,
    read,
    read_age,
    read_date,
    read_size,
    write,
)

_WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"“”„'), min_size=1)
_SAID = _WORDS.map(str.strip).filter(lambda text: any(map(str.isalnum, text)))
_VALUES = {
    **dict.fromkeys(("before", "older", "after", "newer"), st.just("2026/01/31")),
    **dict.fromkeys(("older_than", "newer_than"), st.sampled_from(("3d", "2m", "1y"))),
    **dict.fromkeys(("larger", "smaller", "size"), st.sampled_from(("1000", "10K", "5M"))),
    "is": st.sampled_from(("unread", "starred")),
    "has": st.sampled_from(("attachment", "userlabels")),
    "category": st.just("social"),
}


def _terms(operator: str) -> st.SearchStrategy[Query]:
    return _VALUES.get(operator, _SAID).map(lambda value: MailTerm(value, operator))


def _larger(parts: st.SearchStrategy[Query]) -> st.SearchStrategy[Query]:
    several = st.lists(parts, min_size=1, max_size=4)
    return st.one_of(several.map(all_of), several.map(any_of), parts.map(Not))


TREES = st.recursive(st.sampled_from(("", *OPERATORS)).flatmap(_terms), _larger, max_leaves=8)


PIECES = (*("from:", "is:unread", "a", " ", "OR", "AND"), *'"(){}-:+')


def tree_or_refusal(text: str) -> Query | ToolError:
    try:
        return read(text)
    except ToolError as error:
        return error


@given(TREES)
@example(All())
@example(MailTerm("OR"))
@example(MailTerm("-x"))
@example(MailTerm("a:b"))
@example(Not(Not(MailTerm("x", "subject"))))
def test_a_written_tree_reads_as_itself(tree: Query) -> None:
    assert read(write(tree)) == tree


@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(PIECES),
            max_size=20,
        ).map("".join),
    )
)
def test_any_text_is_read_or_refused(text: str) -> None:
    found = tree_or_refusal(text)
    if isinstance(found, ToolError):
        assert found.code == "invalid_input"
        assert found.details["query"] == found.message
    else:
        assert read(write(found)) == found


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", All()),
        ("plan", MailTerm("plan")),
        ("a b", All((MailTerm("a"), MailTerm("b")))),
        ("a AND b", All((MailTerm("a"), MailTerm("b")))),
        ("a OR b c", All((AnyOf((MailTerm("a"), MailTerm("b"))), MailTerm("c")))),
        ("{a b}", AnyOf((MailTerm("a"), MailTerm("b")))),
        ("a or b", All((MailTerm("a"), MailTerm("or"), MailTerm("b")))),
        ("-from:bob", Not(MailTerm("bob", "from"))),
        ("-(a b)", Not(All((MailTerm("a"), MailTerm("b"))))),
        ("Subject:(x OR y)", AnyOf((MailTerm("x", "subject"), MailTerm("y", "subject")))),
        ("from:{a b}", AnyOf((MailTerm("a", "from"), MailTerm("b", "from")))),
        ('subject:"the plan"', MailTerm("the plan", "subject")),
        ("subject:“the plan”", MailTerm("the plan", "subject")),
        ("subject: plan", MailTerm("plan", "subject")),
        (
            "https://example.com/a 10:30",
            All((MailTerm("https://example.com/a"), MailTerm("10:30"))),
        ),
        ("a - b & c", All((MailTerm("a"), MailTerm("b"), MailTerm("c")))),
        ("a-b +c", All((MailTerm("a-b"), MailTerm("c")))),
        ("rfc822msgid:<a:b@c>", MailTerm("<a:b@c>", "rfc822msgid")),
    ],
)
def test_a_query_is_read(text: str, tree: Query) -> None:
    assert read(text) == tree


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("form:bob", "there are: from, to, cc"),
        ("Re: plan", 'put text that has a colon in "quotes"'),
        ("from:", "from: has no value"),
        ("from: OR", ""),
        ('from:""', "has no value"),
        ("before:soon", "write a date such as 2026/01/31"),
        ("after:2026/13/01", "write a date"),
        ("older_than:3w", "such as 3d, 2m or 1y"),
        ("larger:big", "10K or 5M"),
        ("is:old", "there are: unread, read"),
        ("has:(attachment cats)", "there are: attachment"),
        ("category:x", "there are: primary"),
        ("(a", "the ( at character 1 is not closed by )"),
        ("a }", "the } at character 3 closes nothing"),
        ('say "a', "the quote at character 5 is not closed"),
        ("()", "is empty"),
        ("OR a", "something is missing"),
        ("a OR", "something is missing"),
        ("-OR", "something is missing"),
        ("(" * 30 + "a" + ")" * 30, "more than 20 deep"),
        ("-" * 1_000 + "a", "more than 20 deep"),
        ("a" * 2_001, "at most 2000"),
    ],
)
def test_what_is_no_query_is_refused_with_a_way_out(text: str, words: str) -> None:
    if not words:
        assert read(text) == MailTerm("OR", "from")
        return
    with pytest.raises(ToolError) as raised:
        read(text)
    assert raised.value.code == "invalid_input"
    assert words in raised.value.message


def test_dates_ages_and_sizes_are_read() -> None:
    day = read_date("2026/01/31")
    assert day is not None
    assert read_date("2026-1-31") == read_date("1/31/2026") == day
    assert read_date("1769860800") == 1769860800
    assert read_date("2026/02/30") is None
    assert read_age("0d", day) == day
    assert read_age("1M", day) == read_date("2025/12/31")
    assert read_age("11m", day) == read_date("2025/02/28")
    assert read_age("1y", day) == read_date("2025/01/31")
    assert read_age("30d", day) == read_date("2026/01/01")
    assert read_age("99999y", day) == 0
    assert read_age("x", day) is None
    assert (read_size("10"), read_size("2k"), read_size("3MB")) == (10, 2048, 3 * 1024 * 1024)
    assert read_size("-1") is None
    assert fault_of_value("from", "anything") == ""
