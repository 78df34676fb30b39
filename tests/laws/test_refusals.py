"""Attempts say why a text was read as it was, and change nothing about how it is read.

A refusal says what was expected at a place of the text, and what stands there instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from callblocks import Parser
from callblocks.core.events import Event
from callblocks.core.specs import ToolSpec
from support.attempts import attempts
from support.corpus import cases_of, options
from support.example_counts import try_each
from support.sampling import sample
from support.soup import soup
from support.text_pieces import NAMES, cut, read

EXAMPLES = max(12, settings().max_examples // 4)
FOUND = 20
TOOLS = (ToolSpec("ls"), ToolSpec("nothing"))
ONLY_MARKERS = re.compile(r"(?:`[^`…]+`(?:, | or |\Z))+")


@pytest.mark.parametrize("dialect", NAMES)
def test_each_refusal_names_what_was_expected_and_what_stands_there(dialect: str) -> None:
    for case in sample(cases_of(dialect), of=2, seed=dialect):
        text = case.text
        for attempt in attempts(dialect, text, **options(case)):
            if attempt.refusal is None:
                continue
            expected, found, at = attempt.refusal
            told = (str(case), attempt.owner, attempt.marker, attempt.refusal)
            assert expected, told
            assert attempt.offset <= at <= len(text), told
            assert text[at : at + FOUND].startswith(found), told
            assert found or at == len(text), told
            if ONLY_MARKERS.fullmatch(expected):
                markers = tuple(re.findall("`([^`]+)`", expected))
                assert not text.startswith(markers, at), told


@pytest.mark.parametrize("dialect", NAMES)
def test_keeping_attempts_changes_no_event(dialect: str) -> None:
    for case in cases_of(dialect):
        check_attempts_kept(dialect, case.text, **options(case))

    def check(case: tuple[str, tuple[ToolSpec, ...], list[int]]) -> None:
        text, tools, places = case
        for pieces in ([text], cut(text, [at for at in places if at < len(text)])):
            check_attempts_kept(dialect, *pieces, tools=tools)

    key = st.sampled_from(["", '{"x {"name": "ls", "arguments": {}}', '[{"x [{"name": "ls"'])
    texts = st.builds("".join, st.tuples(soup(dialect), key, soup(dialect)))
    tools = st.sampled_from([(), TOOLS])
    places = st.lists(st.integers(0, 80), max_size=8)
    try_each(dialect, EXAMPLES, st.tuples(texts, tools, places), check)


def check_attempts_kept(dialect: str, *pieces: str, **given: Any) -> None:
    """Read a text with attempts and without: the events are equal one by one, cut alike."""
    kept, events = read_with_attempts(dialect, pieces, **given), read(dialect, pieces, **given)
    # Only what holds NaN is unequal to itself: then the spelling tells.
    assert kept == events or repr(kept) == repr(events), pieces


def read_with_attempts(dialect: str, pieces: Iterable[str], **given: Any) -> list[Event]:
    parser = Parser(dialect, **given)
    parser.attempts = []
    return [event for piece in pieces for event in parser.feed(piece)] + parser.close()
