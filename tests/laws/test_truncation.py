"""A text that breaks off anywhere is read: events and problems, and no call more than there is.

A call is complete (`ended`) once its own closing was seen: the tag that ends its arguments, or the
bracket that ends their JSON; a wrapper around calls, and a token that servers leave out, may still
come. So what comes after cannot change it: such a call in the start of a text is a call of the
whole text, the same. Only what is no longer a call at all, for the words that follow it, was one;
then its input is all there.
"""

from __future__ import annotations

import json
import re

import pytest

from callblocks.core.calls import Call
from callblocks.core.events import CallInput, CallReady, Event
from callblocks.core.json_values import same
from callblocks.parsing.values.python_values import read_arguments
from support.corpus import Case, cases_of, naming, options
from support.event_verifier import verify
from support.sampling import sample
from support.text_pieces import NAMES, read

# A text that scissors-cat holds is given back where it ends without the delimiter.
HELD = (
    "a chat block in a json string is its text",
    "an emoji bracket in a json string is its text",
)
# A line of backticks, or a closing tag, closes where the text ends; what follows it may show that
# it stood in a value.
SEEN = re.compile(r"(\n {0,3}(`{3,}|~{3,})|</[^<>]+>)\s*\Z")


def ended(events: list[Event]) -> dict[int, Call]:
    """The complete calls, by where they start."""
    calls = [event.call for event in events if isinstance(event, CallReady)]
    return {call.span[0]: call for call in calls if call.ended}


def is_whole(events: list[Event], call: Call) -> bool:
    """Whether what was said of a call's input is all of it: JSON, or Python's brackets."""
    start, stop = call.span
    inputs = [event for event in events if isinstance(event, CallInput)]
    raw = "".join(event.text for event in inputs if start <= event.span[0] < stop)
    try:
        read_arguments(raw, strict=True) if raw.startswith("(") else json.loads(raw)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.no_cover  # the corpus walks every way
def test_no_call_is_complete_before_its_closing_was_seen(dialect: str) -> None:
    for case in cases_of(dialect):
        if case.title not in HELD:
            with naming(case):
                check_starts(case)


def check_starts(case: Case) -> None:
    """Break the text of a case off at each third place; the next case begins elsewhere."""
    text, given, dialect = case.text, options(case), case.dialect
    whole = ended(read(dialect, [text], **given))
    for end in sample(range(len(text)), of=3, seed=case.title):
        start = text[:end]
        events = read(dialect, [start], **given)
        verify(start, events, given.get("reasoning", ()))
        for at, call in ended(events).items():
            later = whole.get(at)
            is_there = later and same([call.name, call.input], [later.name, later.input])
            was_whole = SEEN.search(start) or (later is None and is_whole(events, call))
            assert is_there or was_whole, f"{start!r} has a call that is not there: {call}"
