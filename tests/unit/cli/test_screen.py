from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from callblocks.cli.options.read_options import read
from callblocks.cli.terminal.paint import LiveScreen, Mute, Paper, Screen, open_screen
from callblocks.parser import Parser


def feed(screen: Screen, *pieces: str) -> None:
    for _, events in read(pieces, Parser("emoji-bracket")):
        screen.feed(events)


def test_what_is_settled_is_printed_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen(Paper(), expanded=True) as screen:
        with screen.aside():
            feed(screen, "One.\n\n", "🛠️[ls]🛠️[/end]", "\n\nTwo.\n")
        screen.say("nobody sees this")
    assert capsys.readouterr().out == "One.\n\n🔧 ls\n  ls() ⏳\n\nTwo.\n"


def test_a_mute_screen_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Mute(Paper(), expanded=True) as screen:
        feed(screen, "One.\n🛠️[ls]🛠️[/end]")
    assert capsys.readouterr().out == ""


def on_terminal(paper: Paper, out: io.StringIO) -> Paper:
    paper.terminal = True
    paper.console = Console(file=out, force_terminal=True, width=60, height=20, color_system=None)
    return paper


@pytest.mark.parametrize(
    ("terminal", "live", "expected"),
    [(False, True, Screen), (True, False, Screen), (True, True, LiveScreen)],
)
def test_a_screen_grows_where_a_person_watches(
    terminal: bool, live: bool, expected: type[Screen], tmp_path: Path
) -> None:
    path = tmp_path / "text"
    path.touch()
    paper = on_terminal(Paper(), io.StringIO()) if terminal else Paper()
    assert type(open_screen(str(path), paper, expanded=True, live=live)) is expected


def test_a_running_tool_is_heard_until_its_result_comes() -> None:
    out = io.StringIO()
    paper = on_terminal(Paper(), out)
    with LiveScreen(paper, expanded=True) as screen:
        feed(screen, "🛠️[ls]🛠️[/end]")
        screen.say("half \x1b[2J way\n\nnearly\n")
        said = out.getvalue()
        with screen.aside():
            out.truncate(0)
            print("a question", file=out)
        feed(screen, "done\n")
    assert "half ␛[2J way" in said
    assert "nearly" in said
    assert "a question" in out.getvalue()


def test_only_the_last_lines_of_a_tool_are_shown() -> None:
    out = io.StringIO()
    with LiveScreen(on_terminal(Paper(), out), expanded=True) as screen:
        screen.say("\n".join(f"line {number}" for number in range(50)))
    assert "line 49" in out.getvalue()
    assert "line 44" not in out.getvalue()
