r"""Law 9: CRLF reads as LF does, spans apart.

A text is read twice, with `\n` and with `\r\n` at the end of each line. Both say the same events:
the same prose, calls, results and problems in the same order. What was written keeps its line ends
(in prose, in raw input, in values that a grammar takes as they are), so those are made equal
before the comparison. Spans, words for people, and limits that count characters are left out.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from callblocks.core.events import Event, join
from callblocks.core.specs import ToolSpec
from callblocks.parser import AUTO
from support.corpus import cases_of, options
from support.event_verifier import verify
from support.example_counts import try_each
from support.soup import soup
from support.text_pieces import NAMES, alike, read

EXAMPLES = max(30, settings().max_examples // 2)
LEFT_OUT = ("span", "place", "detail")
TOOLS = (
    ToolSpec("ls", "", {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}),
    ToolSpec("nothing", "", {}),
)
OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {}, optional={"in_code_fences": st.booleans(), "tools": st.just(TOOLS)}
)


def said(events: list[Event]) -> list[str]:
    """What is said, whatever the line ends and the places."""
    return [repr(_plain(msgspec.to_builtins(event))) for event in join(events)]


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\r\n", "\n")
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items() if key not in LEFT_OUT}
    return value


def check(dialect: str, text: str, given: dict[str, Any]) -> None:
    """Read a text with either line end; cut between the two characters of one, it is the same."""
    lines = text.replace("\n", "\r\n")
    whole = read(dialect, [lines], **given)
    verify(lines, whole, given.get("reasoning", ()))
    assert said(whole) == said(read(dialect, [text], **given)), text
    assert alike(read(dialect, list(lines), **given), whole), lines


@pytest.mark.parametrize("dialect", NAMES)
def test_crlf_reads_as_lf_does_in_the_corpus(dialect: str) -> None:
    for case in cases_of(dialect):
        text, given = case.text, options(case)
        if "\r" not in text and "\n" in text:
            given.pop("limits", None)
            check(dialect, text, given)


def test_crlf_reads_as_lf_does_where_the_dialect_is_guessed() -> None:
    for name in NAMES:
        for case in cases_of(name)[::5]:
            text, given = case.text, options(case)
            if "\r" not in text and "\n" in text:
                given.pop("limits", None)
                check(AUTO, text, given)


@pytest.mark.parametrize("dialect", NAMES)
def test_crlf_reads_as_lf_does_in_any_text(dialect: str) -> None:
    def check_one(case: tuple[str, dict[str, Any]]) -> None:
        text, given = case
        check(dialect, text.replace("\r", ""), given)

    try_each(dialect, EXAMPLES, st.tuples(soup(dialect), OPTIONS), check_one)
