from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest
from click.testing import Result

from callblocks.approvals.book import ApprovalBook
from callblocks.core.blocks import text_of
from callblocks.core.errors import ModelError
from callblocks.models.model import Piece, Request, Thinking
from callblocks.models.model_config import NamedModel
from callblocks.timeline.log.open_store import open_store
from support.chat_models import SayingModel
from support.command import run
from support.command_home import TOOLS, fence, move_in


class ThinkingModel(SayingModel):
    """Thinks before it says something."""

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        yield Thinking("Let me see.")
        async with aclosing(super().reply(request)) as pieces:
            async for piece in pieces:
                yield piece


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    workspace = move_in(tmp_path, monkeypatch)
    monkeypatch.setattr("callblocks.cli.chat.chat_loop.open_terminal", lambda: None)
    (workspace / "tools.py").write_text(TOOLS)
    return workspace


def chat(
    monkeypatch: pytest.MonkeyPatch,
    model: SayingModel,
    *args: str,
    text: str | bytes | None = None,
) -> Result:
    def opened(spec: str, *_: object) -> NamedModel:
        return NamedModel(model=model, spec=spec)

    monkeypatch.setattr("callblocks.cli.chat.chat_setup.open_named", opened)
    return run("chat", "-T", "tools.py", "--model", "saying", *args, text=text)


def names(workspace: Path) -> list[str]:
    with open_store(workspace.parent / "state" / "timelines.sqlite") as store:
        return [one.name for one in store.names()]


def test_without_a_configured_model_it_says_that_scripts_answer(workspace: Path) -> None:
    result = run("chat", "--prompt", "Hello")
    assert "no model is configured, so scripts answer; `callblocks models`" in result.stderr


def test_the_answer_is_shown_and_the_model_let_go(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SayingModel("It is late.")
    result = chat(monkeypatch, model, "trip", "--prompt", "How late is it?")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "It is late.\n\n", "")
    assert model.asked[0].prompt == "How late is it?"
    assert model.closed
    assert names(workspace) == ["trip"]


def test_standard_input_is_one_prompt_with_all_its_lines(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SayingModel("Fine.")
    result = chat(monkeypatch, model, "trip", text="one\ntwo\n")
    assert result.exit_code == 0
    assert model.asked[0].prompt == "one\ntwo"


def test_a_chat_without_a_name_gets_one_and_last_goes_on_with_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat(monkeypatch, SayingModel("old"), "older", "--prompt", "hello")
    first = chat(monkeypatch, SayingModel("one"), "--prompt", "hello")
    (name,) = [name for name in names(workspace) if name != "older"]
    assert name.startswith("chat-2")
    assert first.stderr == f"callblocks: to go on: callblocks chat {name}\n"
    model = SayingModel("two")
    second = chat(monkeypatch, model, "--last", "--prompt", "again")
    assert (second.exit_code, second.stderr) == (0, "")
    said = "".join(text_of(list(message.parts)) for message in model.asked[0].messages)
    assert "hello" in said
    assert names(workspace) == sorted([name, "older"])


def test_nothing_runs_unless_it_is_allowed_and_the_way_is_told(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SayingModel(fence("note", text="a"), "I could not.")
    result = chat(monkeypatch, model, "trip", "--prompt", "note a")
    assert result.exit_code == 1
    assert "refused: nothing runs without a policy" in result.stdout
    assert "I could not." in result.stdout
    assert "1 refused" in result.stdout
    assert "No call may run in this chat" in result.stdout
    assert "  --allow note " in result.stdout
    assert not (workspace / "notes.txt").exists()


def test_what_is_allowed_runs_and_notices_are_told(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SayingModel(fence("note", text="a"), "Done.")
    result = chat(monkeypatch, model, "trip", "--allow", "note", "--prompt", "note a")
    assert result.exit_code == 0
    assert "🔧 note\n  note(text=a) → written" in result.stdout
    assert "1 done\nⓘ note: noted a" in result.stdout
    assert (workspace / "notes.txt").read_text() == "a\n"


def test_a_call_that_nobody_can_be_asked_about_waits_in_the_book(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SayingModel(fence("note", text="a"), "It waits.")
    result = chat(monkeypatch, model, "trip", "--ask", "--prompt", "note a")
    assert result.exit_code == 1
    assert "; then ask for it again" in " ".join(result.stdout.split())
    with ApprovalBook(workspace.parent / "state" / "approvals.sqlite") as book:
        assert [one.state for one in book.list()] == ["pending"]


def test_a_model_that_fails_is_told_in_words_and_safely(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = ModelError("model_unreachable", "nobody is at \x1b[2Jthe other end")
    result = chat(monkeypatch, SayingModel(fault), "trip", "--prompt", "hello")
    assert result.exit_code == 1
    assert "failed: model_unreachable: nobody is at ␛[2Jthe other end" in result.stdout


def test_nothing_that_the_model_says_steers_the_terminal(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SayingModel("see \x1b[2J\n" + fence("add", a="\x1b]0;x\x07", b=1), "\u202eend\x9b1m")
    result = chat(monkeypatch, model, "trip", "--allow", "add", "--prompt", "hello")
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(result.stdout)
    assert "see ␛[2J" in result.stdout


def test_for_programs_each_event_is_a_line_whatever_is_in_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SayingModel(fence("note", text="a"), "half \ud83d of one")
    result = chat(monkeypatch, model, "trip", "--allow", "note", "--json", "--prompt", "note a")
    assert (result.exit_code, result.stderr) == (0, "")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert events[0] == {"type": "turn-began", "turn": "turn_1"}
    (ended,) = [event for event in events if event["type"] == "call-ended"]
    assert ended["outcome"]["output"] == "written"
    texts = [event.get("event", {}).get("text", "") for event in events]
    assert "".join(texts[-4:]).endswith("of one")
    assert events[-1]["type"] == "turn-ended"


def test_a_file_goes_with_the_prompt(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "numbers.csv").write_text("1,2\n")
    model = SayingModel("Three.")
    args = ("trip", "--attach", "numbers.csv", "--prompt", "Add them up.")
    assert chat(monkeypatch, model, *args).exit_code == 0
    said = "".join(text_of(list(message.parts)) for message in model.asked[0].messages)
    assert "numbers.csv" in said
    assert "1,2" in said


@pytest.mark.parametrize(
    ("args", "text", "code", "words"),
    [
        (("--prompt", "  "), None, 2, "the prompt is empty"),
        ((), "\n", 2, "the prompt is empty"),
        ((), b"a\0b", 2, "not text"),
        ((), b"caf\xe9?", 2, "the prompt is not UTF-8: byte 0xe9 at offset 3"),
        (("trip", "--last"), "x", 2, "NAME and --last exclude each other"),
        (("--last",), "x", 1, "no chat is kept yet"),
        (("a/b",), "x", 2, "bad_name"),
        (("--model", "parrot"), "x", 2, "no model 'parrot'"),
        (("--model", "scripted:gone"), "x", 2, "no folder of scripts"),
        (("--dialect", "latin"), "x", 2, "no dialect 'latin'"),
        (("--attach", "gone.csv"), "x", 2, "gone.csv"),
    ],
)
def test_what_cannot_be_is_one_line(
    workspace: Path, args: tuple[str, ...], text: str | bytes | None, code: int, words: str
) -> None:
    result = run("chat", *args, text=text)
    assert result.exit_code == code
    assert words in result.stderr
    assert "Traceback" not in result.output


def test_only_dialects_that_a_model_can_be_taught_are_offered(workspace: Path) -> None:
    for name in ("zzz", "chat-blocks"):
        result = run("chat", "-d", name, "--prompt", "x")
        assert result.exit_code == 2
        assert f"no dialect '{name}' that models write; " in result.stderr
        assert "did you mean chat-blocks" not in result.stderr


@pytest.mark.parametrize("team", [False, True])
def test_files_that_are_no_scripts_are_named(workspace: Path, team: bool) -> None:
    (workspace / "talks").mkdir()
    (workspace / "talks" / "odd.md").write_text("---\npace: fast\n---\nHello.\n")
    (workspace / "team.toml").write_text(
        '[team]\nconsensus = {model = "scripted:talks"}\n'
        '[[member]]\nname = "one"\nmodel = "scripted:talks"\n'
    )
    which = ("--team", "team.toml") if team else ("--model", "scripted:talks")
    result = run("chat", "trip", *which, "--prompt", "x")
    assert result.stderr.startswith("callblocks: scripted:talks: odd.md is no script: ")
    assert result.stderr.count("odd.md") == 1


def test_in_plain_text_there_is_the_answer_alone(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ThinkingModel("It is late.")
    result = chat(monkeypatch, model, "trip", "--prompt", "How late is it?")
    assert result.stdout == "It is late.\n\n"
    again = chat(monkeypatch, ThinkingModel("Late."), "trip", "--prompt", "And?", "--json")
    assert '"type":"reasoning","text":"Let me see."' in again.stdout


def test_lines_for_programs_need_a_prompt(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callblocks.cli.commands.chat._piped", lambda: None)
    result = run("chat", "--json")
    assert result.exit_code == 2
    assert "--json goes with --prompt" in result.stderr


def test_a_name_in_allow_that_no_tool_has_is_told_and_those_of_the_timeline_are_known(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SayingModel("Fine.")
    args = ("trip", "--allow", "react.write", "--allow", "nots", "--prompt", "x")
    result = chat(monkeypatch, model, *args)
    assert "--allow nots: no tool has such a name; did you mean note?" in result.stderr
    assert "react.write" not in result.stderr


def test_the_help_imports_neither_the_keyboard_nor_the_event_loop() -> None:
    program = (
        "import sys\nfrom callblocks.cli.main import cli\n"
        "cli(sys.argv[1:], standalone_mode=False)\n"
        "assert not {'asyncio', 'prompt_toolkit', 'rich'} & set(sys.modules)\n"
    )
    for args in (["--help"], ["chat", "--help"]):
        process = subprocess.run([sys.executable, "-c", program, *args], check=False, stdout=-3)
        assert process.returncode == 0


def test_where_there_is_an_office_a_script_works_on_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callblocks.models.scripted.NATURAL", 0.0)
    asked = ("chat", "--allow-trait", "read_only", "--prompt", "What is new in the mail?")
    assert "none of mine fits" in run(*asked).stdout
    assert run("workspace", "init").exit_code == 0
    shown = " ".join(run(*asked).stdout.split())
    assert "Where you said yes, it is done: the booking is changed to 24 pupils" in shown
    assert "not approved: a person must approve it" in shown
    others = " ".join(run(*asked, "--office", "google").stdout.split())
    assert "Where you said yes" not in others
