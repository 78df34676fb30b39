"""A text that breaks off anywhere is read: events and problems, and no call more than there is.

A call is complete (`ended`) once its closing was seen. So what comes after cannot change it: such
a call in the start of a text is a call of the whole text, the same, and ends before the cut.
Two dialects have closings that more text can make longer, or turn into others: a line of backticks,
and the old form of a display, which ends where no result follows.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from callblocks.model.calls import Call
from callblocks.model.events import CallReady, Event
from callblocks.parsing.same import same
from support.corpus import CASES, content, options
from support.reading import read
from support.verifying import verify

SEEN = {
    "tool-fence": re.compile(r"\n {0,3}(`{3,}|~{3,})\s*\Z"),
    "chat-blocks": re.compile(r"\A\S+ \*\*Tool Call:\*\* `[^`]*`"),
}
# A text that scissors-cat holds is given back where it ends without the delimiter.
HELD = (
    "a-chat-block-in-a-json-string-is-its-text",
    "an-emoji-bracket-in-a-json-string-is-its-text",
)


def seen_closing(call: Call, text: str) -> bool:
    """Whether the text ends with a closing that could have become another."""
    closing = SEEN.get(call.dialect)
    return closing is not None and closing.search(text[call.span[0] :].lstrip("\n")) is not None


def ended(events: list[Event]) -> dict[int, Call]:
    """The complete calls, by where they start."""
    calls = [event.call for event in events if isinstance(event, CallReady)]
    return {call.span[0]: call for call in calls if call.ended}


@pytest.mark.parametrize(
    "path",
    [path for path in CASES if path.stem not in HELD],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
@pytest.mark.no_cover  # the corpus walks every way
def test_no_call_is_complete_before_its_closing_was_seen(path: Path) -> None:
    text, given, dialect = content(path), options(path), path.parent.name
    whole = ended(read(dialect, [text], **given))
    for end in range(len(text)):
        start = text[:end]
        events = read(dialect, [start], **given)
        verify(start, events, given.get("reasoning", ()))
        for at, call in ended(events).items():
            if seen_closing(call, start):
                continue
            later = whole.get(at)
            assert later is not None, f"{start!r} has a call that the whole text has not: {call}"
            assert same([call.name, call.input], [later.name, later.input]), start
            assert not text[end : later.span[1]].strip(), f"{call.name} ends after {start!r}"
