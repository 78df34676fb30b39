"""`callblocks eval`: folders, exit codes, reports, and the winner in the config file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from callblocks.cli.commands.eval import set_values
from callblocks.cli.exits import Fault
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
