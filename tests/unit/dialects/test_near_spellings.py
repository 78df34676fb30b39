"""Calls that models write almost as their dialect does are read, and a problem names the fault."""

from __future__ import annotations

import pytest

from callblocks import ToolSpec, parse

LOOK = ToolSpec("look", "", {"type": "object", "properties": {"text": {"type": "string"}}})
INVOKE = '<atem:invoke name="look">\n<atem:parameter name="text">a</atem:parameter>\n</atem:invoke>'
SECTION = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
)
BODY = '```json\n{"text": "a"}\n```'


def section(head: str, body: str) -> str:
    """Return a section of DeepSeek's with one call."""
    first, opening, end = SECTION
    return f"{first}{opening}{head}{body}{end}"


def frames(call: str, argument: str) -> str:
    """Return a call of Kimi K3's whose tags have these attributes."""
    value = f"<|open|>argument {argument}<|sep|>a<|close|>argument<|sep|>"
    inner = f"<|open|>call {call}<|sep|>{value}<|close|>call<|sep|>"
    return f"<|open|>tools<|sep|>{inner}<|close|>tools<|sep|>"


NEAR = [
    ("deepseek_v3", section(" function<｜tool▁sep｜>look\n", BODY), "repaired-name"),
    ("deepseek_v3", section("function <｜tool▁sep｜>look\n", BODY), "repaired-name"),
    ("deepseek_v3", section("\nfunction<｜tool▁sep｜> look \n", f"{BODY}\n"), "repaired-name"),
    ("deepseek_v31", section("\nlook\n<｜tool▁sep｜>", '{"text": "a"}'), "repaired-name"),
    ("mistral_v11", '[TOOL_CALLS] look [ARGS] {"text": "a"}', ""),
    ("mistral_v11", '[TOOL_CALLS] look [CALL_ID] 123456789 [ARGS]{"text": "a"}', ""),
    ("kimi_k3", frames('name="look"', 'key="text" type="string"'), "misspelt-tag"),
    ("kimi_k3", frames('tool="look"', 'name="text"'), "misspelt-tag"),
    ("gemma4", '<|tool_call>call:look{text:a<|"|>}<tool_call|>', "repaired-quotes"),
    (
        "functiongemma",
        "<start_function_call>call:look{text:<escape>a}<end_function_call>",
        "quotes",
    ),
    ("muse_glimmer", f"<|start|>assistant to=look<|message|>{INVOKE}<|eot|>", "misspelt-tag"),
    ("llama3_json", '{"name": "look", // which\n"parameters": {"text": "a"}}', "repaired-comments"),
]


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "guessed"])
@pytest.mark.parametrize(("dialect", "text", "code"), NEAR)
def test_a_call_that_is_nearly_spelt_is_read(
    dialect: str, text: str, code: str, is_named: bool
) -> None:
    parsed = parse(text, dialect if is_named else "auto", tools=[LOOK])
    assert [(call.name, call.input) for call in parsed.calls] == [("look", {"text": "a"})]
    assert parsed.text.strip() == ""
    assert any(code in problem.code for problem in parsed.problems) == bool(code)


@pytest.mark.parametrize(("dialect", "text", "code"), NEAR)
def test_a_strict_parser_repairs_no_spelling(dialect: str, text: str, code: str) -> None:
    calls = parse(text, dialect, tools=[LOOK], strict=True).calls
    assert bool(calls) != bool(code)


def test_braces_in_a_string_without_its_quote_belong_to_it_if_they_match() -> None:
    text = '<|tool_call>call:look{text:<|"|>ls {a}}<tool_call|>'
    assert [call.input for call in parse(text, "gemma4", tools=[LOOK]).calls] == [
        {"text": "ls {a}"}
    ]
    assert parse(text.replace("{a}}", "a}}"), "gemma4", tools=[LOOK]).problems


def test_a_quote_inside_of_a_bare_word_is_malformed() -> None:
    text = '<|tool_call>call:look{text:a<|"|>b<|"|>c}<tool_call|>'
    parsed = parse(text, "gemma4", tools=[LOOK])
    assert (parsed.calls, [one.code for one in parsed.problems]) == ([], ["gemma4.arguments"])


@pytest.mark.parametrize("arguments", ['"text": "a"', '"payload": {"text": "a"}'])
def test_the_name_of_a_tool_inside_of_tool_calls_is_a_call_in_auto(arguments: str) -> None:
    text = f'{{"tool_calls": [{{"name": "look", {arguments}}}]}}'
    assert [call.input for call in parse(text, tools=[LOOK]).calls] == [{"text": "a"}]
    described = '{"tool_calls": [{"name": "look", "description": "Look."}]}'
    assert parse(described, tools=[LOOK]).calls == []


def test_a_string_in_gemma_s_quotes_opens_a_call_in_auto() -> None:
    parsed = parse('So: call:look{text:<|"|>a<|"|>}<tool_call|>', tools=[LOOK])
    assert [call.input for call in parsed.calls] == [{"text": "a"}]
    assert [problem.code for problem in parsed.problems] == ["repaired-opening"]
    assert parse("So: call:look{text:a}", tools=[LOOK]).calls == []
