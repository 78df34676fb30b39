from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callblocks.dialects import aliases_of, dialects
from support.command import run

GOOD = "Hi.\n🛠️[ls src]\n🛠️[/end]\n"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "ls",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
]


def events(*args: str, text: str | bytes = GOOD) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in run("parse", "--json", *args, text=text).stdout.splitlines()
    ]


def test_a_text_without_problems_ends_well() -> None:
    result = run("parse", text=GOOD)
    assert result.exit_code == 0
    assert "call     ls  tool-call-1  emoji-bracket" in result.stdout


@pytest.mark.parametrize("option", ["--json", "--explain", "--no-in-code-fences"])
def test_problems_give_one(option: str) -> None:
    assert run("parse", option, text="🛠️[/end]").exit_code == 1
    assert run("parse", option, text="```tool a\n").exit_code == 1


def test_json_is_one_event_per_line() -> None:
    assert [event["type"] for event in events()] == [
        "text",
        "call-started",
        "call-input",
        "call-ready",
        "text",
    ]


def test_json_of_several_files_says_which(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a", "utf-8")
    two.write_text("b", "utf-8")
    found = events(str(one), str(two))
    assert [(event["file"], event["text"]) for event in found] == [(str(one), "a"), (str(two), "b")]


def test_half_a_character_is_an_escape() -> None:
    call = r'[{"type": "custom", "operation": "x", "parameters": {"a": "\ud800"}}]'
    (ready,) = [event for event in events(text=f"{call}\n✂️🐱") if event["type"] == "call-ready"]
    assert ready["call"]["input"] == {"a": "\ud800"}


def test_bytes_that_are_no_text_are_a_problem_at_their_place() -> None:
    found = events(text=b"ab\xff\xfec")
    problems = [event for event in found if event["type"] == "problem"]
    assert problems == [
        {
            "type": "problem",
            "code": "invalid-utf8",
            "detail": "byte 0xff at byte offset 2 is not UTF-8",
            "span": [3, 3],
            "place": [2, 3],
            "index": None,
        }
    ]
    assert "".join(event.get("text", "") for event in found) == "ab\ufffd\ufffdc"
    assert run("parse", text=b"\xff").exit_code == 1


def test_the_dialect_decides_what_is_a_call() -> None:
    assert {event["type"] for event in events("--dialect", "tool-fence")} == {"text"}
    assert len(events("-d", "tool-fence", "-d", "emoji-bracket")) == 5


def test_auto_stands_alone() -> None:
    result = run("parse", "-d", "auto", "-d", "tool-fence", text="")
    assert result.exit_code == 2
    assert "auto stands alone" in result.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("latin", "`callblocks dialects` lists them"),
        ("qwen3-codr", "did you mean qwen3_coder? `callblocks dialects` lists them"),
        ("harmny", "did you mean harmony? `callblocks dialects` lists them"),
        ("Qwen/Qwen3-8B", "did you mean hermes? `callblocks dialects` lists them"),
    ],
)
def test_an_unknown_dialect_is_usage_and_the_nearest_is_named(name: str, told: str) -> None:
    result = run("parse", "--dialect", name, text="")
    assert result.exit_code == 2
    assert f"no dialect {name!r}; {told}\n" in result.stderr


@pytest.mark.parametrize("name", ["qwen3-coder", "Qwen3_Coder", "qwen3-xml"])
def test_a_dialect_is_found_however_its_name_is_joined(name: str) -> None:
    text = "<tool_call>\n<function=now>\n</function>\n</tool_call>"
    assert events("-d", name, text=text)[-1]["call"]["dialect"] == "qwen3_coder"


def test_no_two_dialects_differ_by_how_their_names_are_joined() -> None:
    names = [*dialects, *(alias for name in dialects for alias in aliases_of(name))]
    assert len({name.replace("-", "_") for name in names}) == len(names)


def test_a_thought_that_is_open_needs_markers_that_end_it() -> None:
    result = run("parse", "-d", "tool-fence", "--in-reasoning", text="")
    assert result.exit_code == 2
    assert "--in-reasoning needs --reasoning OPEN CLOSE: tool-fence has no markers" in result.stderr
    assert events("-d", "hermes", "--in-reasoning", text="Hm.</think>")[0]["type"] == "reasoning"


def test_tools_bind_arguments(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS), "utf-8")
    assert events("--tools", str(path))[3]["call"]["input"] == {"path": "src"}


@pytest.mark.parametrize("content", ["5", "[", "[1]", "[" * 100_000])
def test_a_bad_tools_file_is_usage(content: str, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(content, "utf-8")
    result = run("parse", "--tools", str(path), text="")
    assert result.exit_code == 2
    assert "tools.json: " in result.stderr


def test_a_missing_tools_file_is_usage() -> None:
    result = run("parse", "--tools", "gone.json", text="")
    assert result.exit_code == 2
    assert "gone.json: No such file" in result.stderr


def test_limits_can_be_set_and_lifted() -> None:
    text = "🛠️[a]🛠️[/end]" * 3
    assert run("parse", "--max-calls", "2", text=text).exit_code == 1
    assert run("parse", "--max-calls", "0", text=text).exit_code == 0
    assert run("parse", "--max-input", "2", text="🛠️[a]long🛠️[/end]").exit_code == 1
    assert run("parse", "--max-depth", "1", text="```tool a\ninput: {b: {}}\n```\n").exit_code == 1
    assert run("parse", "--max-calls", "-1", text="").exit_code == 2


def test_code_fences_and_reasoning_are_options() -> None:
    fenced = f"```\n{GOOD}```\n"
    assert len(events(text=fenced)) < len(events("--in-code-fences", text=fenced))
    think = ["--reasoning", "<think>", "</think>"]
    assert events(*think, text="<think>so</think>")[1]["type"] == "reasoning"
    assert run("parse", "--reasoning", "", "x", text="").exit_code == 2


def test_json_and_explain_tell_who_was_asked_to_read_what() -> None:
    text = "<tool_call>\n<function=now>\n</function>\n</tool_call>"
    told = run("parse", "--json", "--explain", text=text).stdout
    rows = [row for line in told.splitlines() if (row := json.loads(line))["type"] == "attempt"]
    first, *_, last = rows
    assert (first["dialect"], first["marker"], first["offset"]) == ("hermes", "<tool_call>", 0)
    assert first["refusal"] == {
        "expected": "`{` or `[`",
        "found": "<function=now>\n</fun",
        "offset": 12,
    }
    assert (last["dialect"], last["refusal"]) == ("qwen3_coder", None)


def test_a_missing_file_and_a_directory_are_usage(tmp_path: Path) -> None:
    assert run("parse", str(tmp_path / "gone")).exit_code == 2
    assert run("parse", str(tmp_path)).exit_code == 2


def test_what_is_not_text_is_one_line() -> None:
    result = run("parse", text=b"\x7fELF\0\0")
    assert result.exit_code == 2
    assert result.stderr == (
        "callblocks: standard input: this is not text (a NUL byte at offset 4)\n"
    )


def test_several_files_stand_under_their_names(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a", "utf-8")
    two.write_text("b", "utf-8")
    shown = run("parse", str(one), str(two)).stdout
    assert shown.index("one") < shown.index("prose    a") < shown.index("two")


def test_explaining_draws_the_text() -> None:
    assert "    2 ┃ 🛠️[ls src]" in run("parse", "--explain", text=GOOD).stdout


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"name": "now", "parameters": {}}', "a JSON object"),
        ('\n[{"name": "now"}]', "a JSON list"),
        ("[now(zone='UTC')]", "a list of calls"),
    ],
)
def test_bare_json_that_was_taken_for_an_answer_says_what_would_make_it_a_call(
    text: str, form: str
) -> None:
    said = run("parse", "--explain", text=text).stdout.replace("\n ", "")
    wanted = f"0 calls; it begins with {form}, taken for an answer: with --tools or --model-hint"
    assert wanted in said
    assert "with --tools it" in run("parse", "--explain", "--model-hint=hermes", text="{}").stdout
    for other in ("[a](b)", "Hello {x}", "🛠️[ls]🛠️[/end]"):
        assert "begins with" not in run("parse", "--explain", text=other).stdout
    assert "begins with" not in run("parse", "--explain", "-d", "hermes", text=text).stdout


def test_who_refused_a_marker_is_told() -> None:
    said = run("parse", "--explain", text="Action: foo\n").stdout
    assert "generic_json expected `{` or `[` and found “foo⏎”;" in said
    assert "react_text expected the name of a tool and found “ foo⏎”. It is text" in " ".join(
        line.strip(" │") for line in said.splitlines()
    )


def test_the_end_of_the_text_is_told_as_what_was_found() -> None:
    said = run("parse", "--explain", "-d", "hermes", text="<tool_call>").stdout
    assert "hermes expected `{` or `[` and found the end of the text;" in said


def test_calls_that_are_in_code_fences_only_are_hinted_at() -> None:
    search = {"operation": "gmail_search", "parameters": {"query": "tides"}}
    two = [{"type": "gmail_search", "id": id, **search} for id in ("a", "b")]
    cat = f"```json\n{json.dumps(two)}\n✂️🐱\n```\n"
    hint = "callblocks: 2 calls are quoted in code fences; --in-code-fences reads them\n"
    assert run("parse", text=cat).stderr == hint
    assert run("parse", "--json", text=cat).stderr == hint
    for told in ("--in-code-fences", "--no-in-code-fences", "--dialect=scissors-cat"):
        assert "quoted" not in run("parse", told, text=cat).stderr


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("auto", '<think>So:\n<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>\n'),
        ("auto", 'So:\n```json\n{"name": "ping", "arguments": {}}\n```\n'),
        ("auto", "So:\n```python\nping()\n```\n"),
        ("mistral_v11", "[THINK]So: [TOOL_CALLS]ping[ARGS]{}"),
        ("qwen3_coder", "<think>So:\n<tool_call>\n<function=ping>\n</function>\n</tool_call>"),
    ],
)
def test_calls_that_count_only_with_declared_tools_are_hinted_at(dialect: str, text: str) -> None:
    hint = "callblocks: a call of ping would be read with --tools\n"
    assert run("parse", "-d", dialect, text=text).stderr == hint


def test_a_text_without_calls_has_no_hint() -> None:
    assert run("parse", text='{"name": "Oslo"} and print(1)\n').stderr == ""
