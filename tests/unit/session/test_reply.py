"""Nothing of a reply is lost, however it is cut: it is told, and it is on the timeline."""

from __future__ import annotations

import asyncio
from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callblocks.core.events import (
    CallEnded,
    CallReady,
    Event,
    Malformed,
    ModelWrote,
    Text,
    TurnEvent,
)
from callblocks.core.json_values import whole
from callblocks.dialects import dialects
from callblocks.parser import Parser
from callblocks.session.model_choice import SessionSettings
from callblocks.session.reply import CallIds, Reply
from callblocks.timeline.codec.call_blocks import input_digest
from support.played_turns import LOOKING, Played
from support.scripted_sessions import TAUGHT, Replies, of_type, run_turn, some_host
from support.soup import soup


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


def parser(dialect: str) -> Parser:
    """As a session reads that dialect; a display is not for models."""
    if dialect != "auto":
        return Parser(dialect, tools=LOOKING)
    taught = [one for one in dialects.values() if one.in_auto and one.rules]
    return Parser(taught, tools=LOOKING, in_code_fences=False)


def segments(events: list[Event]) -> list[str]:
    """The prose before each call, and after the last."""
    found = [""]
    for event in events:
        if isinstance(event, Text | Malformed):
            found[-1] += event.text
        elif isinstance(event, CallReady):
            found.append("")
    return found


def talks(dialect: str) -> st.SearchStrategy[tuple[str, list[int]]]:
    return st.tuples(soup(dialect), st.lists(st.integers(0, 1000), max_size=6))


@pytest.mark.parametrize("carries", [True, False])
@pytest.mark.parametrize("dialect", TAUGHT)
def test_all_of_a_reply_is_told_and_kept(dialect: str, carries: bool) -> None:
    @given(talks(dialect))
    @settings(max_examples=40)
    def check(talk: tuple[str, list[int]]) -> None:
        text, cuts = talk
        told: list[TurnEvent] = []
        numbers = count(1)
        ids = CallIds("turn_1", lambda id: False, lambda: f"made-{next(numbers)}")
        reply = Reply(parser(dialect), ids, told.append, carries=carries)
        for piece in pieces(text, cuts):
            reply.feed(piece)
        reply.close()
        read = parser(dialect)
        events = [*read.feed(text), *read.close()]
        said = "".join(one.text for one in events if isinstance(one, Text))
        assert "".join(one.text for one in of_type(told, Text)) == said
        broken = [one.text for one in events if isinstance(one, Malformed)]
        assert [one.text for one in of_type(told, Malformed)] == broken
        assert [*(one.before for one in reply.written), reply.rest] == segments(events)
        ready = [one.call for one in events if isinstance(one, CallReady)]
        written = [one.call for one in of_type(told, CallReady)]
        assert [input_digest(one) for one in written] == [input_digest(one) for one in ready]
        assert [one.call for one in reply.written] == written
        assert len({one.id for one in written}) == len(written)
        assert reply.length == len(text)
        assert len(of_type(told, CallEnded)) == sum(one.carried for one in reply.written)

    check()


@pytest.mark.parametrize("carries", [True, False])
@pytest.mark.parametrize("dialect", TAUGHT)
def test_a_turn_with_any_reply_keeps_the_laws(tmp_path: Path, dialect: str, carries: bool) -> None:
    model = Replies(size=10_000, writes_results=carries)
    limits, names = SessionSettings(rounds=2), count(1)

    @given(talks(dialect))
    @settings(max_examples=10)
    def check(talk: tuple[str, list[int]]) -> None:
        text, cuts = talk
        session = host.session(f"talk-{next(names)}")
        model.begin(pieces(text, cuts), "The end.")
        played = Played(model, asyncio.run(run_turn(session, "Go on.")), session)
        wrote = [one for one in played.events if isinstance(one, ModelWrote) and one.round == 1]
        kept = [whole(one.strip("\n")) for one in segments([one.event for one in wrote])]
        notes = played.texts("react.notes", "assistant.completion")
        assert [one for one in notes if one != "The end."] == [one for one in kept if one.strip()]
        written = [one.call.id for one in of_type(played.events, CallReady)]
        assert [block.call_id for block in played.of("react.tool.call")] == written
        assert session.recorder.state.ended == {"turn_1": played.end.status}

    with some_host(tmp_path, model, dialect=dialect, tools=LOOKING, session=limits) as host:
        check()
