"""Names of tools in prose: which of them are reported as calls that nobody read."""

from __future__ import annotations

import pytest

from callblocks import Limits, ToolSpec, parse
from callblocks.core.events import Problem
from callblocks.parsing.engine.unread import is_near

TOOLS = (
    ToolSpec("search", "", {"properties": {"query": {"type": "string"}}}),
    ToolSpec("read_file", "", {"properties": {"path": {"type": "string"}}}),
    ToolSpec("ls"),
)


def unread(text: str, dialect: str = "auto", **options: object) -> list[str]:
    """What is reported in a text, as it stands there."""
    parsed = parse(text, dialect, tools=TOOLS, **options)  # pyright: ignore[reportArgumentType]
    assert parsed.text + parsed.reasoning in (text, text.replace("<think>", ""))
    problems = [one for one in parsed.problems if isinstance(one, Problem)]
    places = [one.place for one in problems if one.code == "unread-call"]
    return [text[start:end] for start, end in places]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_cal>{"name": "search", "arguments": {}}</tool_call>',
        '{"nme": "search", "arguments": {"query": "x"}}',
        '{"name": "search", "argumens": {"query": "x"}}',
        '{"arguments": {"query": "x"}, "nam": "search"}',
        'functols[{"name": "search"}]',
        '[TOOL_CALLSsearch{"query": "x"}',
        ">>search\n{}",
        'say {"tool": "serch", "args": {"query": "x"}}',
        "<functon=search>\n<parameter=query>x</parameter>",
        '<invok name="search"><parameter name="query">x</parameter></invoke>',
        "<serch>\n<query>x</query>\n</search>",
        "<search\n<query>x</query>",
        "<search>\n<search>",
        "search/>",
        "<use_ool><name>search</name>",
        "[search(query='x')",
        "search(query='x')]",
        "<coe>\nx = search(query='x')\n</code>",
        "@search(c1) {}: {",
        "Acton: search\nAction Input: {}",
        "Action: search\nAction Inpt: {}",
        "**Acton:** `search`\n**Action Input:** {}",
        "to=functionsxsearch",
        "``tool search\ninput:\n  query: x\n```",
        "``search x\n",
        "<|call|>search",
        "search<|call|>",
        "🛠x[search x]",
        '`<toolcall>{"name": "search", "arguments": {}}</tool_call>`',
        '{"nam": "search"}',
        "🔧 **Tool Call** `search` done",
        "then <search / So.",
        "<search><query>x</query><search>",
        "```tol state=done search\ninput: {}\n```",
        "```search```",
        "So:\n```\nwords\n<tool_cal>search{}",
    ],
)
def test_a_name_with_enough_witnesses_is_reported_once(text: str) -> None:
    (name,) = unread(text)
    assert is_near(name, "search")


@pytest.mark.parametrize(
    "text",
    [
        "I will search for it, then search.",
        "Action: search for a hotel in Oslo",
        'Use "search", or search(query).',
        '{"id": 3, "name": "search"}',
        '{"name": "search", "description": "Find pages.", "parameters": {}}',
        'It is {"name": "search", "parameters": {"type": "object"}} for it.',
        '<input type="text" name="search">',
        "[search()](https://example.org)",
        "Write `<tool_call>search` for it.",
        "Try <code>search(query='x')</code> now.",
        "```python\nimport search\nsearch(query='x')\n```",
        "````markdown\n```tool search\n```\n````",
        "Here <|call|> it is.",
        "pearch `x` and an lsx or als.",
    ],
)
def test_a_mention_is_not_reported(text: str) -> None:
    assert unread(text) == []


def test_each_of_several_calls_is_reported_and_a_name_in_an_input_is_not() -> None:
    one = '<tol>{"name": "search", "arguments": {"query": "search"}}</tool_call>'
    assert unread(one + one) == ["search"] * 2
    assert unread("[ls(), search(), ls()x") == ["ls", "search", "ls"]


def test_a_fence_that_begins_as_calls_do_is_no_quotation_unless_fences_are() -> None:
    text = 'So:\n```json\n{"name": "search", "arguments": {"query": 5}}\n```'
    assert unread(text) == ["search"]
    assert unread(text, in_code_fences=False) == []


def test_a_fence_behind_a_name_belongs_to_it() -> None:
    head = "<｜tol▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n"
    assert unread(head + 'x {"query": "x"} <|a|>ls()\n```<｜tool▁call▁end｜>') == ["search", "ls"]


def test_a_damaged_fence_turns_the_next_ones_inside_out() -> None:
    text = "x``tool search\n```\n\n```tool read_file\npath: x\n```\n"
    assert unread(text) == ["search", "read_file"]


def test_a_thought_without_a_call_behind_it_is_examined() -> None:
    thought = "<think>So <|tool_call_begn|>functions.search:0 {}"
    assert unread(thought, "kimi_k2") == ["search"]
    called = f"{thought}</think><|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>{{}}"
    parsed = parse(f"{called}<|tool_call_end|>", "kimi_k2", tools=TOOLS)
    assert [call.name for call in parsed.calls] == ["ls"]
    assert parsed.problems == []


@pytest.mark.parametrize(
    "text",
    [
        'It printed "<tol>{\\"name\\": \\"search\\", \\"arguments\\": {}}</tool_call>".',
        '@@ -1 +1 @@\n-a\n+{"name": "search", "arguments": {}} <|call|>',
    ],
)
def test_a_quoted_name_is_a_mention_where_dialects_are_guessed(text: str) -> None:
    assert unread(text) == []
    assert unread(text, "internlm2") == ["search"]


def test_code_in_a_thought_is_a_quotation() -> None:
    assert unread("<think>\n```\n<|tol_call|>search{}\n```\nor `a\n<|b|>search{}`", "kimi_k2") == []


def test_a_thought_that_is_closed_is_examined_where_calls_end_thoughts() -> None:
    text = "<think>So <|tol_call|>search{}</think>No."
    assert [one.code for one in parse(text, "kimi_k2", tools=TOOLS).problems] == ["unread-call"]
    assert parse(text, "deepseek_v3", tools=TOOLS).problems == []


def test_a_named_dialect_has_no_mentions_in_code_and_in_tags_of_its_own() -> None:
    assert unread("Write `<tool_cal>search` for it.", "hermes") == ["search"]
    assert unread("The tag is <search> here.", "cline") == ["search"]
    assert unread("The tag is <search> here.") == []
    assert unread("Here:```search x\nbody\n```\n", "gptme") == ["search"]
    assert unread("search() and more", "pythonic") == ["search"]


def test_a_thought_that_has_calls_is_examined() -> None:
    good = "<|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    text = f"<think>So <|tool_call_begn|>functions.search:0 {{}} {good}</think>Done."
    found = parse(text, "kimi_k2", tools=TOOLS)
    assert [call.name for call in found.calls] == ["ls"]
    assert [one.code for one in found.problems] == ["unread-call"]


def test_a_short_name_is_a_whole_word_and_never_misspelt() -> None:
    short = (ToolSpec("ls"), ToolSpec(""))
    found = parse("<|call|>ls <|call|>xls <|call|>lx", tools=short).problems
    assert [one.place for one in found if isinstance(one, Problem)] == [(8, 10)]


def test_without_tools_nothing_is_reported() -> None:
    assert parse("<|call|>search").problems == []


def test_a_limit_does_not_hide_what_is_unread() -> None:
    assert unread("<|call|>search", limits=Limits(calls=0)) == ["search"]


@pytest.mark.parametrize(
    ("word", "near"),
    [("serch", True), ("seearch", True), ("sxarch", True), ("search", True), ("sarhc", False)],
)
def test_one_character_makes_a_misspelling(word: str, near: bool) -> None:
    assert is_near(word, "search") is near
