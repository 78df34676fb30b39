"""A fault costs what it stands in, and nothing else; no repair makes up a value or hides itself.

The texts come from each dialect's own writer. Then one thing is taken away, doubled or put in, the
way models do it, and what is left must be read: the neighbours as they were, the damaged call as it
was meant or not at all, and never without a word.

Two laws hold in every dialect, whichever place of the markup is damaged:

- A call whose value is not the written one has a problem, or one stands beside it.
- A call that is not read is in a place of which something is said.

What nobody can know is no fault of the reader:

- A text that the dialect itself writes for what was read, with no tag in a value, says just that:
  `<b>` doubled to `<b>>` puts a bracket before the value, and `</a><b>` dropped makes two values
  one.
- A call whose name is gone, or glued to a word, is not looked for.
- What a display shows is one text (`chat-blocks`): its value is whatever stands there.
- Code that is not only calls is a call of the interpreter (`smolagents_code`); a call of a tool
  that nobody declared says enough of all that it covers.

30 places of each text are tried, with `CALLBLOCKS_FULL=1` 60. `CALLBLOCKS_DAMAGES=20` tries 20
times as many; 100 are more than any text has.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import NamedTuple

import pytest

from callblocks import Call, ToolSpec, dialects, parse
from callblocks.core.calls import Span
from callblocks.core.errors import Unwritable
from callblocks.core.events import CallReady, Malformed
from callblocks.core.specs import specs_by_name
from callblocks.parser import AUTO
from callblocks.parsing.dialect import Dialect, Parsed
from callblocks.parsing.loop import Setting
from callblocks.parsing.shapes.json_calls import JsonCalls, NamedJson
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from support.damage import Damage, faults, leaves, place_of, tags_in, touches
from support.sampling import share

PLACES = share(60, of=2) * int(os.environ.get("CALLBLOCKS_DAMAGES", "1"))
TEXT = {"type": "string"}
TOOLS = [
    ToolSpec(name, "", {"type": "object", "properties": {"first": TEXT, "second": TEXT}})
    for name in ("left", "middle", "right")
]
ONE = Call(id="m", name="middle", input={"first": "alpha", "second": "omega"})
ROW = [
    Call(id="l", name="left", input={"first": "west"}),
    ONE,
    Call(id="r", name="right", input={"first": "east"}),
]
SHAPED = {name: one for name, one in dialects.items() if isinstance(one, XmlParameters)}
JSON = [name for name, one in dialects.items() if isinstance(one, JsonCalls | NamedJson)]
TAGS = [name for name, one in SHAPED.items() if one.bodies() is None and one.tags.argument.shapes]


def written(dialect: Dialect, calls: list[Call]) -> str:
    try:
        # Writing would read it back; that the dialect reads these is what the tests are about.
        return dialect.compose(calls, specs_by_name(TOOLS))
    except Unwritable:
        return ""


def rows() -> Iterator[tuple[str, str]]:
    """Every dialect that can say three calls after each other, and how it does."""
    for name, dialect in dialects.items():
        if text := written(dialect, ROW):
            yield name, text


def closing(name: str, text: str, after: int) -> re.Match[str]:
    """The tag that ends the next value."""
    found = SHAPED[name].tags.argument_end.markers.final.search(text, after)
    assert found
    return found


def inputs(parsed: Parsed) -> dict[str, object]:
    return {call.name: call.input for call in parsed.calls}


def check_neighbours(name: str, text: str) -> None:
    """The calls on both sides are as they were; of the one between them something is said."""
    parsed = parse(text, name, tools=TOOLS)
    found = inputs(parsed)
    assert found.get("left") == {"first": "west"}, text
    assert found.get("right") == {"first": "east"}, text
    assert found.get("middle") == ONE.input or parsed.problems, text


ROWS = dict(rows())
UNMARKED = ("xlam", "llama3_json")
"""Without a marker only an object with a name and arguments is a call: another one is reported."""
WHOLE = ("scissors-cat", "smolagents_code")
"""What breaks their one value, or their one program, breaks all of it, as they are specified."""


@pytest.mark.parametrize(
    "name", [name for name, text in ROWS.items() if '"alpha"' in text and name not in WHOLE]
)
def test_a_value_that_is_missing_costs_one_call(name: str) -> None:
    check_neighbours(name, ROWS[name].replace('"alpha"', ""))


@pytest.mark.parametrize("name", JSON)
def test_a_comma_that_is_missing_or_doubled_costs_no_call(name: str) -> None:
    text = ROWS[name]
    for comma in re.finditer(r"(?<=[}\]]),\s*(?=[{\[])", text):
        for instead in ("", " ", ",,", "\n"):
            damaged = text[: comma.start()] + instead + text[comma.end() :]
            found = inputs(parse(damaged, name, tools=TOOLS))
            assert found == inputs(parse(text, name, tools=TOOLS)), damaged


@pytest.mark.parametrize("value", ['"find"', "5", "null", "find"])
@pytest.mark.parametrize("name", JSON)
def test_a_plain_value_before_the_calls_costs_none_of_them(name: str, value: str) -> None:
    text = ROWS[name]
    first = re.search(r"\[\s*(?=\{)", text[: text.index("west")])
    if not first:
        return
    parsed = parse(f"{text[: first.end()]}{value}, {text[first.end() :]}", name, tools=TOOLS)
    assert parsed.problems
    whole = inputs(parse(text, name, tools=TOOLS))
    assert inputs(parsed) == ({} if name in UNMARKED else whole)


@pytest.mark.parametrize("dialect", ["named", AUTO])
@pytest.mark.parametrize("name", [name for name in JSON if isinstance(dialects[name], JsonCalls)])
def test_a_name_that_is_the_only_key_is_a_name(name: str, dialect: str) -> None:
    text = written(dialects[name], [ONE])
    start = text.rindex("{", 0, text.index("middle"))
    _, end = json.JSONDecoder().raw_decode(text, start)
    keyed = text[:start] + json.dumps({"middle": ONE.input}) + text[end:]
    parsed = parse(keyed, AUTO if dialect == AUTO else name, tools=TOOLS)
    assert inputs(parsed) in ({}, {"middle": ONE.input})
    is_marked = dialect == "named" and name not in UNMARKED
    assert parsed.calls if is_marked else parsed.calls or parsed.problems, keyed


@pytest.mark.parametrize("name", JSON)
def test_a_key_that_stands_twice_has_its_last_value(name: str) -> None:
    text = written(dialects[name], [ONE])
    quote = '\\"' if '\\"first\\"' in text else '"'
    twice = text.replace(f"{quote}first{quote}:", f"{quote}first{quote}: 1, {quote}first{quote}:")
    parsed = parse(twice, name, tools=TOOLS)
    assert [call.input for call in parsed.calls] == [ONE.input]
    assert "repaired-keys" in {problem.code for problem in parsed.problems}
    strict = parse(twice, name, tools=TOOLS, strict=True)
    assert not strict.calls


@pytest.mark.parametrize("name", JSON)
@pytest.mark.parametrize("comment", ['// it\'s "one"\n', "/* it's } */", "# one\n"])
def test_a_comment_is_left_out(name: str, comment: str) -> None:
    text = written(dialects[name], [ONE])
    if '\\"first\\"' in text:
        comment = comment.replace('"', '\\"').replace("\n", "\\n")
    at = text.index("second") - (2 if '\\"first\\"' in text else 1)
    parsed = parse(text[:at] + comment + text[at:], name, tools=TOOLS)
    assert [call.input for call in parsed.calls] == [ONE.input]
    assert "repaired-comments" in {problem.code for problem in parsed.problems}
    assert not parse(text[:at] + comment + text[at:], name, tools=TOOLS, strict=True).calls


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", TAGS)
def test_a_value_that_is_not_closed_ends_where_the_next_begins(name: str, known: bool) -> None:
    tools, text = TOOLS if known else [], written(dialects[name], [ONE])
    after = text.index("alpha") + len("alpha")
    damaged = text[:after] + text[closing(name, text, after).end() :].lstrip("\n")
    parsed = parse(damaged, name, tools=tools)
    assert [call.input for call in parsed.calls] == [ONE.input], damaged
    assert {problem.code for problem in parsed.problems} == {"missing-closer"}
    strict = parse(damaged, name, tools=tools, strict=True)
    assert not strict.calls
    assert any(isinstance(one, Malformed) for one in strict.problems)


@pytest.mark.parametrize("name", TAGS)
def test_words_between_arguments_are_in_no_value(name: str) -> None:
    text = written(dialects[name], [ONE])
    end = closing(name, text, text.index("alpha")).end()
    damaged = f"{text[:end]} and {text[end:]}"
    parsed = parse(damaged, name, tools=TOOLS)
    assert [call.input for call in parsed.calls] == [ONE.input], damaged
    assert {problem.code for problem in parsed.problems} == {"stray-text"}


@pytest.mark.parametrize("name", TAGS)
def test_an_argument_that_lacks_its_end_loses_no_call_behind_prose(name: str) -> None:
    dialect = SHAPED[name]
    first, second = (
        written(dialect, [Call(id=one, name=one, input={"first": "alpha"})])
        for one in ("left", "right")
    )
    end = dialect.tags.argument_end.markers.final.search(first, first.index("alpha"))
    assert end
    text = f"{first[: end.start()]}{first[end.end() :]}\nThen:\n{second}"
    parsed = parse(text, name, tools=TOOLS)
    assert [call.input for call in parsed.calls] == [{"first": "alpha"}] * 2, text
    assert parsed.problems


@pytest.mark.parametrize("name", TAGS)
def test_a_value_that_quotes_its_own_tags_is_whole(name: str) -> None:
    dialect = SHAPED[name]
    quoted = written(dialect, [Call(id="m", name="middle", input={"second": "omega"})])
    first, last = dialect.tags.argument_marks.search(quoted), closing(name, quoted, 0)
    assert first
    element = quoted[first.start() : last.end()]
    call = Call(id="m", name="middle", input={"first": f"See {element} there."})
    parsed = parse(dialect.write([call], TOOLS), name, tools=TOOLS)
    assert [one.input for one in parsed.calls] == [call.input]


@pytest.mark.parametrize("name", TAGS)
def test_an_argument_that_is_given_again_and_again_is_a_list(name: str) -> None:
    dialect = dialects[name]
    many = {"type": "array", "items": TEXT}
    tool = ToolSpec("middle", "", {"type": "object", "properties": {"first": many, "second": TEXT}})
    text = written(dialect, [ONE]).replace("second", "first")
    parsed = parse(text, name, tools=[tool])
    assert [call.input for call in parsed.calls] == [{"first": ["alpha", "omega"]}]
    assert [problem.code for problem in parsed.problems] == ["repaired-repeats"]


@pytest.mark.parametrize("name", [name for name, one in dialects.items() if one.closers])
def test_a_closer_that_closes_nothing_is_no_text(name: str) -> None:
    text = written(dialects[name], [ONE])
    for closer in dialects[name].closers:
        for behind in (closer, f"\n{closer}{closer}", f" {closer} More.", f" More. {closer}"):
            parsed = parse(text + behind, name, tools=TOOLS)
            assert [call.input for call in parsed.calls] == [ONE.input]
            assert closer not in parsed.text, text + behind
            # What may follow a call is no stray where it follows right away.
            may_follow = closer in getattr(dialects[name], "trailing", ())
            codes = {one.code for one in parsed.problems}
            assert codes == {"stray-closer"} or (may_follow and not codes), text + behind
        prose = f"They end with {closer.removeprefix('<0x0A>')} or so."
        assert parse(prose, name, tools=TOOLS).text == prose


FRAMED = ("gpt_oss", "inkling")
"""A message without contents may stand before a call of theirs."""


@pytest.mark.parametrize("name", dialects)
def test_an_opening_marker_that_stands_twice_is_no_text(name: str) -> None:
    text = written(dialects[name], [ONE])
    openers = dialects[name].openers(Setting(alone=False))
    firsts = [one for one in openers if isinstance(one, str) and text.startswith(one)]
    markers = [one for one in firsts if one[-1] in "]>" and len(one) > len("<code>")]
    for first in markers if name not in FRAMED else ():
        for behind in ("", "\n"):
            parsed = parse(first + behind + text, name, tools=TOOLS)
            assert [call.input for call in parsed.calls] == [ONE.input]
            assert first not in parsed.text
            assert parsed.problems
        prose = f"They begin with {first}{first}, which is a mistake."
        assert parse(prose, name, tools=TOOLS).text == prose


def spec(name: str, **properties: str) -> ToolSpec:
    schemas = {key: {"type": kind} for key, kind in properties.items()}
    return ToolSpec(name, "", {"type": "object", "properties": schemas})


SHORT = (
    [
        spec("left", town="string", days="integer"),
        spec("middle", path="string", count="integer", names="array"),
        spec("right", place="string", size="integer"),
    ],
    [
        Call(id="l", name="left", input={"town": "Oslo", "days": 7}),
        Call(
            id="m",
            name="middle",
            input={"path": "alpha.txt", "count": 41, "names": ["Ada", "Bob"]},
        ),
        Call(id="r", name="right", input={"place": "east", "size": 9}),
    ],
)
LONG = (
    [
        spec("left", town="string", days="string"),
        spec("middle", path="string", count="object", names="boolean"),
        spec("right", place="string", size="string"),
    ],
    [
        Call(id="l", name="left", input={"town": "Oslo", "days": "seven"}),
        Call(
            id="m",
            name="middle",
            input={
                "path": "alpha.txt\nbeta, it's",
                "count": {"kind": "Ada", "deep": [41, 7]},
                "names": True,
            },
        ),
        Call(id="r", name="right", input={"place": "east"}),
    ],
)
CANNOT_WRITE = ("emoji-bracket", "emoji-bracket+", "minimax_m3")
"""They have no form for the long row: a bracket in a head, numbers in an object without schema."""
ONE_TEXT = ("chat-blocks",)
MENTIONS = ("smolagents_code",)
"""Where dialects are guessed, two tags `<code>` in a line quote what stands behind them."""

# Where dialects are guessed, doubled guillemets quote what stands behind them.
DOUBLED_QUOTE = "««"

SHARED = ("morph_xml",)
"""Guessed, it is read as `cline`, which writes texts of several lines otherwise."""


class Whole(NamedTuple):
    """What a dialect writes for a row of calls."""

    text: str
    calls: list[Call]
    tools: list[ToolSpec]
    faults: list[Damage]


class Fault:
    """A text with a fault, as it is read, and as it was meant."""

    def __init__(self, name: str, dialect: str, damage: Damage, whole: Whole) -> None:
        self.text = damage.text
        self._name, self._damage, self._whole = name, damage, whole
        self._read = parse(damage.text, dialect, tools=whole.tools)
        self._names = Counter(call.name for call in self._read.calls)
        self._meant = {call.name: call for call in whole.calls}
        told = self._read.problems
        self._places = [place for one in told if (place := place_of(one))]
        self._told = {one.index for one in told if one.index is not None}

    def wrong(self) -> Iterator[Call]:
        """Yield the calls with another input than the written one of which nothing is said."""
        for event in self._read.events:
            if not isinstance(event, CallReady) or event.call.name not in self._meant:
                continue
            call, meant = event.call, self._meant[event.call.name]
            is_same = call.input == meant.input and self._names[call.name] == 1
            if not is_same and event.index not in self._told and not self._is_told(call.span):
                yield call

    def lost(self) -> Iterator[Call]:
        """Yield the calls that are not read, and of whose place nothing is said."""
        for call in self._whole.calls:
            start, end = place = self._damage.moved(call.span)
            word = rf"(?<![\w-])[\w-]?{call.name}[\w-]?(?![\w-])"
            is_named = re.search(word, self.text[max(0, start - 1) : end + 1])
            if is_named and call.name not in self._names and not self._is_told(place):
                yield call

    def is_honest(self) -> bool:
        """Whether the dialect writes this very text for what was read, with no tag in a value."""
        tags = tags_in(self._whole.text)
        values = [leaf for call in self._read.calls for leaf in leaves(call.input)]
        if any(tag in leaf for leaf in values for tag in tags):
            return False
        names = {call.dialect for call in self._read.calls} | {self._name}
        return any(self._is_written_in(name) for name in names)

    def _is_written_in(self, name: str) -> bool:
        try:
            return dialects[name].write(self._read.items, self._whole.tools) == self.text
        except Unwritable:
            return False

    def _is_told(self, place: Span) -> bool:
        unknown = (call.span for call in self._read.calls if call.name not in self._meant)
        return any(touches(one, place) for one in (*self._places, *unknown))


@cache
def whole(name: str, is_long: bool) -> Whole:
    tools, row = LONG if is_long else SHORT
    text = dialects[name].write(row, tools)
    calls = parse(text, name, tools=tools).calls
    every = list(faults(text, row))
    return Whole(text, calls, tools, Random(name).sample(every, min(PLACES, len(every))))


def read_faults(name: str, dialect: str) -> Iterator[Fault]:
    """Read texts with a fault in the dialect that wrote them, or by guessing."""
    for is_long in (False, True) if name not in CANNOT_WRITE else (False,):
        row = whole(name, is_long)
        if is_guessable(row, dialect):
            for damage in row.faults:
                yield Fault(name, dialect, damage, row)


def is_guessable(row: Whole, dialect: str) -> bool:
    read = parse(row.text, dialect, tools=row.tools)
    return dialect != AUTO or [one.input for one in read.calls] == [one.input for one in row.calls]


@pytest.mark.parametrize("dialect", ["named", AUTO])
@pytest.mark.parametrize("name", [name for name in dialects if name not in ONE_TEXT])
@pytest.mark.no_cover  # the corpus walks every way
def test_damaged_markup_gives_no_wrong_value_without_a_word(name: str, dialect: str) -> None:
    if dialect == AUTO and name in SHARED:
        return
    for fault in read_faults(name, AUTO if dialect == AUTO else name):
        wrong = list(fault.wrong())
        assert not wrong or fault.is_honest(), (fault.text, wrong)


@pytest.mark.parametrize("dialect", ["named", AUTO])
@pytest.mark.parametrize("name", dialects)
@pytest.mark.no_cover
def test_a_fault_in_one_call_loses_no_other_without_a_word(name: str, dialect: str) -> None:
    if dialect == AUTO and name in MENTIONS:
        return
    for fault in read_faults(name, AUTO if dialect == AUTO else name):
        if dialect == AUTO and DOUBLED_QUOTE in fault.text:
            continue
        lost = list(fault.lost())
        assert not lost or fault.is_honest(), (fault.text, lost)
