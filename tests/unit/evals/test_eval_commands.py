"""`callblocks eval`: folders, exit codes, reports, and the winner in the config file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from callblocks import Timeline
from callblocks.cli.commands.eval import set_values
from callblocks.cli.exits import Fault
from callblocks.core.blocks import Block
from callblocks.models.model_config import open_named, read_config
from support.command import run

OPTIONS = ("-d", "hermes", "-d", "tool-fence", "--grammar", "no", "--class", "none", "--limit", "2")


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("CALLBLOCKS_CONFIG", str(path))
    # A model that plays scripts says something to everything, and calls nothing here.
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "default.md").write_text(
        "# Default\n\n**User:** Hello\n\n**Assistant:** Hello, Paris, yes.\n"
    )
    path.write_text(
        f'# mine\n[models.mute]\naddress = "scripted:{folder}"\n\n'
        '[models.other]\naddress = "smollm2"\n'
    )
    return path


def test_an_evaluation_leaves_reports_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(
        "eval", "-m", "mute", *OPTIONS, "--out", str(out), "--junit", str(tmp_path / "j.xml")
    )
    assert result.exit_code == 0, result.output
    assert "Verdict" in result.stdout
    report = json.loads((out / "report.json").read_text())
    assert {one["name"] for one in report["setups"]} == {"hermes", "tool-fence"}
    assert report["missing"] == 0
    page = (out / "report.html").read_text()
    assert "<svg" in page
    assert "<script" not in page
    assert (tmp_path / "j.xml").read_bytes().startswith(b"<?xml")
    before = (out / "trials.jsonl").read_bytes()
    again = run("eval", "-m", "mute", *OPTIONS, "--out", str(out), "--json")
    assert json.loads(again.stdout) == report
    assert (out / "trials.jsonl").read_bytes() == before
    other = run("eval", "-m", "mute", *OPTIONS, "--repeats", "2", "--out", str(out))
    assert other.exit_code == 2
    assert "another evaluation" in other.stderr


def test_a_gate_fails_under_its_limit(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[tools.go]\nx = "string: x"\n[[task]]\nname = "a"\nprompt = "Go."\ntools = ["go"]\n'
        'calls = [{name = "go", input = {x = "1"}}]\n[[task]]\nname = "b"\nprompt = "Stay."\n'
    )
    options = ("-d", "hermes", "--grammar", "no", "--tasks", str(own), "--out", str(tmp_path / "o"))
    assert run("eval", "-m", "mute", *options, "--fail-under", "50").exit_code == 0
    result = run("eval", "-m", "mute", *options, "--fail-under", "60")
    assert result.exit_code == 1
    assert "which is under 60 %" in result.stderr


def test_checks_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text("def greets(made, answer):\n    return 'Hello' in answer\n")
    (tmp_path / "a.md").write_text('+++\ncheck = "greets"\n+++\nGreet me.\n')
    options = ("-d", "hermes", "--grammar", "no", "--tasks", str(tmp_path / "a.md"))
    checks = ("--checks", str(tmp_path / "checks.py"))
    result = run("eval", "-m", "mute", *options, *checks, "--out", str(tmp_path / "o"), "--json")
    assert json.loads(result.stdout)["setups"][0]["right"]["value"] == 1.0
    assert run("eval", "-m", "mute", *options, "--out", str(tmp_path / "p")).exit_code == 2
    (tmp_path / "checks.py").write_text("1 / 0")
    broken = run("eval", "-m", "mute", *options, *checks, "--out", str(tmp_path / "q"))
    assert "ZeroDivisionError" in broken.stderr


def test_the_winner_is_written_into_the_config(tmp_path: Path, config: Path) -> None:
    out = ("--out", str(tmp_path / "out"))
    assert run("eval", "-m", "mute", *OPTIONS, *out, "--write").exit_code == 0
    table = tomllib.loads(config.read_text())["models"]
    assert table["mute"]["dialect"] in ("hermes", "tool-fence")
    assert table["other"] == {"address": "smollm2"}
    assert config.read_text().startswith("# mine\n")


def test_setups_are_named_as_in_reports_and_a_grammar_is_written(
    tmp_path: Path, config: Path
) -> None:
    out = ("--class", "none", "--limit", "2", "--out", str(tmp_path / "out"))
    named = ("--setup", "hermes + grammar")
    assert run("eval", "-m", "mute", *named, *out, "--write").exit_code == 0
    table = tomllib.loads(config.read_text())["models"]["mute"]
    assert (table["dialect"], table["grammar"]) == ("hermes", True)
    model = open_named("mute", read_config())
    assert (model.dialect, model.grammar) == ("hermes", True)
    for wrong in ("hermes + x", "nothing", " + grammar"):
        assert run("eval", "-m", "mute", "--setup", wrong, *out).exit_code == 2


def test_a_gate_fails_where_little_was_measured(tmp_path: Path) -> None:
    own, checks = tmp_path / "own.toml", tmp_path / "checks.py"
    own.write_text(
        "".join(
            f'[[task]]\nname = "{name}"\nprompt = "Hello."\ncheck = "{name}"\n' for name in "abc"
        )
    )
    checks.write_text("def a(*_): return True\ndef b(*_): 1 / 0\nc = b\n")
    options = ("--setup", "hermes", "--tasks", str(own), "--checks", str(checks))
    out = ("--out", str(tmp_path / "o"))
    assert run("eval", "-m", "mute", *options, *out).exit_code == 0
    result = run("eval", "-m", "mute", *options, *out, "--fail-under", "50")
    assert result.exit_code == 1
    assert "1 of 3 trials were measured" in result.stderr


def test_values_are_set_in_a_table_and_nothing_else_changes() -> None:
    text = '[models.a]\naddress = "x"\ndialect = "old" # why\n\n# next\n[models.b]\naddress = "y"\n'
    new = set_values(text, "a", {"dialect": "hermes", "mode": "text"}, "")
    assert tomllib.loads(new)["models"] == {
        "a": {"address": "x", "dialect": "hermes", "mode": "text"},
        "b": {"address": "y"},
    }
    assert set_values(new, "a", {"dialect": "hermes", "mode": "text"}, "") == new
    made = set_values("", "c", {"mode": "native"}, "ollama:x")
    assert made == '[models.c]\naddress = "ollama:x"\nmode = "native"\n'
    with pytest.raises(Fault, match="set by hand"):
        set_values('models = {a = {address = "x"}}', "a", {"mode": "text"}, "")


def test_tasks_are_made_from_a_timeline_and_run(tmp_path: Path) -> None:
    store, tools = tmp_path / "t.sqlite", tmp_path / "tools.json"
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools.write_text(json.dumps([{"name": "ls", "input_schema": schema}]))
    said = json.dumps({"tool_id": "ls", "tool_call_id": "a", "params": {"path": "src"}})
    times: dict[str, Any] = {"turn_id": "turn_1", "ts": "2030-01-01T00:00:00Z"}
    blocks = [
        Block(type="user.prompt", author="user", text="Look into src.", **times),
        Block(
            type="react.tool.call",
            author="assistant",
            text=said,
            tool_id="ls",
            call_id="a",
            **times,
        ),
    ]
    with Timeline.open(store, "talk") as timeline:
        timeline.append(blocks)
    made = tmp_path / "made.toml"
    named = ("--store", str(store), "-T", str(tools))
    result = run("eval", "new", "talk", *named, "-o", str(made))
    assert result.exit_code == 0, result.output
    assert "1 tasks" in result.stderr
    assert run("eval", "new", "talk", *named).stdout == made.read_text()
    options = (
        "-d",
        "hermes",
        "--grammar",
        "no",
        "--tasks",
        str(made),
        "--out",
        str(tmp_path / "o"),
    )
    asked = run("eval", "-m", "mute", *options, "--json")
    assert json.loads(asked.stdout)["setups"][0]["states"] == {"wrong": 1}
    assert run("eval", "new", "talk", "--store", str(store)).exit_code == 2


def test_two_reports_are_compared(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run("eval", "-m", "mute", *OPTIONS, "--out", str(tmp_path / name)).exit_code == 0
    paths = [str(tmp_path / name / "report.json") for name in ("a", "b")]
    result = run("eval", "--compare", *paths)
    assert result.exit_code == 0
    assert "not to be told apart" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a model with -m"),
        (("-m", "mute", "--class", "nothing"), "no task has the class nothing"),
        (("-m", "nowhere"), "nowhere"),
        (("new", "absent"), "absent"),
    ],
)
def test_a_mistake_is_said(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "none.sqlite")) if "new" in arguments else ()
    result = run("eval", *arguments, *store)
    assert result.exit_code in (1, 2)
    assert words in result.stderr or "no store is at" in result.stderr
