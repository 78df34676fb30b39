from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from callblocks.cli.main import COMMANDS, cli
from callblocks.dialects import dialects
from support.command import run


def complete(*args: str, word: str = "") -> list[str]:
    shell = ShellComplete(cli, {}, "callblocks", "_CALLBLOCKS_COMPLETE")
    return [item.value for item in shell.get_completions(list(args), word)]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_CALLBLOCKS_COMPLETE={shell}_complete" in result.stdout


def test_another_shell_is_usage() -> None:
    assert run("completion", "tcsh").exit_code == 2


def test_commands_complete() -> None:
    assert complete() == list(COMMANDS)


def test_names_of_dialects_complete() -> None:
    assert complete("parse", "--dialect") == ["auto", *dialects]
    assert complete("convert", "--to", word="em") == ["emoji-bracket", "emoji-bracket+"]
    assert complete("dialects") == list(dialects)


def test_files_complete() -> None:
    shell = ShellComplete(cli, {}, "callblocks", "_CALLBLOCKS_COMPLETE")
    assert [item.type for item in shell.get_completions(["parse", "--tools"], "a")] == ["file"]


@pytest.mark.parametrize("content", ['[models.harbour]\naddress = "scripted"\n', "no toml"])
def test_names_of_models_complete_also_with_a_config_that_is_none(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text(content)
    monkeypatch.setenv("CALLBLOCKS_CONFIG", str(tmp_path / "config.toml"))
    known = ["harbour"] if "harbour" in content else []
    assert complete("chat", "--model", word="h") == [*known, "http://"]
    assert complete("serve", "-m", word="oll") == ["ollama:"]
    assert complete("models", "test", word="llama.") == ["llama.cpp:"]
