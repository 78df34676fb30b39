from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from callblocks.cli.chat.chat_screen import COMMANDS, HISTORY, ChatCompleter, Keyboard, open_history

ALT_ENTER, UP = "\x1b\r", "\x1b[A"


def typed(state: Path, *keys: str) -> list[str]:
    """What is read when these keys are pressed, line after line."""

    async def read() -> list[str]:
        with create_pipe_input() as pipe, create_app_session(pipe, DummyOutput()):
            keyboard, lines = Keyboard(state), list[str]()
            for some in keys:
                pipe.send_text(some)
                lines.append(await keyboard.line())
            return lines

    return asyncio.run(read())


def completed(text: str) -> list[Completion]:
    return list(ChatCompleter().get_completions(Document(text), CompleteEvent()))


def texts(text: str) -> list[str]:
    return [found.text for found in completed(text)]


def test_enter_sends_and_alt_enter_begins_a_new_row(tmp_path: Path) -> None:
    assert typed(tmp_path, f"one{ALT_ENTER}two\r") == ["one\ntwo"]


def test_ctrl_c_drops_what_was_typed(tmp_path: Path) -> None:
    assert typed(tmp_path, "wrong\x03right\r") == ["right"]


def test_ctrl_c_and_ctrl_d_on_an_empty_row_are_told(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        typed(tmp_path, "\x03")
    with pytest.raises(EOFError):
        typed(tmp_path, "\x04")


def test_history_is_there_at_the_next_start_and_for_its_owner_alone(tmp_path: Path) -> None:
    assert typed(tmp_path, f"first{ALT_ENTER}row\r") == ["first\nrow"]
    assert stat.S_IMODE((tmp_path / HISTORY).stat().st_mode) == 0o600
    # One step up in a text of two rows is its first row: the text is sent whole.
    assert typed(tmp_path, f"{UP}\r") == ["first\nrow"]


def test_a_history_that_others_may_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / HISTORY
    path.write_text("")
    path.chmod(0o644)
    open_history(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_history_that_cannot_be_written_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / HISTORY).mkdir()
    assert typed(tmp_path, "still works\r") == ["still works"]
    assert "what you type is not kept" in capsys.readouterr().err


def test_a_history_that_goes_away_stops_nobody(tmp_path: Path) -> None:
    history = open_history(tmp_path / HISTORY)
    os.remove(tmp_path / HISTORY)
    tmp_path.joinpath(HISTORY).mkdir()
    history.append_string("text")
    assert history.get_strings() == ["text"]


def test_commands_are_completed_and_nothing_else_is() -> None:
    assert texts("/") == [f"/{name}" for name in COMMANDS]
    assert texts("/ra") == ["/raw"]
    assert texts("hello") == []
    assert texts("look at /ra") == []
    assert texts("/show ") == []


def test_dialects_and_models_are_completed() -> None:
    assert texts("/dialect tool") == ["tool-fence"]
    assert texts("/dialect au") == ["auto"]
    assert texts("/model scr") == ["scripted", "scripted:"]
    assert "http://" in texts("/model ")


def test_files_are_completed_after_attach_and_their_names_are_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "num\x1b[31m\u202e.csv").touch()
    (tmp_path / "folder").mkdir()
    (found,) = completed("/attach nu")
    assert found.text == "m\x1b[31m\u202e.csv"
    assert found.display_text == "num␛[31m⟨U+202E⟩.csv"
    assert texts("/attach fo") == ["lder"]
    assert texts(f"/attach {tmp_path}/fo") == ["lder"]
