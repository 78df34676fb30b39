from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import click
import pytest

from callblocks.cli.chat.chat_loop import ChatLoop
from callblocks.cli.chat.chat_screen import ChatScreen
from callblocks.cli.chat.chat_setup import ChatSetup
from callblocks.cli.options.chat_options import ChatOptions
from callblocks.core.blocks import text_of
from callblocks.core.errors import CallerError
from callblocks.models.model_config import Config, NamedModel, Overrides
from support.chat_models import SayingModel
from support.command_home import move_in

Typed = str | type[BaseException]


class Hall:
    """A place to talk in, with models by their spec."""

    def __init__(self, capsys: pytest.CaptureFixture[str], **models: SayingModel) -> None:
        self.models = models
        self.overrides: list[Overrides] = []
        self._capsys = capsys

    def open(self, spec: str, config: Config, overrides: Overrides) -> NamedModel:
        if spec not in self.models:
            raise CallerError(f"no model {spec!r}")
        self.overrides.append(overrides)
        return NamedModel(model=self.models[spec], spec=spec)

    def type(self, *lines: Typed) -> str:
        """What is shown when a person types all this; then they leave."""
        typed = iter((*lines, EOFError))

        async def read() -> str:
            line = next(typed)
            if isinstance(line, str):
                return line
            raise line

        async def talk() -> None:
            place = ChatSetup(options(), None)
            try:
                session = place.session("trip")
                await ChatLoop(place, ChatScreen(), session, read=read).run()
            finally:
                await place.close()

        asyncio.run(talk())
        return self._capsys.readouterr().out


def options() -> ChatOptions:
    return ChatOptions(
        ask=False,
        allow=("file_*",),
        allow_trait=(),
        policy=None,
        model="first",
        dialect=None,
        workspace=".",
        office="local",
        only=(),
        tools=(),
        store=None,
        artifacts=None,
        team=None,
        skills=None,
        system=None,
        temperature=None,
        max_tokens=None,
        mode=None,
    )


@pytest.fixture
def hall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Hall:
    move_in(tmp_path, monkeypatch)
    hall = Hall(
        capsys, first=SayingModel(*numbered("first")), other=SayingModel(*numbered("other"))
    )
    monkeypatch.setattr("callblocks.cli.chat.chat_setup.open_named", hall.open)
    return hall


def numbered(who: str) -> Iterable[str]:
    return (f"{who} says {number}." for number in range(1, 5))


def test_a_prompt_is_answered_and_the_next_start_shows_it(hall: Hall) -> None:
    shown = hall.type("Hello?", "", "And now?")
    assert shown.startswith("ⓘ trip, with saying; /help lists the commands")
    assert shown.index("first says 1.") < shown.index("first says 2.")
    again = hall.type()
    assert "── turn_2" in again
    assert "And now?" in again
    assert "first says 2." in again


def test_exit_leaves_and_what_follows_is_not_read(hall: Hall) -> None:
    assert "first says" not in hall.type("/exit", "Hello?")


def test_an_unknown_command_is_told_and_nothing_is_asked(hall: Hall) -> None:
    shown = hall.type("/hepl", "/nonsense")
    assert "no command /hepl; did you mean /help?" in shown
    assert "no command /nonsense; /help lists them" in shown
    assert hall.models["first"].asked == []


def test_help_and_tools_are_listed(hall: Hall) -> None:
    shown = hall.type("/help", "/tools")
    assert "/attach FILE" in shown
    assert "file_read" in shown
    assert "react.write" in shown


def test_a_file_waits_for_the_next_prompt_and_is_then_of_the_chat(hall: Hall) -> None:
    Path("a.csv").write_text("1,2\n")
    shown = hall.type("/attach a.csv", "/files", "Add them.", "/files", "/attach gone", "/attach")
    before, after = shown.split("first says 1.")
    assert before.count("a.csv (4B) goes with the next prompt") == 2
    assert "This chat has no file." in before
    assert "attachments/a.csv" in after
    assert "gone: No such file or directory" in after
    assert "/attach FILE gives a file" in after


def test_another_model_goes_on_with_the_chat_and_the_one_before_is_let_go(hall: Hall) -> None:
    shown = hall.type("Hello?", "/model other", "And you?", "/model", "/model none", "Still there?")
    assert "first says 1." in shown
    assert "other says 1." in shown
    assert "no model 'none'" in shown
    assert "other says 2." in shown
    assert hall.models["first"].closed
    assert hall.models["other"].asked[0].prompt == "And you?"


def test_how_a_model_is_asked_can_be_set_in_the_chat(hall: Hall) -> None:
    shown = hall.type(
        *("/set temperature 0.2", "/set max-tokens 99", "/set mode text", "/set"),
        *("/set system Speak like a harbour master.", "Hello?", "/set temperature", "/set"),
    )
    assert hall.overrides[3] == Overrides(mode="text", temperature=0.2, max_tokens=99)
    assert hall.overrides[-1] == Overrides(mode="text", max_tokens=99)
    asked = hall.models["first"].asked[0]
    assert asked.max_tokens == 99
    assert text_of(list(asked.messages[0].parts)).startswith("Speak like a harbour master.")
    assert "temperature: 0.2" in shown
    assert "temperature: not set" in shown


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("/set heat 1", "nothing is named 'heat'; there are: system, temperature"),
        ("/set temperature hot", "'hot' is not a valid float"),
        ("/set mode loud", "is not one of"),
        ("/set max-tokens 0", "is not in the range"),
    ],
)
def test_what_cannot_be_set_is_told_and_changes_nothing(hall: Hall, typed: str, words: str) -> None:
    shown = hall.type(typed, "/set")
    assert words in " ".join(shown.split())
    assert "temperature: not set" in shown
    assert hall.overrides == [Overrides()]


def test_another_dialect_is_taught(hall: Hall) -> None:
    hall.type("Hello?", "/dialect emoji-bracket", "And now?")
    first, second = (text_of(list(one.messages[0].parts)) for one in hall.models["first"].asked)
    assert "🛠️[" not in first
    assert "🛠️[" in second


def test_an_unknown_dialect_changes_nothing(hall: Hall) -> None:
    shown = hall.type("/dialect latin", "/dialect", "Hello?")
    assert "no dialect 'latin'" in shown
    assert "ⓘ the dialect of its family" in shown
    assert "first says 1." in shown


def test_the_chat_is_shown_in_each_view(hall: Hall) -> None:
    shown = hall.type("Hello?", "/show", "/raw", "/view")
    assert "── turn_1" in shown
    assert "assistant.completion" in shown
    assert "Hello?" in shown.rpartition("timeline.turn")[2]


@pytest.mark.parametrize("command", ["/show", "/view", "/raw"])
def test_a_chat_without_a_word_says_so(hall: Hall, command: str) -> None:
    assert "there is nothing in this chat yet" in hall.type(command)
    assert "nothing" not in hall.type("Hello?", command)


def test_ctrl_c_ends_a_long_list_and_nothing_else(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("callblocks.cli.chat.chat_screen.page", interrupted)
    assert "first says 1." in hall.type("/tools", "Hello?")
    assert signal.getsignal(signal.SIGINT) is before


def test_new_begins_another_chat(hall: Hall) -> None:
    shown = hall.type("Hello?", "/new", "Who?", "/new trip", "/new a/b", "/resume")
    assert "ⓘ chat-2" in shown
    assert [one.chat[:4] for one in hall.models["first"].asked] == ["trip", "chat"]
    assert shown.count("ⓘ trip, with saying") == 2
    assert "'a/b' cannot name a timeline" in shown
    assert "no turn of this chat was interrupted" in shown


def test_ctrl_c_says_how_to_leave_and_a_second_one_leaves(hall: Hall) -> None:
    shown = hall.type(KeyboardInterrupt, "Hello?", KeyboardInterrupt)
    assert shown.count("Ctrl-C again, or Ctrl-D, leaves") == 2
    assert "first says 1." in shown
    with pytest.raises(click.exceptions.Exit) as left:
        hall.type(KeyboardInterrupt, KeyboardInterrupt)
    assert left.value.exit_code == 130
