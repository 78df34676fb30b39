"""Whatever happens in a turn, its stream is one that every client of its version takes."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given

from callblocks.core.events import CallAnswered, TurnEnded, TurnEvent
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.tool_parts import VERSIONS, Chunk, Version
from callblocks.views.ui.ai_sdk.ui_messages import reduced
from support.turns import joined, team_turns, turns
from support.ui_check import UiCheck, check


def streamed(events: list[TurnEvent], version: Version) -> list[Chunk]:
    stream = UiStream(version, message_id="turn_1")
    chunks = [chunk for event in events for chunk in stream.feed(event)]
    return [*chunks, *stream.close()]


@given(turns() | team_turns())
def test_every_stream_is_well_formed(events: list[TurnEvent]) -> None:
    for version in VERSIONS:
        chunks = streamed(events, version)
        states = check(chunks, version)
        ends = [one for one in events if isinstance(one, TurnEnded) and not one.member]
        if ends and ends[0].status != "interrupted":
            assert set(states.values()) <= {"ended"}
        msgspec.json.encode(chunks)


@given(turns())
def test_a_replay_gives_the_same_message(events: list[TurnEvent]) -> None:
    for version in VERSIONS:
        live, replay = streamed(events, version), streamed(joined(events), version)
        assert reduced(replay) == reduced(live)


@given(turns())
def test_responses_that_end_at_questions_give_the_same_message(events: list[TurnEvent]) -> None:
    for version in VERSIONS:
        reader, chunks = UiCheck(version), in_responses(events, version)
        for chunk in chunks:
            reader.take(chunk)
        whole = reduced(streamed(events, version))
        assert _without_cuts(reduced(chunks)) == _without_cuts(whole)


def in_responses(events: list[TurnEvent], version: Version) -> list[Chunk]:
    """The chunks of all responses, as a server sends them when each question is answered."""
    chunks: list[Chunk] = []
    stream = UiStream(version, message_id="turn_1")
    for at, event in enumerate(events):
        if stream.paused and isinstance(event, CallAnswered):
            chunks += stream.close()
            stream = UiStream(version, message_id="turn_1", resumed=True)
            for seen in events[:at]:
                stream.skip(seen)
        chunks += stream.feed(event)
    return [*chunks, *stream.close()]


def _without_cuts(message: dict[str, Any]) -> dict[str, Any]:
    """Text that a question stands in has two parts then; nothing else changes."""
    parts: list[dict[str, Any]] = []
    for part in message["parts"]:
        last = parts[-1] if parts else {}
        if part["type"] == last.get("type") and "text" in part:
            parts[-1] = {**last, "text": f"{last['text']}{part['text']}"}
        else:
            parts.append(part)
    return {**message, "parts": parts}
