from __future__ import annotations

import pytest

from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block
from callblocks.parsing.engine.markers import Markers, Shape, alternatives, line
from callblocks.parsing.engine.parse_state import Attempt, ParseState
from callblocks.parsing.limits import USUAL
from support.attempts import attempts


@pytest.mark.parametrize(
    ("dialect", "text", "expected", "found"),
    [
        ("hermes", "<tool_call>now()", "`{` or `[`", "now()"),
        ("hermes", "<tool_call>", "`{` or `[`", ""),
        ("mistral_v11", "[TOOL_CALLS]{", "a name", "{"),
        ("mistral_v11", "[TOOL_CALLS]now[ARGS]no", "the arguments of a call", "no"),
        ("lfm2", "<|tool_call_start|>now", "`[`", "now"),
        ("gemma4", "<|tool_call>now", "`<tool_call|>` or `call:…{`", "now"),
        ("react_text", "Action: no tool at all\n", "the name of a tool", " no tool at all\n"),
        ("react_text", "Action: now\nThen", "`Action Input:` or `**Action Input:**`", "Then"),
        ("emoji-bracket", "🛠️[ls\n", "`]` in the same line", "\n"),
        ("tool-fence", "```py\n```\n", "a fence named `tool`", "```py\n```\n"),
        ("xlam", '[{"name": 1}]', "an object that calls a tool", '{"name": 1}]'),
        ("chat-blocks", '<tool id="a<', '`">`', "<"),
        ("llama3_json", '{"name": 1}', "an object that calls a tool", '{"name": 1}'),
    ],
)
def test_a_refusal_says_what_a_person_would_say(
    dialect: str, text: str, expected: str, found: str
) -> None:
    refusal = attempts(dialect, text)[0].refusal
    assert refusal is not None
    assert (refusal.expected, refusal.found) == (expected, found)


@pytest.mark.parametrize(("dialect", "text"), [("xlam", "[1]"), ("llama3_json", '{"a": 1}')])
def test_a_bracket_that_no_key_of_a_call_follows_is_no_opener(dialect: str, text: str) -> None:
    assert attempts(dialect, text) == []


def test_a_call_in_a_closed_thought_says_that_it_is_a_mention() -> None:
    call = "<|tool_call_start|>[now()]<|tool_call_end|>"
    (attempt, *_) = attempts("lfm2", f"<think>{call}</think>", tools=(ToolSpec("now"),))[1:]
    assert attempt.owner == "lfm2"
    assert attempt.refusal == ("a thought that is never closed", "</think>", 7 + len(call))


def test_a_call_of_another_tool_in_a_thought_says_what_it_is_not() -> None:
    text = '<think><tool_call>{"name": "now"}</tool_call>'
    refusal = attempts("hermes", text, tools=(ToolSpec("ls"),))[1].refusal
    assert refusal == ("a complete call of a declared tool", text[7:27], 7)


def test_a_reader_that_asked_for_nothing_expected_a_call() -> None:
    stage = ParseState((), USUAL)
    stage.scan.feed("<a>b")
    block = Block(stage, "mine", "<a>")
    block.refuse()
    assert block.refusal() == ("a call of mine", "<a>b", 0)


def test_markers_are_named_as_they_are_written() -> None:
    shape = Shape(("<", r"[ \t]{0,9}", "[tT]", r"\w{1,9}", r"\n", "(?=x)"))
    fence = line("```")
    assert alternatives([Markers("a", "b", shape, fence)]) == "`a`, `b`, `<t…\n` or `````"
    assert alternatives([Markers(*"abcdef")]) == "`a`, `b`, `c`, `d` or 2 others"
    assert alternatives([Markers(*"abcde")]) == "`a`, `b`, `c`, `d` or 1 other"
    assert alternatives([Markers(*"abc"), "JSON", Markers("x", what="an id")]) == (
        "`a`, JSON, an id or 2 others"
    )
    assert alternatives([]) == ""


def test_an_attempt_is_told_to_programs() -> None:
    head = {"type": "attempt", "dialect": "mine", "marker": "<a>", "offset": 3}
    attempt = Attempt("mine", "<a>", 3)
    assert attempt.to_record() == {**head, "refusal": None}
    stage = ParseState((), USUAL)
    stage.scan.feed("<a>b")
    block = Block(stage, "mine", "<a>")
    block.refuse(expected="c")
    attempt.refusal = block.refusal()
    assert attempt.to_record() == {
        **head,
        "refusal": {"expected": "c", "found": "b", "offset": 3},
    }


def test_a_mention_in_a_thought_says_what_its_dialect_expected() -> None:
    for text, found in (("ls</think>", "ls</think>"), ("</think>", "</think>"), ("", "")):
        tried = attempts("hermes", f"<think><tool_call>{text}", tools=(ToolSpec("ls"),))[1]
        assert tried.refusal == ("`{` or `[`", found, 18)
