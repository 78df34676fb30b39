"""Calls in thoughts, for every dialect, with its own reasoning markers or with those of a caller.

Each complete call of the corpus is put into a thought. If the thought is never closed, it is a call
or a problem says that it was not read. If it is closed, nothing of the thought is shown as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from callblocks import dialects, parse
from callblocks.core.specs import ToolSpec, specs_by_name
from callblocks.parsing.dialect import Parsed
from support.corpus import cases_of, options
from support.event_verifier import verify
from support.sampling import sample
from support.text_pieces import alike, cut, read

GIVEN = (("<think>", "</think>"),)
BEFORE = "Hm.\n"
FENCE = "```"
MESSAGES = ("gpt_oss", "inkling")
"""Dialects in which every call is a message of its own, which ends the thought before it."""


class Quoted(NamedTuple):
    """A call of the corpus, and how it is read in a thought between two markers."""

    name: str
    text: str
    opening: str
    closing: str
    options: dict[str, Any]


@cache
def quoted(dialect: str) -> tuple[Quoted, ...]:
    return tuple(_quoted(dialect))


def _quoted(dialect: str) -> Iterator[Quoted]:
    for case in cases_of(dialect):
        other = ("reasoning", "in_reasoning")
        given = {key: value for key, value in options(case).items() if key not in other}
        whole = case.text
        for call in parse(whole, dialect, **given).calls[:1]:
            text = whole[slice(*call.span)]
            tools = {call.name: ToolSpec(call.name), **specs_by_name(given.get("tools", ()))}
            how = {**given, "tools": tuple(tools.values())}
            if not any(one.ended for one in parse(BEFORE + text, dialect, **how).calls):
                continue  # it is a call only where it stands
            own = dialects[dialect].reasoning
            how |= {} if own else {"reasoning": GIVEN}
            for opening, closing in (own or GIVEN)[:2]:
                if closing not in text or dialect in MESSAGES:
                    yield Quoted(call.name, text, opening, closing, how)


@pytest.mark.parametrize("dialect", dialects)
def test_a_call_in_a_thought_never_closed_is_a_call_or_a_problem(dialect: str) -> None:
    for one in sample(quoted(dialect), of=2, seed=0):
        text = f"{one.opening}{BEFORE}{one.text}"
        whole = read(dialect, [text], **one.options)
        verify(text, whole, GIVEN)
        parsed = Parsed(whole)
        is_called = one.name in [call.name for call in parsed.calls]
        # A code fence that is no opener of its dialect quotes what stands in it.
        assert is_called or parsed.problems or FENCE in one.text, text
        assert not parsed.text.strip(), text
        for pieces in (list(text), cut(text, [len(one.opening) + 2, len(text) - 3])):
            assert alike(read(dialect, pieces, **one.options), whole), text


@pytest.mark.parametrize("dialect", [name for name in dialects if name not in MESSAGES])
def test_nothing_of_a_closed_thought_is_shown(dialect: str) -> None:
    for one in sample(quoted(dialect), of=2, seed=1):
        text = f"{one.opening}{BEFORE}{one.text} So.{one.closing}Yes."
        whole = read(dialect, [text], **one.options)
        verify(text, whole, GIVEN)
        parsed = Parsed(whole)
        assert parsed.text.strip() == "Yes.", text
        assert parsed.reasoning.endswith(" So."), text
        if not dialects[dialect].calls_end_reasoning:
            assert not parsed.calls, text
        assert alike(read(dialect, list(text), **one.options), whole), text
