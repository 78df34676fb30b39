"""What a model is sent comes from the timeline alone, and nothing in it opens a call but calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callblocks.core.blocks import Entry, text_of
from callblocks.core.calls import Call, CheckedCall
from callblocks.core.errors import ToolError
from callblocks.core.events import CallEnded
from callblocks.core.outcomes import Failure, Outcome
from callblocks.dialects import dialects
from callblocks.models.model import Message, Request
from callblocks.parser import parse
from callblocks.session.host import Host
from callblocks.session.model_choice import Attachment, SessionSettings
from callblocks.session.prompt import Talk, TextDialogue
from callblocks.session.session import Session
from callblocks.timeline.timeline import Timeline
from callblocks.toolkits.react_tools import react_tools
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Context
from callblocks.views.model_view.neutral import restore
from callblocks.views.model_view.view import ModelView
from support.played_turns import LOOKING
from support.sampling import share
from support.scripted_sessions import (
    TAUGHT,
    Replies,
    check_shape,
    of_type,
    run_turn,
    some_host,
    texts,
    write,
)
from support.soup import soup

TEXTS: list[str] = []


@tool(read_only=True)
def say(at: int, context: Context) -> str:
    """Say a text."""
    text = TEXTS[at]
    if at == 1:
        raise ToolError("odd", text)
    if at == 2:
        context.notice("odd", text)
    return text


SAYING = Registry([say])
SAY = [Call(id=f"s{at}", name="say", input={"at": at}) for at in range(3)]
EXAMPLES = [one.example((say.spec,)) for one in dialects.values() if one.rules]
HALVES = st.builds(
    lambda before, call, end: before + call[:end],
    soup("auto"),
    st.sampled_from(EXAMPLES),
    st.integers(1, 120),
)
"""Texts that end with half a call of the tool at hand, or half a marker."""
SOUPS = st.lists(soup("auto") | HALVES, min_size=5, max_size=5)


@pytest.mark.parametrize("dialect", TAUGHT)
def test_no_text_of_others_is_read_as_a_call(tmp_path: Path, dialect: str) -> None:
    model, names = Replies(size=10_000), count(1)

    @given(SOUPS)
    @settings(max_examples=share(12, of=2))
    def check(said: list[str]) -> None:
        TEXTS[:] = said
        model.begin(write(dialect, *SAY, tools=SAYING.tools), "Done.")
        session = host.session(f"talk-{next(names)}")
        events = asyncio.run(run_turn(session, said[3], Attachment("a.txt", _encoded(said[4]))))
        outcomes = {one.outcome.id: one.outcome for one in of_type(events, CallEnded)}
        first, second = model.requests
        for request in (first, second):
            check_shape(request.messages)
        harmless(first.messages[1])
        given = second.messages[-1]
        if dialect == "scissors-cat":
            harmless(given)
            return
        known = Registry([*SAYING.tools, *session_tools(session)])
        read = parse(text_of(list(given.parts)), _written(dialect), tools=known)
        ours = {one.id: (one.name, one.input) for one in read.calls if one.name in known}
        results = {one.id: one for one in read.results if one.id in ours}
        assert len(ours) == len(results) == len(outcomes) == 3
        by_id = dialect not in ("emoji-bracket", "emoji-bracket+")
        for id, (name, value) in ours.items():
            at = value["at"]
            assert name == "say"
            assert not by_id or id == f"s{at}"
            told = results[id].error if at == 1 else results[id].output
            assert told is not None
            whole = _whole(said[at])
            if at == 1:
                assert restore(told) == f"odd: {whole}"
            else:
                assert whole in restore(told)
        rest = "".join(one for one in read.items if isinstance(one, str))
        for one in dialects:
            assert not any(call.name in known for call in parse(rest, one, tools=known).calls)

    with some_host(tmp_path, model, dialect=dialect, tools=SAYING) as host:
        check()


def harmless(message: Message) -> None:
    """No dialect reads a call of a tool at hand in it, alone or beside the others."""
    text = text_of(list(message.parts))
    for one in ("auto", *dialects):
        calls = parse(text, one, tools=SAYING).calls
        assert not any(call.name in SAYING or call.name.startswith("react.") for call in calls)


def session_tools(session: Session) -> tuple[Any, ...]:
    return react_tools(session.recorder, "turn_1")


def _written(dialect: str) -> str:
    return "tool-fence" if dialect in ("", "auto") else dialect


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _whole(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


class Until:
    """A timeline as it was up to a number."""

    def __init__(self, timeline: Timeline, last: int) -> None:
        self.name = timeline.name
        self._timeline, self._last = timeline, last

    def entries(self, after: int = 0) -> Iterator[Entry]:
        return (one for one in self._timeline.entries(after=after) if one.seq <= self._last)


def again(host: Host, session: Session, turn: str, last: int, budget: int | None) -> Request:
    """What a program that starts anew would send, had the timeline ended there."""
    timeline: Any = Until(session.recorder.timeline, last)
    before = session.recorder.state.turns[turn] - 1
    tools = host.registry | Registry(react_tools(session.recorder, turn))
    spoken = dialects[_written(host.settings.dialect)]
    tokens = session.recorder.holdings.tokens
    view = ModelView(tokens=tokens, budget=budget, tools=tools, spoken=spoken)
    talk = Talk(timeline, lambda _: view, spoken, turn, before)
    talk.begin_round()
    return talk.request(TextDialogue(spoken, tools, "Be kind."), SessionSettings())


class Watching(Replies):
    """Notes how long the timeline was when the model was asked."""

    session: Session | None = None

    def __init__(self) -> None:
        super().__init__(size=10_000)
        self.lasts: list[int] = []

    def reply(self, request: Request) -> Any:
        assert self.session is not None
        self.lasts.append(self.session.recorder.state.last)
        return super().reply(request)


def some_reply(rng: Random, session: Session, dialect: str) -> str:
    """Calls that look, write, hide and read again, with prose around them."""
    known = rng.choice(("tc:turn_1.a.result", "tc:turn_2.a.call", "fi:turn_1.files/a.md"))
    made = [
        Call(id="a", name="look", input={"place": rng.choice(("garden", "nowhere", "x" * 400))}),
        Call(id="b", name="react.write", input={"path": "a.md", "content": "# A\n" * 30}),
        Call(id="c", name="react.hide", input={"path": known}),
        Call(id="d", name="react.read", input={"paths": [known]}),
    ]
    chosen = rng.sample(made, rng.randint(0, 2))
    tools = [*LOOKING.tools, *session_tools(session)]
    text = write(dialect, "I look.\n", *chosen, tools=tools)
    return f"{text}\n```tool\n[\n```\n" if rng.random() < 0.2 else text


@pytest.mark.parametrize("budget", [None, 250, 900])
@pytest.mark.parametrize("dialect", ["tool-fence", "emoji-bracket", "scissors-cat"])
def test_messages_are_a_function_of_the_timeline(
    tmp_path: Path, dialect: str, budget: int | None
) -> None:
    model = Watching()
    limits = SessionSettings(budget=budget, rounds=6)
    for number in range(2):
        rng = Random(f"{dialect} {budget} {number}")
        place = tmp_path / str(number)
        place.mkdir()
        with some_host(place, model, dialect=dialect, tools=LOOKING, session=limits) as host:
            model.session = session = host.session("talk")
            for at in range(1, 4):
                replies = rng.randint(1, 4)
                model.begin(*(some_reply(rng, session, dialect) for _ in range(replies)))
                model.lasts = []
                asyncio.run(run_turn(session, f"Prompt {at}. " * rng.choice((1, 40))))
                for request, last in zip(model.requests, model.lasts, strict=True):
                    check_shape(request.messages)
                    anew = again(host, session, f"turn_{at}", last, budget)
                    assert anew.messages[1:] == request.messages[1:]
                    assert (anew.round, anew.prompt) == (request.round, request.prompt)


def sent_of(
    folder: Path, call: Call, outcome: Outcome, checked: CheckedCall | None = None
) -> list[tuple[str, str]]:
    """What a model is sent after a call that was written down by hand."""
    with some_host(folder, Replies()) as host:
        session = host.session("talk")
        turn = session.recorder.new_turn()
        session.recorder.prompt(turn, "Go.")
        session.recorder.started(turn, call, checked)
        session.recorder.ended(turn, call, outcome)
        return texts(again(host, session, turn, session.recorder.state.last, None).messages)


def test_an_output_beside_an_error_is_told_with_it(tmp_path: Path) -> None:
    failure = Failure(code="too_slow", message="it was stopped after 5 s")
    outcome = Outcome(id="c1", name="say", output="half of it", error=failure)
    *_, (_, given) = sent_of(tmp_path, Call(id="c1", name="say", input={"at": 0}), outcome)
    (result,) = parse(given, "tool-fence").results
    assert result.error
    assert "half of it" in result.error
    assert result.error.count("it was stopped after 5 s") == 1


def test_the_code_of_a_call_is_all_there_in_what_the_model_said(tmp_path: Path) -> None:
    name = "exec_tools.execute_code_python"
    code = "".join(f"print({at})\n" for at in range(100))
    call = Call(id="c1", name=name, input={"code": code})
    _, (_, own), (_, given) = sent_of(tmp_path, call, Outcome(id="c1", name=name, output={}))
    (said,) = parse(own, "tool-fence").calls
    assert said.input == {"code": code}
    assert "print(99)" not in given


@pytest.mark.parametrize("more", [{}, {"code": "of its own"}])
def test_the_code_of_a_call_through_another_stands_where_the_model_wrote_it(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    inner = {"code": "".join(f"print({at})\n" for at in range(100))}
    name = "exec_tools.execute_code_python"
    call = Call(id="c1", name="custom", input={"name": name, "parameters": inner, **more})
    checked = CheckedCall(name=name, input=inner, result="exec")
    outcome = Outcome(id="c1", name="custom", output={})
    _, (_, own), _ = sent_of(tmp_path, call, outcome, checked)
    (said,) = parse(own, "tool-fence").calls
    assert said.input == call.input
    assert own.count("print(99)") == 1


def test_a_call_that_a_dialect_cannot_say_stands_as_in_the_view(tmp_path: Path) -> None:
    call = Call(id="c1", name="say", input={"at": 0, "odd": {"deep": [1]}})
    with some_host(tmp_path, Replies(), dialect="emoji-bracket") as host:
        session = host.session("talk")
        turn = session.recorder.new_turn()
        session.recorder.prompt(turn, "Go.")
        session.recorder.started(turn, call)
        session.recorder.ended(turn, call, Outcome(id="c1", name="say", output="so"))
        request = again(host, session, turn, session.recorder.state.last, None)
    check_shape(request.messages)
    _, (_, own), (_, given) = texts(request.messages)
    assert own.startswith("[TOOL CALL c1].call say\npayload: {")
    assert given.startswith("[TOOL RESULT c1].result say\n")
