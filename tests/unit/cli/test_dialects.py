from __future__ import annotations

import json
from pathlib import Path

import pytest

from callblocks.cli.options.tool_setup import SAMPLE_TOOLS
from callblocks.dialects import FAMILIES, aliases_of, dialects, groups_of
from support.command import run


def test_all_dialects_are_listed() -> None:
    result = run("dialects")
    assert result.exit_code == 0
    assert all(dialect.summary in result.stdout for dialect in dialects.values())


def test_aliases_groups_and_families_are_listed() -> None:
    listed = run("dialects").stdout
    for name in dialects:
        for names in (aliases_of(name), groups_of(name), FAMILIES.get(name, ())):
            assert ", ".join(names) in listed
    of_one = " ".join(run("dialects", "mistral").stdout.split())
    assert "also ministral, magistral; one of mistral; of mistral-small-3.2," in of_one


def test_names_and_abilities_are_printed_as_json() -> None:
    every = json.loads(run("dialects", "--json").stdout)
    assert [one["name"] for one in every] == [*dialects]
    found = next(one for one in every if one["name"] == "cohere_command4")
    assert found["groups"] == ["cohere"]
    assert "command-a-plus" in found["families"]
    assert found["abilities"]["auto"] is True
    assert json.loads(run("dialects", "gpt-oss", "--json").stdout) == next(
        one for one in every if one["name"] == "gpt_oss"
    )
    assert "openai" in json.loads(run("dialects", "openai", "--json").stdout)["aliases"]


def test_json_is_of_no_part() -> None:
    result = run("dialects", "hermes", "--json", "--part", "gbnf")
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize("name", dialects)
def test_all_about_one_can_be_printed(name: str) -> None:
    result = run("dialects", name)
    assert result.exit_code == 0
    assert "Syntax" in result.stdout


@pytest.mark.parametrize("part", ["syntax", "example", "prompt", "gbnf", "lark", "structural_tag"])
def test_a_part_is_printed_as_it_is(part: str) -> None:
    dialect = dialects["tool-fence"]
    wanted = {
        "syntax": dialect.syntax,
        "example": dialect.example(SAMPLE_TOOLS),
        "prompt": dialect.teach(SAMPLE_TOOLS),
        "gbnf": dialect.grammar(SAMPLE_TOOLS, "gbnf"),
        "lark": dialect.grammar(SAMPLE_TOOLS, "lark"),
        "structural_tag": dialect.grammar(SAMPLE_TOOLS, "structural_tag"),
    }
    assert run("dialects", "tool-fence", "--part", part).stdout == wanted[part].rstrip("\n") + "\n"


def test_a_part_that_is_not_there_is_refused_in_one_line() -> None:
    result = run("dialects", "chat-blocks", "--part", "gbnf")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "callblocks: chat-blocks has no grammar\n"


def test_a_grammar_demands_what_is_asked_for() -> None:
    asked = run("dialects", "hermes", "--part", "gbnf", "--calls", "one", "--tool", "read_file")
    wanted = dialects["hermes"].grammar(SAMPLE_TOOLS, "gbnf", calls="one", tool="read_file")
    assert asked.stdout == wanted
    assert "root ::= prose block prose" in run("dialects", "glm45", "--calls", "one").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--calls", "one"),
        ("hermes", "--part", "prompt", "--tool", "read_file"),
        ("hermes", "--part", "gbnf", "--tool", "rm"),
    ],
)
def test_demands_are_for_grammars_of_tools_that_are_there(words: tuple[str, ...]) -> None:
    result = run("dialects", *words)
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_part_needs_a_name() -> None:
    assert run("dialects", "--part", "syntax").exit_code == 2


def test_your_own_tools_are_taught(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "brew", "description": "Make tea."}]), "utf-8")
    prompt = run("dialects", "tool-fence", "--part", "prompt", "--tools", str(path)).stdout
    assert "## brew\nMake tea." in prompt
    assert "web_search" not in prompt


def test_no_tools_at_all_is_usage(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text("[]", "utf-8")
    result = run("dialects", "tool-fence", "--part", "example", "--tools", str(path))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
