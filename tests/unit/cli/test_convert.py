from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.parser import convert
from support.command import run

TEXT = "Hi.\n🛠️[ls src]\n🛠️[/end]\n"


def test_the_text_is_written_in_the_other_dialect() -> None:
    result = run("convert", "--to", "tool-fence", text=TEXT)
    assert result.exit_code == 0
    assert result.stdout == convert(TEXT, target="tool-fence")


def test_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\ntwo\n")
    assert run("convert", "--to", "tool-fence", str(path)).stdout_bytes == b"one\r\ntwo\n"


def test_what_cannot_be_said_is_one_line_and_nothing_is_written() -> None:
    result = run("convert", "--from", "emoji-bracket", "--to", "scissors-cat", text=TEXT)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("callblocks: standard input: scissors-cat cannot write")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("target", ["tool-fence", "chat-blocks", "scissors-cat"])
def test_half_a_character_is_not_written(target: str) -> None:
    text = r'[{"type": "custom", "operation": "x", "parameters": {"a": "\ud800"}}]' + "\n✂️🐱"
    result = run("convert", "--to", target, text=text)
    assert (result.exit_code, result.stdout) == (1, "")


def test_bytes_that_are_no_text_are_not_converted() -> None:
    result = run("convert", "--to", "tool-fence", text=b"a\xffb")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "callblocks: standard input: byte 0xff at offset 1 is not UTF-8\n"


def test_what_was_no_call_is_kept_and_named() -> None:
    result = run("convert", "--to", "emoji-bracket", text="```tool a\ninput: {\n```\n")
    assert result.exit_code == 0
    assert "kept as text: tool-fence.yaml" in result.stderr


def test_a_thought_is_written_as_one_or_not_at_all() -> None:
    thought = "<think>\nThe plan.\n</think>\n\nHello!\n"
    assert run("convert", "--from", "hermes", "--to", "hermes", text=thought).stdout == thought
    result = run("convert", "--to", "tool-fence", text=thought)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "tool-fence cannot write the thought '\\nThe plan.\\n'" in result.stderr
    kept = run("convert", "--keep", "--to", "tool-fence", text=thought)
    assert (kept.exit_code, kept.stdout, kept.stderr) == (1, "\n\nHello!\n", result.stderr)
    named = ("--reasoning", "<think>", "</think>")
    assert run("convert", *named, "--to", "tool-fence", text=thought).stdout == thought


def test_tools_are_named_where_they_would_help() -> None:
    text = '<tool_call>{"name": "a", "arguments": {"x": 1}}</tool_call>'
    told = run("convert", "--to", "qwen3_coder", text=text).stderr
    first, *_ = told.splitlines()
    assert first.endswith("read as a({'x': '1'}); --tools would give values their types")


def test_there_is_no_limit_of_calls() -> None:
    text = "🛠️[a]🛠️[/end]" * 1_100
    assert run("convert", "--to", "tool-fence", text=text).stdout.count("```tool a") == 1_100


def test_the_other_dialect_must_be_named() -> None:
    assert run("convert", text=TEXT).exit_code == 2
    assert run("convert", "--to", "auto", text=TEXT).exit_code == 2


OPEN = "🛠️[ls src]\n🛠️[/end] and 🛠️[save a.txt]\nhalf"


def test_every_thing_that_cannot_be_said_has_a_line() -> None:
    result = run("convert", "--to", "scissors-cat", text=OPEN)
    assert (result.exit_code, result.stdout) == (1, "")
    said = [line.partition(" cannot write ")[2] for line in result.stderr.splitlines()]
    assert [what.partition(":")[0] for what in said] == ["'ls'", "'save'"]


def test_what_cannot_be_said_can_be_kept_as_it_is() -> None:
    result = run("convert", "--to", "tool-fence", "--keep", text=OPEN)
    assert result.exit_code == 1
    assert result.stdout.endswith(" and 🛠️[save a.txt]\nhalf")
    assert "cannot write the call 'tool-call-2' of 'save', which did not end" in result.stderr


def test_ids_that_are_not_written_are_named() -> None:
    text = "```tool ls c1\ninput: {args: src, body: ''}\n```\n"
    result = run("convert", "--to", "emoji-bracket", text=text)
    assert result.exit_code == 0
    assert result.stderr.endswith("1 of the calls not written: the id 'c1'\n")
