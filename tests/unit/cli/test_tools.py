from __future__ import annotations

import json
from pathlib import Path

import pytest

from callblocks.core.specs import CATALOGUE
from callblocks.dialects import TAUGHT
from callblocks.toolkits.office.open_office import EXAMPLES
from callblocks.toolkits.standard import EXEC_TOOLS, RENDERING_TOOLS
from support.command import run
from support.command_home import TOOLS, move_in


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (move_in(tmp_path, monkeypatch) / "tools.py").write_text(TOOLS)


def test_the_table_has_every_tool() -> None:
    result = run("tools", "-T", "tools.py")
    assert result.exit_code == 0
    names = [line.split()[0] for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert names[:4] == ["add", "note", "fail", "shout"]
    assert set(names[4:]) == {
        *(*CATALOGUE, "file_read", "file_list", "file_write"),
        *("web_tools.web_search", "web_tools.web_fetch"),
        *(*EXEC_TOOLS, *RENDERING_TOOLS),
    }


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_type_of_the_catalogue_shows_an_example_that_names_real_things(name: str) -> None:
    result = run("tools", name, "-d", "scissors-cat")
    example = result.stdout.partition("Example  scissors-cat\n")[2].partition("✂️🐱")[0]
    joined = " ".join(line.strip() for line in example.splitlines())
    (call,) = json.loads(joined)
    assert call["type"] == name
    assert call["parameters"] == EXAMPLES[name]


def test_a_tool_of_ones_own_has_no_example_of_another() -> None:
    Path("own.py").write_text(TOOLS.replace("def add(", "def gmail_list("))
    assert "INBOX" not in run("tools", "gmail_list", "-T", "own.py").stdout


def test_a_tool_of_ones_own_takes_the_place_of_one_that_comes_along() -> None:
    Path("own.py").write_text(TOOLS.replace("def add(", "def file_read("))
    result = run("tools", "-T", "own.py")
    assert result.stdout.count("file_read ") == 1
    assert "Add two numbers." in result.stdout


def test_all_about_one_tool_in_each_dialect_that_any_model_can_be_taught() -> None:
    result = run("tools", "note", "-T", "tools.py")
    assert result.exit_code == 0
    assert "what to write" in result.stdout
    titles = [line for line in result.stdout.splitlines() if line.startswith("Example  ")]
    shown = [name for line in titles for name in line.removeprefix("Example  ").split(", ")]
    assert shown == [*TAUGHT]
    assert "Example  emoji-bracket, emoji-bracket+" in titles
    one = run("tools", "note", "-T", "tools.py", "-d", "emoji-bracket").stdout
    assert one.count("Example") == 1


def test_json_is_in_the_shape_that_is_read_again() -> None:
    result = run("tools", "--json")
    Path("again.json").write_text(result.stdout)
    names = [entry["function"]["name"] for entry in json.loads(result.stdout)]
    assert "terminal_execute" in names
    again = json.loads(run("tools", "--json", "-T", "again.json").stdout)
    assert again == json.loads(result.stdout)
    (one,) = json.loads(run("tools", "file_write", "--json").stdout)
    assert one["function"]["body"] == "content"


def test_an_unknown_tool_is_one_line_with_the_one_that_was_meant() -> None:
    result = run("tools", "file_raed")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "did you mean file_read?" in line


def test_an_example_and_a_schema_can_be_copied_however_long_their_lines() -> None:
    told = run("tools", "calendar_create").stdout
    example = next(line for line in told.splitlines() if "🛠️[calendar_create" in line)
    assert example.rstrip().endswith("]")
    schema = told[told.index("Schema") :].partition("\n")[2]
    assert json.loads(schema)["type"] == "object"
