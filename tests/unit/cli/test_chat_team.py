"""`callblocks chat --team` and `callblocks serve --team`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from callblocks.cli.chat.chat_loop import ChatLoop
from callblocks.cli.chat.chat_screen import ChatScreen
from callblocks.cli.chat.chat_setup import ChatSetup
from callblocks.cli.options.chat_options import ChatOptions
from callblocks.models.model_config import NamedModel
from callblocks.session.team_file import TeamSettings, read_team
from callblocks.timeline.log.open_store import open_store
from support.chat_models import SayingModel
from support.command import run
from support.command_home import fence, move_in

TEAM = """
[team]
name = "readers"
consensus = {model = "speaker", tools = ["file_read"]}

[[member]]
name = "reader"
model = "reader"
tools = ["file_read"]

[[member]]
name = "critic"
model = "critic"
"""


def options(team: str) -> ChatOptions:
    return ChatOptions(
        ask=False,
        allow=("file_*",),
        allow_trait=(),
        policy=None,
        model="scripted",
        dialect=None,
        team=team,
        workspace=".",
        office="local",
        only=(),
        tools=(),
        store=None,
        artifacts=None,
        skills=None,
        system=None,
        temperature=None,
        max_tokens=None,
        mode=None,
    )


class Hall:
    """A workspace with the file of a team, whose models say what a test wants."""

    def __init__(self, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.workspace = workspace
        self._capsys = capsys
        self.models = {
            "reader": SayingModel(fence("file_read", path="a.txt"), "It says alpha."),
            "critic": SayingModel("I doubt it."),
            "speaker": SayingModel("It may say alpha."),
        }
        (workspace / "a.txt").write_text("alpha")
        (workspace / "team.toml").write_text(TEAM)

    def read(self, path: str, _: object) -> TeamSettings:
        return read_team(path, lambda spec: NamedModel(model=self.models[spec], spec=spec))

    def chat(self, *args: str) -> Result:
        team = ("--team", "team.toml", "--allow", "file_*")
        return run("chat", *team, "--prompt", "What is in a.txt?", *args)

    def type(self, *lines: str) -> str:
        """What is shown when a person types all this, and leaves."""
        typed = iter(lines)

        async def read() -> str:
            if (line := next(typed, None)) is None:
                raise EOFError
            return line

        async def talk() -> None:
            place = ChatSetup(options(team="team.toml"), None)
            try:
                loop = ChatLoop(place, ChatScreen(), place.session("trip"), read=read)
                await loop.run()
            finally:
                await place.close()

        asyncio.run(talk())
        return self._capsys.readouterr().out

    @property
    def names(self) -> list[str]:
        with open_store(self.workspace.parent / "state" / "timelines.sqlite") as store:
            return sorted(one.name for one in store.names())


@pytest.fixture
def hall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Hall:
    hall = Hall(move_in(tmp_path, monkeypatch), capsys)
    monkeypatch.setattr("callblocks.cli.chat.chat_loop.open_terminal", lambda: None)
    monkeypatch.setattr("callblocks.cli.chat.chat_setup.read_team", hall.read)
    return hall


def test_each_member_is_shown_below_its_name(hall: Hall) -> None:
    result = hall.chat("trip")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == (
        "▌ reader\n\n"
        "🔧 file_read\n"
        "  file_read(path=a.txt) → alpha\n\n"
        "It says alpha.\n\n"
        "▌ critic\n"
        "I doubt it.\n\n"
        "▌ consensus\n"
        "It may say alpha.\n\n"
        "1 done\n\n"
    )
    assert all(model.closed for model in hall.models.values())
    assert hall.names == ["trip", "trip.critic", "trip.reader"]


def test_events_say_whose_they_are_to_the_end(hall: Hall) -> None:
    result = hall.chat("trip", "--json")
    assert result.exit_code == 0, result.stderr
    events: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
    said: dict[str, str] = {}
    for event in events:
        if event["type"] == "model-wrote" and event["event"]["type"] == "text":
            member = event.get("member", "")
            said[member] = said.get(member, "") + event["event"]["text"]
    assert said["reader"].endswith("It says alpha.")
    assert (said["critic"], said[""]) == ("I doubt it.", "It may say alpha.")
    (call,) = [event for event in events if event["type"] == "call-ended"]
    assert (call["member"], call["outcome"]["id"]) == ("reader", "reader/c1")
    assert [event["type"] for event in events].count("turn-ended") == 3
    assert (events[-1]["type"], events[-1].get("member")) == ("turn-ended", None)


def test_the_last_chat_is_none_of_a_member(hall: Hall) -> None:
    hall.models["speaker"] = SayingModel("First.", "Second.")
    hall.models["critic"] = SayingModel("One.", "Two.")
    hall.models["reader"] = SayingModel("One.", "Two.")
    assert hall.chat("trip").exit_code == 0
    with open_store(hall.workspace.parent / "state" / "timelines.sqlite") as store:
        *_, last = store.entries("trip.critic")
        store.append("trip.critic", [last.block])
    assert hall.chat("--last").exit_code == 0
    assert hall.names == ["trip", "trip.critic", "trip.reader"]


def test_a_member_is_no_chat(hall: Hall) -> None:
    result = hall.chat("trip.critic")
    assert result.exit_code == 2
    assert "trip.critic is what a member of a team does" in result.stderr


@pytest.mark.parametrize("command", ["chat", "serve"])
@pytest.mark.parametrize("option", ["--model", "--dialect"])
def test_what_the_file_says_is_not_said_again(hall: Hall, command: str, option: str) -> None:
    value = {"--model": "scripted", "--dialect": "auto"}[option]
    result = run(command, "--team", "team.toml", option, value)
    assert result.exit_code == 2
    assert f"--team and {option} exclude each other" in result.stderr


def test_a_model_in_the_environment_is_passed_over(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLBLOCKS_MODEL", "nobody")
    assert hall.chat("trip").exit_code == 0


@pytest.mark.parametrize("command", ["chat", "serve"])
def test_a_file_that_is_no_team_is_usage(hall: Hall, command: str) -> None:
    (hall.workspace / "team.toml").write_text(TEAM.replace("file_read", "file_raed"))
    args = ("--port", "0") if command == "serve" else ("--prompt", "Hi")
    result = run(command, "--team", "team.toml", *args)
    assert result.exit_code == 2
    assert "reader, tools: " in result.stderr
    assert "Traceback" not in result.stderr


def test_no_call_writes_the_file_of_the_team(hall: Hall) -> None:
    hall.models["reader"] = SayingModel(fence("file_write", path="team.toml", content="x"), "No.")
    (hall.workspace / "team.toml").write_text(
        TEAM.replace('tools = ["file_read"]\n', 'tools = ["file_write"]\n')
    )
    before = (hall.workspace / "team.toml").read_text()
    assert hall.chat("trip").exit_code == 1
    assert (hall.workspace / "team.toml").read_text() == before


def test_a_team_is_named_and_its_file_says_the_models(hall: Hall) -> None:
    shown = hall.type("/model", "/model scripted", "/dialect auto", "/tools")
    assert "trip, with readers (reader, critic); /help" in shown
    assert "readers (reader, critic), calls in the dialect of its family" in shown
    assert "the file of the team says the model of each" in shown
    assert "the file of the team says the dialect of each" in shown
    assert "file_read" in shown
    assert "file_write" not in shown
    assert all(model.closed for model in hall.models.values())
