"""Law 7: nothing is silent. The name of a declared tool in the form of a call is never plain prose.

Each text of the corpus is damaged, one character at a time, inside its markup: the character is
dropped, doubled or replaced. Then every call of the text is still a call, or something was said of
the place where it stood. `CALLBLOCKS_DAMAGES=20` damages every text at 20 places instead of one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from callblocks import Parser, ToolSpec, dialects, parse
from callblocks.model.calls import Call, Span
from callblocks.model.events import CallInput, Event, Malformed, Problem
from callblocks.parser import AUTO
from callblocks.parsing.engine import Setting
from callblocks.parsing.parsed import Parsed
from callblocks.parsing.unread import is_common
from support.corpus import cases_of, content, options
from support.reading import NAMES
from support.soup import soup
from support.strength import try_each

DAMAGES = int(os.environ.get("CALLBLOCKS_DAMAGES", "1"))
EXAMPLES = max(20, settings().max_examples)
TOOLS = (ToolSpec("get_weather"), ToolSpec("read-file"))
# Texts that tell nobody of a call once they are damaged, and why.
DATA, LINE = "an object of one text is data", "a line of its own is all the markup of the name"
FENCE = "a damaged fence makes code of what stands behind it, or has another language"
EXEMPT = {
    "a-name-may-be-empty": "no name is left to be found",
    "a-fenced-call-of-a-tool-that-needs-nothing-may-lack-arguments": DATA,
    "missing-arguments-are-an-empty-input": DATA,
    "a-call-that-the-next-one-closes-ends-a-thought": "a thought before a call is a plan",
    "law-old-calls-on-one-line-are-read-once-each": "the names stand in code spans",
    "a-backtick-in-the-name-of-an-old-call-is-a-name-alone": "the names stand in code spans",
    "an-escaped-tag-stands-beside-a-block": "prose that is shown unescaped has no places",
    "a-body-name-that-is-no-text-is-no-name": "the tool is called `tool`",
    "no-word-after-tool-is-the-tool-named-tool": "the tool is called `tool`",
    "a-quoted-blank-name-is-no-name": LINE,
    "a-blank-body-key-leaves-it-to-the-next": LINE,
    "code-may-begin-the-text": LINE,
    "a-call-may-be-one-tag": "`<now>` alone is a tag that may mean anything",
    "a-call-without-arguments-may-be-one-tag": "`<now>` alone is a tag that may mean anything",
    "an-unknown-element-costs-nothing-else": "`<now>` alone is a tag that may mean anything",
    "a-bare-call-without-its-bracket-is-a-call": "a bracket is all its markup",
    "calls-stand-in-a-fence-of-python": FENCE,
    "a-fence-of-a-known-tool-is-a-call": FENCE,
    "a-fence-of-another-language-is-prose": FENCE,
    "a-fence-that-does-not-fit-is-kept-raw": FENCE,
    "a-code-fence-in-a-body-is-body": FENCE,
    "a-fenced-python-call-is-a-call": FENCE,
    "a-closing-tag-in-a-string-ends-nothing": "`<code>` on one line is a code span",
    "an-old-call-stands-beside-a-tag": "a name of one letter",
    "an-old-call-may-be-a-name-alone": "the names stand in code spans",
    "a-damaged-whole-call-is-told": "the marker is damaged already",
    "a-fence-and-an-emoji-bracket-share-a-text": FENCE,
}


class Damage(NamedTuple):
    """A text with one character dropped, doubled or replaced."""

    text: str
    at: int
    longer: int

    def moved(self, span: Span) -> Span:
        """Where a place of the text is now."""
        start, end = (offset + self.longer * (offset > self.at) for offset in span)
        return start, end


def damages(text: str, at: int) -> Iterator[Damage]:
    other = "y" if text[at] == "x" else "x"
    yield Damage(text[:at] + text[at + 1 :], at, -1)
    yield Damage(text[: at + 1] + text[at:], at, 1)
    yield Damage(text[:at] + other + text[at + 1 :], at, 0)


def markup(read: Parsed, text: str, calls: list[Call]) -> list[int]:
    """Where the markup of calls stands: all but their names and their input."""
    places = {at for call in calls for at in range(*call.span)}
    for event in read.events:
        if isinstance(event, CallInput) and event.text:
            places -= set(range(*event.span))
    for call in calls:
        for hit in re.finditer(re.escape(call.name), text[slice(*call.span)]):
            places -= set(range(call.span[0] + hit.start(), call.span[0] + hit.end()))
    return sorted(places)


def place_of(event: Event) -> Span | None:
    match event:
        case Problem(place=place):
            return place
        case Malformed(text=text, span=(start, end)):
            return min(start, end - len(text)), end
        case _:
            return None


def is_told(read: Parsed, text: str, call: Call, span: Span) -> bool:
    """Whether something is said of the place where a call stood, or nobody could know of it."""
    start, end = span
    if any(
        start - 1 <= one.span[0] < end or one.span[0] <= start < one.span[1] for one in read.calls
    ):
        return True
    places = (place for event in read.problems if (place := place_of(event)))
    if any(first <= end and last >= start for first, last in places):
        return True
    # A short name is a name only as a whole word.
    pattern = (
        re.escape(call.name) if len(call.name) > 2 else rf"(?<!\w){re.escape(call.name)}(?!\w)"
    )
    return not re.search(pattern, text[max(0, start - 1) : end])


def check_damages(path: Path, dialect: str) -> None:
    """Damage the text of a case."""
    text, given = content(path), options(path)
    names = dict.fromkeys(call.name for call in parse(text, path.parent.name, **given).calls)
    given: dict[str, Any] = {"tools": [ToolSpec(name) for name in names]} | given
    known = {tool.name for tool in given["tools"]}
    read = parse(text, dialect, **given)
    calls = [call for call in read.calls if call.name in known]
    places = markup(read, text, calls)
    random = Random(path.stem)
    for at in random.sample(places, min(DAMAGES, len(places))):
        for damage in damages(text, at):
            found = parse(damage.text, dialect, **given)
            for call in calls:
                span = damage.moved(call.span)
                assert is_told(found, damage.text, call, span), f"{path.stem}: {damage.text!r}"


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.no_cover  # the corpus walks every way
def test_a_call_with_damaged_markup_is_never_lost_without_a_word(dialect: str) -> None:
    for path in cases_of(dialect):
        if path.stem not in EXEMPT:
            for named in dict.fromkeys((dialect, AUTO)):
                check_damages(path, named)


@pytest.mark.parametrize("dialect", NAMES)
def test_an_opener_with_the_name_of_a_tool_behind_it_is_told(dialect: str) -> None:
    owners = dialects.values() if dialect == AUTO else [dialects[dialect]]
    openers = sorted(
        {
            opener
            for owner in owners
            for opener in owner.openers(Setting(alone=dialect != AUTO))
            if isinstance(opener, str) and not is_common(opener)
        }
    )
    if not openers:
        return

    def check(case: tuple[str, str, str, str]) -> None:
        opener, blanks, name, rest = case
        parser = Parser(dialect, tools=TOOLS)
        parser.attempts = []
        head = opener + blanks + name
        read = Parsed(parser.feed(head + rest) + parser.close())
        is_refused = any(one.refusal is not None for one in parser.attempts if not one.offset)
        if is_refused and read.text.startswith(head):
            assert read.calls or read.problems, head + rest

    names = st.sampled_from([tool.name for tool in TOOLS])
    blanks = st.sampled_from(["", " ", "\n"])
    cases = st.tuples(st.sampled_from(openers), blanks, names, soup(dialect))
    try_each(dialect, EXAMPLES, cases, check)
