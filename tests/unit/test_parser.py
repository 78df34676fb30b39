"""Dialects are chosen by name; what is not one is the caller's mistake."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks import Call, Parser, Result, ToolSpec, convert, dialects, parse
from callblocks.core.errors import BadSpec, CallerError, UnknownDialect, Unsupported, Unwritable
from support.soup import soup

LS = "🛠️[ls src]\n🛠️[/end]"
SHOWN = "<tool>ls(path=src)</tool>"


@pytest.mark.parametrize("dialect", ["", "emoji", None, 5, [], ["x"], [None]])
def test_an_unknown_dialect_is_refused_with_the_ones_there_are(dialect: Any) -> None:
    with pytest.raises(UnknownDialect, match="choose from: auto, tool-fence") as caught:
        Parser(dialect)
    assert isinstance(caught.value, CallerError | LookupError)
    with pytest.raises(UnknownDialect):
        parse("text", dialect)


@pytest.mark.parametrize("target", ["auto", "x", None])
def test_a_text_is_converted_to_one_dialect_that_is_there(target: Any) -> None:
    with pytest.raises(UnknownDialect, match=r"choose from: (auto, )?tool-fence"):
        convert("text", target=target)


def test_auto_is_no_dialect_among_others() -> None:
    with pytest.raises(UnknownDialect, match="no dialect 'auto'; choose from: tool-fence"):
        Parser(["auto", "tool-fence"])


def test_a_dialect_may_be_given_itself() -> None:
    dialect = dialects["emoji-bracket"]
    assert parse(LS, dialect).calls == parse(LS, "emoji-bracket").calls
    assert parse(LS, [dialect]).calls == parse(LS, ["emoji-bracket"]).calls


def test_a_list_of_dialects_reads_each_of_them() -> None:
    parsed = parse(LS + SHOWN, ["emoji-bracket", "chat-blocks"])
    assert [call.dialect for call in parsed.calls] == ["emoji-bracket", "chat-blocks"]
    assert [call.dialect for call in parse(LS + SHOWN, "chat-blocks").calls] == ["chat-blocks"]


def test_auto_reads_all_that_can_be_told_by_their_markers() -> None:
    text = f"```tool ls a\n```\n{LS}{SHOWN}"
    assert [call.dialect for call in parse(text).calls] == [
        "tool-fence",
        "emoji-bracket",
        "chat-blocks",
    ]


def test_calls_in_code_fences_are_calls_unless_the_dialect_is_guessed() -> None:
    quoted = f"```\n{LS}\n```\n"
    assert parse(quoted).calls == []
    assert len(parse(quoted, in_code_fences=True).calls) == 1
    assert len(parse(quoted, "emoji-bracket").calls) == 1
    assert parse(quoted, "emoji-bracket", in_code_fences=False).calls == []


def test_what_was_read_is_told_in_parts() -> None:
    parsed = parse(f"a<t>b</t>{LS}🛠️[/result 1]\nx🛠️[/end]🛠️[/end]c", reasoning=[("<t>", "</t>")])
    assert parsed.text == "a🛠️[/end]c"
    assert parsed.reasoning == "b"
    assert [call.name for call in parsed.calls] == ["ls"]
    assert parsed.results == [Result(id="tool-call-1", output="x")]
    assert [problem.code for problem in parsed.problems] == ["emoji-bracket.stray-end"]
    assert repr(parsed) == "Parsed(text='a🛠️[/end]c', calls=1, results=1, problems=1)"


def test_tools_bind_arguments_in_reading_and_converting() -> None:
    tool = ToolSpec("ls", parameters={"properties": {"path": {"type": "string"}}})
    assert parse(LS, tools=[tool]).calls[0].input == {"path": "src"}
    assert convert(LS, target="tool-fence", tools=iter([tool])) == (
        "```tool ls tool-call-1\ninput:\n  path: src\n```\n"
    )


@pytest.mark.parametrize("tools", [[{"kind": "ls"}], ["ls"], [None]])
def test_a_tool_that_is_no_specification_is_refused(tools: Any) -> None:
    with pytest.raises(BadSpec, match="a tool is a ToolSpec"):
        Parser(tools=tools)


def test_tools_that_are_no_list_are_refused() -> None:
    with pytest.raises(BadSpec, match="tools are a list, not None; each is a ToolSpec"):
        Parser(tools=None)  # pyright: ignore[reportArgumentType] the mistake


def test_a_conversion_that_cannot_be_said_is_refused() -> None:
    with pytest.raises(Unwritable, match="scissors-cat cannot write 'ls'") as caught:
        convert(LS, target="scissors-cat")
    assert caught.value.dialect == "scissors-cat"


def test_malformed_text_and_reasoning_are_converted_as_text() -> None:
    malformed = "```tool a b\n- 1\n```\n"
    parsed = parse(f"<t>why</t>{malformed}", "tool-fence", reasoning=[("<t>", "</t>")])
    assert "".join(map(str, parsed.items)) == f"why{malformed}"


@given(st.sampled_from(list(dialects)).flatmap(lambda name: soup(name).map(lambda t: (name, t))))
def test_what_was_read_can_be_written_in_its_own_dialect_or_is_refused(
    case: tuple[str, str],
) -> None:
    dialect, text = case
    found = parse(text, dialect).items
    try:
        written = dialects[dialect].write(found)
    except Unwritable:
        return
    again = [item.name for item in parse(written, dialect).items if isinstance(item, Call)]
    assert again == [item.name for item in found if isinstance(item, Call)]


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
def test_a_dialect_of_a_display_neither_teaches_nor_constrains(kind: Any) -> None:
    tool = ToolSpec("ls")
    with pytest.raises(Unsupported, match="chat-blocks has no prompt"):
        dialects["chat-blocks"].teach([tool])
    with pytest.raises(Unsupported, match="chat-blocks has no grammar"):
        dialects["chat-blocks"].grammar([tool], kind)


@pytest.mark.parametrize("dialect", dialects)
def test_a_grammar_needs_a_tool(dialect: str) -> None:
    with pytest.raises(BadSpec, match="a grammar needs at least one tool"):
        dialects[dialect].grammar([], "gbnf")


@pytest.mark.parametrize(
    "body",
    [
        "🛠️[other x]\n🛠️[/end]",
        "<tool>other(a=1)\nits first line</tool>",
        '{"name": "other", "arguments": {}}',
    ],
)
def test_a_fence_with_a_call_of_another_tool_in_one_piece_is_prose(body: str) -> None:
    text = f"```\n{body}\n```\n"
    parsed = parse(text, tools=[ToolSpec("ls")])
    assert (parsed.calls, parsed.text) == ([], text)


@pytest.mark.parametrize("before", ["`see ", "Now:\n`see ", "`a b` ", "It is `a`, b` "])
def test_a_tick_that_begins_a_line_or_ends_a_span_quotes_no_call(before: str) -> None:
    text = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    assert [call.name for call in parse(before + text).calls] == ["f"]
