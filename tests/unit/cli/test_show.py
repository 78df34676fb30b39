from __future__ import annotations

from pathlib import Path

import pytest

from support.command import run
from support.transcripts import EXAMPLES

TEXT = "Look.\n\n<tool>ls(path=src)\na.py</tool>\n<tool>wait()</tool>\n\nDone.\n"


def test_calls_are_folded() -> None:
    assert run("show", text=TEXT).stdout == (
        "Look.\n\n🔧 2 tool calls, running wait (show details)\n\nDone.\n"
    )


def test_calls_can_be_expanded() -> None:
    assert run("show", "--expand", text=TEXT).stdout == (
        "Look.\n\n🔧 2 tool calls\n  ls(path=src) → a.py\n  wait() ⏳\n\nDone.\n"
    )


def test_problems_do_not_spoil_a_show() -> None:
    result = run("show", text="```tool a\ninput: {\n```\n")
    assert result.exit_code == 0
    assert "not a call, tool-fence.yaml" in result.stdout


def test_several_files_stand_under_their_names(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a", "utf-8")
    two.write_text("b", "utf-8")
    assert run("show", str(one), str(two)).stdout == f"── {one}\n\na\n\n── {two}\n\nb\n"


@pytest.mark.parametrize("evil", ["\x1b[2J", "\x9b2J", "\u202e", "\x07", "[red]x[/red]", ":boom:"])
@pytest.mark.parametrize("command", [("show", "--expand"), ("parse",), ("parse", "--explain")])
def test_nothing_in_a_text_steers_the_terminal(
    command: tuple[str, ...], evil: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"a {evil} b\n<tool>ls({evil})\n{evil}</tool>\n```tool {evil}\ninput: {{\n```\n"
    monkeypatch.setattr("callblocks.cli.terminal.paint._FORCING", ("PATH",))
    shown = run(*command, text=text).stdout
    harmless = evil.startswith(("[", ":"))
    assert (evil in shown) == harmless


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_every_example_can_be_shown(example: Path) -> None:
    result = run("show", "--expand", str(example))
    assert result.exit_code == 0
    assert "🔧" in result.stdout
