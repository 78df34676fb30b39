"""Law 7: nothing is silent. The name of a declared tool in the form of a call is never plain prose.

Each text of the corpus is damaged, one character at a time, inside its markup: the character is
dropped, doubled or replaced. Then every call of the text is still a call, or something was said of
the place where it stood. `CALLBLOCKS_DAMAGES=20` damages every text at 20 places instead of one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from callblocks import Parser, ToolSpec, dialects, parse
from callblocks.core.calls import Call, Span
from callblocks.core.events import CallInput
from callblocks.parser import AUTO
from callblocks.parsing.dialect import Parsed
from callblocks.parsing.engine.unread import is_common
from callblocks.parsing.loop import Setting
from support.corpus import Case, cases_of, options
from support.damage import damages, place_of, touches
from support.example_counts import try_each
from support.sampling import sample
from support.soup import soup
from support.text_pieces import NAMES

DAMAGES = int(os.environ.get("CALLBLOCKS_DAMAGES", "1"))
EXAMPLES = max(20, settings().max_examples)
LEAST_MISSPELT = 4
CODE = re.compile(r"(?<=[^\n`])(`{1,2})(?!`)[^\n]+?(?<!`)\1(?!`)|<code>[^\n]+?</code>")
RUNS = ("``", "``x", "``.", "``1", "`x`", "x``", "```x", "x```", "````", "~~1", "~~`", "~x~")
TOOLS = (ToolSpec("get_weather"), ToolSpec("read-file"))


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


def is_told(read: Parsed, span: Span) -> bool:
    """Whether a call is read where a call stood, or something is said of that place."""
    start, end = span
    if any(
        start - 1 <= one.span[0] < end or one.span[0] <= start < one.span[1] for one in read.calls
    ):
        return True
    places = (place for event in read.problems if (place := place_of(event)))
    return any(touches(place, span) for place in places)


def name_place(text: str, call: Call) -> Span | None:
    """Where a call has the name of its tool, as a word of its own."""
    start, end = call.span
    hit = re.compile(_word(call.name)).search(text, start, end) if call.name else None
    return hit and hit.span()


def is_name(text: str, place: Span, end: int, name: str, *, guessed: bool) -> bool:
    """Whether the name of a tool still stands at a place, in what may be a call up to `end`.

    It does not where the damage glued it to another word; a name of four letters may have one
    letter too many. Where dialects are guessed, code inside a line is a mention, and so are a tag
    alone that has the name of a tool, `<now>`, and a name behind two guillemets: one
    of them quotes.
    """
    start = max(0, place[0] - 1)
    more = r"[\w-]?" if len(name) >= LEAST_MISSPELT else ""
    word = re.compile(_word(name, more))
    if not any(word.match(text, at) for at in range(start, place[0] + 2)):
        return False
    code = (hit.span() for hit in CODE.finditer(text))
    is_code = any(first < place[1] and place[0] < last for first, last in code)
    tag = re.compile(rf"<\w?{re.escape(name)}\w?\s*>(?!.*</?\w?{re.escape(name)})", re.DOTALL)
    is_tag = any(tag.match(text, at, end) for at in (place[0] - 1, place[0] - 2) if at >= 0)
    is_quoted = bool(re.search(r"[«»‹›]{2}\s?\Z", text[: place[0]]))
    return not (guessed and (is_code or is_tag or is_quoted))


def _word(name: str, more: str = "") -> str:
    return rf"(?<![\w-]){more}{re.escape(name)}{more}(?![\w-])"


def check_damages(case: Case, dialect: str) -> None:
    """Damage the text of a case."""
    for text in silent_damages(case, dialect, DAMAGES):
        pytest.fail(f"{case}: {text!r}")


def silent_damages(case: Case, dialect: str, count: int) -> Iterator[str]:
    """Yield the damaged texts of a case that tell nobody of a call."""
    text, given = case.text, options(case)
    names = dict.fromkeys(call.name for call in parse(text, case.dialect, **given).calls)
    given: dict[str, Any] = {"tools": [ToolSpec(name) for name in names]} | given
    guessed = dialect == AUTO and given.get("in_code_fences") is not True
    known = {tool.name for tool in given["tools"]}
    read = parse(text, dialect, **given)
    calls = [call for call in read.calls if call.name in known]
    names_at = {call.id: name_place(text, call) for call in calls}
    places = markup(read, text, calls)
    random = Random(case.title)
    for at in random.sample(places, min(count, len(places))):
        for damage in damages(text, at):
            found = parse(damage.text, dialect, **given)
            for call in calls:
                place, end = names_at[call.id], damage.moved(call.span)[1]
                if (
                    place
                    and is_name(damage.text, damage.moved(place), end, call.name, guessed=guessed)
                    and not is_told(found, damage.moved(call.span))
                ):
                    yield damage.text


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.no_cover  # the corpus walks every way
def test_a_call_with_damaged_markup_is_never_lost_without_a_word(dialect: str) -> None:
    # One half of the cases is read as its own dialect, the other half is guessed.
    for seed, named in enumerate(dict.fromkeys((dialect, AUTO))):
        for case in sample(cases_of(dialect), of=2, seed=seed):
            check_damages(case, named)


@pytest.mark.parametrize("dialect", ["tool-fence", AUTO])
def test_a_tool_fence_with_a_damaged_run_is_told(dialect: str) -> None:
    parts = product(RUNS, ("", " ", "   ", "\t"), ("tool", "Tool"), (" ", "   "), ("", " c1  "))
    texts = [
        f"{before}{run}{blanks}{word}{gap}read-file{rest}\ninput: {{}}\n```\n"
        for run, blanks, word, gap, rest in parts
        for before in ("", "Here.\n")
    ]
    for text in sample(texts, of=8, seed=dialect):
        read = parse(text, dialect, tools=TOOLS)
        assert read.calls or read.problems, text


BRACKETS = str.maketrans("<>", "\uff1c\uff1e")
ESCAPED = str.maketrans({"<": "&lt;", ">": "&gt;"})
WEATHER = Call(id="c1", name="get_weather", input={"city": "Oslo"})
KNOWN = (ToolSpec("get_weather", "", {"properties": {"city": {"type": "string"}}}),)


@pytest.mark.parametrize("name", dialects)
def test_a_call_in_other_brackets_is_told(name: str) -> None:
    text = dialects[name].write([WEATHER], KNOWN)
    wide, escaped = text.translate(BRACKETS), text.translate(ESCAPED)
    # `chat-blocks` writes such brackets of prose as entities.
    named = [wide, escaped] if name != "chat-blocks" else [wide]
    for damaged, dialect in [(wide, AUTO), *((one, name) for one in named)]:
        read = parse(damaged, dialect, tools=KNOWN)
        assert read.calls or read.problems, (dialect, damaged)


@pytest.mark.parametrize("dialect", ["smolagents_code", AUTO])
@pytest.mark.parametrize("tag", ["code ", "CODE", " code", "Code "])
def test_code_in_a_damaged_tag_is_told(tag: str, dialect: str) -> None:
    text = f'<{tag}>\nget_weather(city="Oslo")\n</{tag}>'
    read = parse(text, dialect, tools=TOOLS)
    assert read.calls or read.problems


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("react_text", '> Action: get_weather\n> Action Input: {"city": "Oslo"}'),
        ("tool-fence", "`tool get_weather c1\ninput:\n  city: Oslo\n```\n"),
        ("tool-fence", "```yaml\n```tool get_weather c1\ninput:\n  city: Oslo\n```\n```\n"),
    ],
)
def test_a_call_in_a_quotation_of_markdown_is_told(dialect: str, text: str) -> None:
    read = parse(text, dialect, tools=TOOLS)
    assert read.calls or read.problems


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
