"""Which model answers a turn, in which dialect, with which script: also after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from callblocks.core.errors import CallerError, UnknownDialect
from callblocks.core.events import (
    CallEnded,
    RoundBegan,
    Text,
    TurnEnded,
    TurnEvent,
)
from callblocks.models.model import Piece, Request
from callblocks.models.scripted import ScriptedModel
from callblocks.session.host import Host
from callblocks.session.model_choice import (
    NO_CHOICE,
    Choice,
    ModelMenu,
    Offered,
    SessionSettings,
    choice_of,
)
from callblocks.session.session import Session
from callblocks.session.team_file import Member
from callblocks.timeline.recorder import Recorder
from support.scripted_sessions import Never, Replies, blocks_of, of_type, some_host
from support.teams import some_team, team_host

LIST = "```tool file_list a\ninput:\n  path: .\n```\n"


class Named(Replies):
    """Replies of a model with a name."""

    def __init__(self, name: str, *says: Any) -> None:
        super().__init__(*says)
        self.name = name


def _scripts(folder: Path) -> ScriptedModel:
    talks = folder / "talks"
    talks.mkdir(exist_ok=True)
    (talks / "one.md").write_text("---\nmatch: [hello]\n---\nOne.\n")
    (talks / "two.md").write_text(
        f"---\ntitle: A second one\nmatch: [bye]\n---\nI look.\n\n{LIST}\n"
        "<!-- results -->\n\nTwo has seen it: {{result:1}}\n"
    )
    return ScriptedModel(talks, pace=0)


def _say(session: Session, prompt: str, **chosen: str) -> list[TurnEvent]:
    events: list[TurnEvent] = []
    asyncio.run(session.run(prompt, (), Choice(**chosen), tell=events.append))
    return events


def _said(events: list[TurnEvent]) -> str:
    return "".join(event.text for event in of_type(events, Text))


class Held(Named):
    """Replies of a model that keeps the grammars it was held to."""

    def __init__(self, name: str, *says: Any) -> None:
        super().__init__(name, *says)
        self.held: list[bool] = []

    def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.held.append(bool(request.grammar))
        return super().reply(request)


@pytest.mark.parametrize("is_first_held", [True, False])
def test_a_model_is_held_to_its_grammar_as_its_own_entry_says(
    is_first_held: bool, tmp_path: Path
) -> None:
    models = [Held(name, "Well.") for name in ("first", "free", "held")]
    others = (Offered(models[1], grammar=False), Offered(models[2], grammar=True))
    settings = SessionSettings(grammar=is_first_held)
    with some_host(tmp_path, models[0], others=others, session=settings) as host:
        session = host.session("one")
        for name in ("first", "free", "held"):
            _say(session, "Hello", model=name, dialect="hermes")
    assert [model.held for model in models] == [[is_first_held], [False], [True]]


def test_models_of_one_name_are_told_apart_by_their_labels(tmp_path: Path) -> None:
    models = [Named("qwen", "One."), Named("qwen", "Two.")]
    others = (Offered(models[1], label="calm", system="Be calm."),)
    with some_host(tmp_path, models[0], label="quick", others=others) as host:
        assert [one.name for one in host.offered] == ["quick", "calm"]
        session = host.session("one")
        assert _said(_say(session, "Hello", model="quick")) == "One."
        assert _said(_say(session, "Hello", model="calm", dialect="hermes")) == "Two."
        with pytest.raises(CallerError, match="choose from: quick, calm"):
            session.check(Choice(model="qwen"))
    first, second = (str(model.requests[0].messages[0].parts[0]) for model in models)
    assert "Be calm." in second
    assert "Be calm." not in first


def test_without_a_choice_the_first_model_answers(tmp_path: Path) -> None:
    others = (Offered(Named("other", "No.")),)
    with some_host(tmp_path, Named("first", "Yes."), others=others) as host:
        assert _said(_say(host.session("one"), "Hello")) == "Yes."
        assert [one.model.name for one in host.offered] == ["first", "other"]


def test_a_turn_chooses_its_model_and_the_next_one_again(tmp_path: Path) -> None:
    others = (Offered(Named("other", "I am other.")),)
    with some_host(tmp_path, Named("first", "I am first."), others=others) as host:
        session = host.session("one")
        assert _said(_say(session, "Hello", model="other")) == "I am other."
        assert _said(_say(session, "Hello")) == "I am first."


def test_a_choice_is_on_the_timeline_with_its_prompt_and_no_choice_is_not(tmp_path: Path) -> None:
    with some_host(tmp_path, _scripts(tmp_path), dialect="auto") as host:
        session = host.session("one")
        _say(session, "Hello", scenario="two", dialect="emoji-bracket")
        _say(session, "Hello")
        chosen, plain = blocks_of(session, "user.prompt")
    assert chosen.meta["chosen"] == {"dialect": "emoji-bracket", "scenario": "two"}
    assert "chosen" not in plain.meta


def test_a_scenario_is_played_whatever_the_person_says(tmp_path: Path) -> None:
    with some_host(tmp_path, _scripts(tmp_path), dialect="auto") as host:
        events = _say(host.session("one"), "Hello", scenario="two")
    assert len(of_type(events, CallEnded)) == 1
    assert "Two has seen it" in _said(events)


@pytest.mark.parametrize(
    ("dialect", "sign"),
    [("tool-fence", "```tool"), ("emoji-bracket", "🛠️["), ("scissors-cat", "✂️🐱")],
)
def test_a_script_is_written_in_the_dialect_that_is_chosen(
    tmp_path: Path, dialect: str, sign: str
) -> None:
    model = _scripts(tmp_path)
    said: list[str] = []
    with (
        some_host(tmp_path, model, dialect="auto") as host,
        patch.object(ScriptedModel, "_text", _noting(said)),
    ):
        events = _say(host.session("one"), "bye", dialect=dialect)
    (ended,) = of_type(events, CallEnded)
    assert (ended.outcome.name, ended.outcome.error) == ("file_list", None)
    assert sign in said[0]
    # A dialect without ids changes nothing about which result is meant.
    assert "{{" not in said[1]


def _noting(said: list[str]) -> Any:
    text = ScriptedModel._text

    def note(self: ScriptedModel, *given: Any) -> str:
        said.append(text(self, *given))
        return said[-1]

    return note


@pytest.mark.parametrize("dialect", ["tool-fence", "emoji-bracket", "scissors-cat"])
def test_a_script_thinks_in_every_dialect_that_is_chosen(tmp_path: Path, dialect: str) -> None:
    model = _scripts(tmp_path)
    think = f"<think>\nThe plan.\n</think>\n\nI look.\n\n{LIST}"
    (tmp_path / "talks/two.md").write_text(f"---\nmatch: [bye]\n---\n{think}")
    with some_host(tmp_path, model, dialect="auto") as host:
        events = _say(host.session("one"), "bye", dialect=dialect)
    assert len(of_type(events, CallEnded)) == 1
    assert "plan" not in _said(events)


def test_what_a_dialect_cannot_say_is_played_as_it_is_written(tmp_path: Path) -> None:
    model = _scripts(tmp_path)
    call = "```tool file_read a\ninput:\n  path: b.md\n  lines: 3\n```\n"
    (tmp_path / "talks/two.md").write_text(f"---\nmatch: [bye]\n---\nI read.\n\n{call}")
    with some_host(tmp_path, model, dialect="auto") as host:
        events = _say(host.session("one"), "bye", dialect="emoji-bracket+")
    assert [one.outcome.name for one in of_type(events, CallEnded)] == ["file_read"]


def test_a_model_that_thinks_is_taught_the_dialect_that_is_chosen(tmp_path: Path) -> None:
    model = Named("first", "🛠️[file_list .]\n🛠️[/end]", "Done.")
    with some_host(tmp_path, model) as host:
        events = _say(host.session("one"), "Look", dialect="emoji-bracket")
    assert [one.outcome.name for one in of_type(events, CallEnded)] == ["file_list"]
    assert "🛠️[" in str(model.requests[0].messages[0])


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"model": "nobody"}, "no model 'nobody' here; choose from: scripted:talks, other"),
        ({"dialect": "chat-blocks"}, "no dialect 'chat-blocks'; choose from: auto, tool-fence"),
        ({"scenario": "three"}, "no scenario 'three' here; choose from: one, two"),
        ({"model": "other", "scenario": "one"}, "the model other has no scenarios"),
    ],
)
def test_what_is_not_there_is_refused_and_nothing_begins(
    tmp_path: Path, chosen: dict[str, str], words: str
) -> None:
    others = (Offered(Named("other")),)
    with some_host(tmp_path, _scripts(tmp_path), dialect="auto", others=others) as host:
        session = host.session("one")
        with pytest.raises(CallerError, match=words):
            _say(session, "Hello", **chosen)
        assert blocks_of(session) == []


def test_a_team_takes_no_choice(tmp_path: Path) -> None:
    host = team_host(tmp_path, Replies(), Member(name="m1", model=Replies()))
    with host, pytest.raises(CallerError, match="leave model, dialect and scenario out"):
        _say(some_team(host), "Hello", model="replies")


def test_two_models_of_one_name_are_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="two models are named same"):
        some_host(tmp_path, Named("same"), others=(Offered(Named("same")),))
    with pytest.raises(UnknownDialect):
        some_host(tmp_path, Named("one"), others=(Offered(Named("two"), "none"),))


def _crash(host: Host, prompt: str, **chosen: str) -> None:
    """Let the program of a turn die while its model speaks: nothing of its end is written."""

    async def go() -> None:
        speaks = asyncio.Event()

        def tell(event: TurnEvent) -> None:
            if isinstance(event, RoundBegan):
                speaks.set()

        run = host.session("one").run(prompt, (), Choice(**chosen), tell=tell)
        task = asyncio.ensure_future(run)
        await speaks.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    with host, patch.object(Recorder, "end_turn", lambda *_, **__: []):
        asyncio.run(go())


def _resume(host: Host) -> list[TurnEvent]:
    events: list[TurnEvent] = []
    with host:
        asyncio.run(host.session("one").resume(tell=events.append))
    return events


def test_a_turn_goes_on_after_a_crash_with_the_model_and_dialect_it_chose(tmp_path: Path) -> None:
    def host(*says: Any) -> Host:
        others = (Offered(Named("other", *says)),)
        return some_host(tmp_path, Named("first", "I am first."), others=others)

    _crash(host([Never]), "Look", model="other", dialect="emoji-bracket")
    events = _resume(host("🛠️[file_list .]\n🛠️[/end]", "I am other."))
    assert [one.outcome.name for one in of_type(events, CallEnded)] == ["file_list"]
    assert _said(events).endswith("I am other.")
    assert of_type(events, TurnEnded)[-1].status == "answered"


def test_a_turn_goes_on_after_a_crash_with_the_scenario_it_chose(tmp_path: Path) -> None:
    model = _scripts(tmp_path)
    slow = ScriptedModel(tmp_path / "talks", pace=1)
    _crash(some_host(tmp_path, slow, dialect="auto"), "Hello", scenario="two")
    assert "Two has seen it" in _said(_resume(some_host(tmp_path, model, dialect="auto")))


def test_a_turn_whose_model_is_gone_goes_on_with_the_first(tmp_path: Path) -> None:
    others = (Offered(Named("other", [Never])),)
    _crash(some_host(tmp_path, Named("first"), others=others), "Hello", model="other")
    assert _said(_resume(some_host(tmp_path, Named("first", "I am first.")))) == "I am first."


@pytest.mark.parametrize("gone", ["gone", "chat-blocks"])
def test_a_turn_whose_dialect_is_gone_goes_on_with_the_models_own(
    tmp_path: Path, gone: str
) -> None:
    with patch.object(ModelMenu, "check"), suppress(CallerError):
        _crash(some_host(tmp_path, Named("first", [Never])), "Hello", dialect=gone)
    assert _said(_resume(some_host(tmp_path, Named("first", "I am back.")))) == "I am back."


@pytest.mark.parametrize("chosen", [None, 3, {"model": 3}, ["model"], {"other": "x"}])
def test_a_record_that_says_no_choice_is_none(chosen: Any) -> None:
    assert choice_of({"chosen": chosen}) == NO_CHOICE


def test_the_first_offer_is_for_who_chooses_none() -> None:
    one, two = Offered(Named("one")), Offered(Named("two"), "auto")
    offers = ModelMenu((one, two))
    assert offers.chosen(NO_CHOICE) == one
    assert offers.chosen(Choice(model="two")) == two
    assert offers.chosen(Choice(dialect="scissors-cat")) == Offered(one.model, "scissors-cat")
