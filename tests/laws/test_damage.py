"""A fault costs what it stands in, and nothing else; no repair makes up a value or hides itself.

The texts come from each dialect's own writer. Then one thing is taken away, doubled or put in, the
way models do it, and what is left must be read: the neighbours as they were, the damaged call as it
was meant or not at all, and never without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from callblocks import Call, ToolSpec, dialects, parse
from callblocks.model.errors import Unwritable
from callblocks.model.events import Malformed
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.parsed import Parsed
from callblocks.parsing.shapes.json_calls import JsonCalls
from callblocks.parsing.shapes.named_json import NamedJson
from callblocks.parsing.shapes.xml_parameters import XmlParameters

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
JSON = [name for name, one in dialects.items() if isinstance(one, JsonCalls | NamedJson)]
TAGS = [
    name
    for name, one in dialects.items()
    if isinstance(one, XmlParameters) and one.bodies() is None and one.tags.argument.shapes
]


def written(dialect: Dialect, calls: list[Call]) -> str:
    try:
        return dialect.write(calls, TOOLS)
    except Unwritable:
        return ""


def rows() -> Iterator[tuple[str, str]]:
    """Every dialect that can say three calls after each other, and how it does."""
    for name, dialect in dialects.items():
        if text := written(dialect, ROW):
            yield name, text


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
    dialect, tools = dialects[name], TOOLS if known else []
    text = written(dialect, [ONE])
    after = text.index("alpha") + len("alpha")
    end = dialect.tags.argument_end.markers.final.search(text, after)  # pyright: ignore
    damaged = text[:after] + text[end.end() :].lstrip("\n")
    parsed = parse(damaged, name, tools=tools)
    assert [call.input for call in parsed.calls] == [ONE.input], damaged
    assert {problem.code for problem in parsed.problems} == {"missing-closer"}
    strict = parse(damaged, name, tools=tools, strict=True)
    assert not strict.calls
    assert any(isinstance(one, Malformed) for one in strict.problems)


@pytest.mark.parametrize("name", TAGS)
def test_words_between_arguments_are_in_no_value(name: str) -> None:
    dialect = dialects[name]
    text = written(dialect, [ONE])
    end = dialect.tags.argument_end.markers.final.search(text, text.index("alpha"))  # pyright: ignore
    damaged = text[: end.end()] + " and " + text[end.end() :]
    parsed = parse(damaged, name, tools=TOOLS)
    assert [call.input for call in parsed.calls] == [ONE.input], damaged
    assert {problem.code for problem in parsed.problems} == {"stray-text"}


@pytest.mark.parametrize("name", TAGS)
def test_a_value_that_quotes_its_own_tags_is_whole(name: str) -> None:
    dialect = dialects[name]
    quoted = written(dialect, [Call(id="m", name="middle", input={"second": "omega"})])
    first = dialect.tags.argument_marks.search(quoted)  # pyright: ignore
    element = quoted[first.start() : quoted.rindex("omega") + len("omega")]  # pyright: ignore
    end = dialect.tags.argument_end.markers.final.search(quoted)  # pyright: ignore
    call = Call(id="m", name="middle", input={"first": f"See {element}{end[0]} there."})
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
