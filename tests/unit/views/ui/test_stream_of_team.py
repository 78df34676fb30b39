"""Several who speak in one message: nobody cuts the others off, and all get their answers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallEnded,
    RoundBegan,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.tool_parts import Version
from callblocks.views.ui.ai_sdk.ui_messages import reduced
from support.model_events import call_written, model_said
from support.turns import called, ended

BEGAN = [TurnBegan(turn="turn_1"), RoundBegan(number=1, member="Ann")]
asking = pytest.mark.parametrize("version", [6, 7])


def asks(member: str, key: int) -> list[TurnEvent]:
    id = f"{member}/c1"
    return [
        call_written(key=key, call=Call(id=id, name="add"), member=member),
        CallAsked(id=id, approval=f"ap_{member}", reason="why", member=member),
    ]


def goes_on(member: str) -> list[TurnEvent]:
    id = f"{member}/c1"
    outcome = ended(id).outcome
    return [
        CallAnswered(id=id, approval=f"ap_{member}", approved=True, member=member),
        CallBegan(id=id, member=member),
        CallEnded(outcome=outcome, member=member),
        RoundBegan(number=2, member=member),
        model_said(text=f"{member} is done.", member=member),
        TurnEnded(turn="team_turn_1", status="answered", member=member),
    ]


def fed(stream: UiStream, events: list[TurnEvent]) -> list[dict[str, Any]]:
    return [chunk for event in events for chunk in stream.feed(event)]


@asking
def test_a_question_waits_until_nobody_else_is_at_work(version: Version) -> None:
    stream = UiStream(version, message_id="turn_1")
    fed(stream, [*BEGAN, RoundBegan(number=1, member="Bob"), *asks("Ann", 1)])
    assert not stream.paused
    fed(stream, [model_said(text="I am Bob.", member="Bob")])
    assert not stream.paused
    fed(stream, [TurnEnded(turn="team_turn_1", status="answered", member="Bob")])
    assert stream.paused


@asking
def test_all_who_ask_are_answered_in_one_step(version: Version) -> None:
    """A client sends its answers by itself only from the last step."""
    stream = UiStream(version, message_id="turn_1")
    chunks = fed(stream, [*BEGAN, *asks("Ann", 1), RoundBegan(number=1, member="Bob")])
    chunks += fed(stream, asks("Bob", 2))
    assert stream.paused
    kinds = [part["type"] for part in reduced([*chunks, *stream.close()])["parts"]]
    assert kinds.count("step-start") == 1


@asking
def test_a_response_does_not_end_for_answers_that_it_brought(version: Version) -> None:
    stream = UiStream(version, message_id="turn_1", resumed=True)
    for event in [*BEGAN, RoundBegan(number=1, member="Bob"), *asks("Ann", 1), *asks("Bob", 2)]:
        stream.skip(event)
    stream.expect("ap_Ann")
    stream.expect("ap_Bob")
    fed(stream, goes_on("Ann"))
    assert not stream.paused
    fed(stream, goes_on("Bob"))
    assert not stream.paused


@asking
def test_one_answer_of_two_goes_on_with_one(version: Version) -> None:
    stream = UiStream(version, message_id="turn_1", resumed=True)
    for event in [*BEGAN, RoundBegan(number=1, member="Bob"), *asks("Ann", 1), *asks("Bob", 2)]:
        stream.skip(event)
    stream.expect("ap_Ann")
    chunks = fed(stream, goes_on("Ann"))
    assert stream.paused
    assert "start-step" not in [chunk["type"] for chunk in chunks]
    assert "Ann is done." in [chunk.get("delta") for chunk in chunks]


def test_a_round_of_one_does_not_cut_the_text_of_another() -> None:
    stream = UiStream(5, message_id="turn_1")
    events: list[TurnEvent] = [
        *BEGAN,
        model_said(text="I am ", member="Ann"),
        RoundBegan(number=1, member="Bob"),
        model_said(text="And I ", member="Bob"),
        model_said(text="Ann.", member="Ann"),
        RoundBegan(number=2, member="Ann"),
        model_said(text="am Bob.", member="Bob"),
    ]
    parts = reduced(fed(stream, events))["parts"]
    assert [one["text"] for one in parts if one["type"] == "text"] == ["I am Ann.", "And I am Bob."]


@asking
def test_calls_of_a_turn_that_is_over_stand_as_they_were_written(version: Version) -> None:
    stream = UiStream(version, message_id="turn_1", is_over=True)
    calls = [event for key in (1, 2, 3) for event in called(key, f"c{key}")]
    parts = reduced(fed(stream, [*calls, *(ended(f"c{key}") for key in (3, 1, 2))]))["parts"]
    assert [one["toolCallId"] for one in parts if "toolCallId" in one] == ["c1", "c2", "c3"]


@asking
def test_who_has_begun_is_at_work_before_saying_anything(version: Version) -> None:
    stream = UiStream(version, message_id="turn_1")
    fed(stream, [*BEGAN, TurnBegan(turn="team_turn_1", member="Bob"), *asks("Ann", 1)])
    assert not stream.paused


def test_a_message_says_how_its_members_stand() -> None:
    stream = UiStream(5, message_id="turn_1")
    (start, _, begun) = fed(stream, [TurnBegan(turn="team_turn_1", member="Ann")])
    assert "messageMetadata" not in start
    assert begun["data"] == {"name": "Ann", "status": "speaking"}
    failed = TurnEnded(
        turn="team_turn_1", member="Ann", status="failed", code="model_empty", message="nothing"
    )
    (ended_part,) = fed(stream, [failed])
    assert ended_part["id"] == begun["id"]
    assert ended_part["data"] == {
        "name": "Ann",
        "status": "failed",
        "code": "model_empty",
        "message": "nothing",
    }


@asking
def test_rounds_of_members_stand_in_one_step_and_the_answer_in_the_next(version: Version) -> None:
    stream = UiStream(version, message_id="turn_1")
    events: list[TurnEvent] = [
        *BEGAN,
        model_said(text="One.", member="Ann"),
        RoundBegan(number=2, member="Ann"),
        model_said(text="Two.", member="Ann"),
        TurnEnded(turn="team_turn_1", status="answered", member="Ann"),
        RoundBegan(number=1),
        model_said(text="All."),
    ]
    kinds = [part["type"] for part in reduced(fed(stream, events))["parts"]]
    assert kinds == ["step-start", "text", "text", "data-member", "step-start", "text"]


@asking
def test_an_answer_that_two_wait_for_is_for_one_of_them(version: Version) -> None:
    stream = UiStream(version, message_id="turn_1")
    both: list[TurnEvent] = [
        *BEGAN,
        RoundBegan(number=1, member="Bob"),
        *shared("Ann", 1, "ap"),
        *shared("Bob", 2, "ap"),
    ]
    chunks = fed(stream, both)
    assert stream.paused
    ids = [chunk["id"] for chunk in chunks if chunk["type"] == "data-approval"]
    assert ids == ["ap", "ap:Bob/c1"]
    told = fed(stream, [answer("Bob", "ap", approved=True), answer("Ann", "ap", approved=False)])
    # A client would take it for the answer to the first who asked.
    assert [chunk["type"] for chunk in told] == ["data-approval"] * 2
    assert not stream.paused
    again = fed(stream, shared("Ann", 1, "other")[1:])
    assert again[-1] == {
        "type": "tool-approval-request",
        "approvalId": "other",
        "toolCallId": "Ann/c1",
    }


def shared(member: str, key: int, approval: str) -> list[TurnEvent]:
    written, asked = asks(member, key)
    assert isinstance(asked, CallAsked)
    return [written, replace(asked, approval=approval)]


def answer(member: str, approval: str, *, approved: bool) -> CallAnswered:
    return CallAnswered(
        id=f"{member}/c1", approval=approval, approved=approved, reason="so", member=member
    )
