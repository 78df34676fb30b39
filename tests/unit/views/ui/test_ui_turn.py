"""What a stream tells of a turn, chunk by chunk."""

from __future__ import annotations

import msgspec
import pytest

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallAnswered,
    CallBegan,
    CallEnded,
    ModelWrote,
    RoundBegan,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.tool_parts import VERSIONS, Chunk, Version
from support.model_events import call_opened, call_written, model_said
from support.turns import BEGIN, asked, called, ended
from support.ui_check import check


def told(events: list[TurnEvent], version: Version = 5) -> list[Chunk]:
    stream = UiStream(version, message_id="m")
    return [chunk for event in events for chunk in stream.feed(event)]


def types(chunks: list[Chunk]) -> list[str]:
    return [chunk["type"] for chunk in chunks]


QUESTION = [*BEGIN, *called(1, "c1"), asked("c1", "ap1")]


def test_a_message_begins_with_its_id_and_turn() -> None:
    (start,) = told([TurnBegan(turn="turn_1")])
    assert start == {"type": "start", "messageId": "m", "messageMetadata": {"turn": "turn_1"}}


def test_blank_text_is_kept_within_prose_and_is_no_part_alone() -> None:
    events = [*BEGIN, *map(_say, ("\n", "a", " ", "\n")), *called(1, "c1"), _say("\n\n")]
    chunks = told([*events, *called(2, "c2")])
    assert [chunk["delta"] for chunk in chunks if "delta" in chunk] == ["\na", " ", "\n"]
    assert types(chunks).count("text-start") == 1


def _say(text: str) -> ModelWrote:
    return model_said(text=text)


def test_members_are_named_with_what_they_say_and_call() -> None:
    call = call_written(key=1, call=Call(id="c1", name="t"), member="Ann")
    chunks = told(
        [*BEGIN, model_said(text="a", member="Ann"), model_said(text="b", member="Bob"), call]
    )
    named = [
        chunk["providerMetadata"]["callblocks"]["member"] for chunk in chunks[2:] if _is(chunk)
    ]
    assert named == ["Ann", "Bob", "Ann"]
    # Only the one who calls has ended what they say.
    assert types(chunks).count("text-end") == 1


def _is(chunk: Chunk) -> bool:
    return "providerMetadata" in chunk


def test_a_round_of_a_member_waits_for_the_call_that_another_one_writes() -> None:
    opened = call_opened(key=1, name="t", id="c1", member="Ann")
    chunks = told([*BEGIN, opened, RoundBegan(number=1, member="Bob")])
    assert types(chunks)[-1] == "tool-input-start"


@pytest.mark.parametrize("version", [6, 7])
def test_a_turn_pauses_where_nothing_happens_without_an_answer(version: Version) -> None:
    stream = UiStream(version, message_id="m")
    chunks = [chunk for event in QUESTION for chunk in stream.feed(event)]
    assert types(chunks)[-2:] == ["data-approval", "tool-approval-request"]
    assert stream.paused
    end = stream.close()
    assert types(end) == ["finish-step", "finish"]
    assert not stream.paused
    assert stream.feed(ended("c1")) == stream.close() == []


@pytest.mark.parametrize("version", [6, 7])
def test_a_turn_does_not_pause_while_another_call_runs(version: Version) -> None:
    stream = UiStream(version, message_id="m")
    for event in [*BEGIN, *called(1, "c1"), *called(2, "c2"), CallBegan(id="c2")]:
        stream.feed(event)
    stream.feed(asked("c1", "ap1"))
    assert not stream.paused
    stream.feed(ended("c2"))
    assert stream.paused


def test_version_5_never_pauses_and_has_question_and_answer_as_data() -> None:
    stream = UiStream(5, message_id="m")
    for event in QUESTION:
        stream.feed(event)
    assert not stream.paused
    (answer,) = stream.feed(CallAnswered(id="c1", approval="ap1", approved=False, reason="no"))
    assert (answer["type"], answer["id"]) == ("data-approval", "ap1")
    assert (answer["data"]["approved"], answer["data"]["answer"]) == (False, "no")
    assert types(stream.feed(ended("c1", code="approval_denied"))) == ["tool-output-error"]


def test_a_question_has_every_number_as_the_call_has_it() -> None:
    given = {"to": 2**53 + 1, "all": [{"n": -(2**60) - 1}, 5, True, 0.5], "most": 2**53}
    written = call_written(key=1, call=Call(id="c1", name="pay", input=given))
    chunks = told([*BEGIN, written, asked("c1", "ap1")])
    (question,) = [chunk for chunk in chunks if chunk["type"] == "data-approval"]
    shown = {"to": "9007199254740993", "all": [{"n": "-1152921504606846977"}, 5, True, 0.5]}
    assert question["data"]["input"] == {**shown, "most": 2**53}


def test_a_question_has_the_input_as_the_tool_takes_it() -> None:
    written = call_written(key=1, call=Call(id="c1", name="ask", input={"method": "get"}))
    taken = msgspec.structs.replace(asked("c1", "ap1"), input={"method": "GET"})
    chunks = told([*BEGIN, written, taken])
    (question,) = [chunk for chunk in chunks if chunk["type"] == "data-approval"]
    assert question["data"]["input"] == {"method": "GET"}


@pytest.mark.parametrize("version", [6, 7])
def test_only_a_no_to_a_question_of_this_message_is_a_denial(version: Version) -> None:
    denied = told([*QUESTION, ended("c1", code="approval_denied")], version)
    assert types(denied)[-1] == "tool-output-denied"
    late = told([*QUESTION, ended("c1", code="approval_expired")], version)
    assert types(late)[-1] == "tool-output-error"
    before = told([*BEGIN, *called(1, "c1"), ended("c1", code="approval_denied")], version)
    assert types(before)[-1] == "tool-output-error"


@pytest.mark.parametrize("version", [6, 7])
def test_the_next_response_goes_on_in_the_same_step(version: Version) -> None:
    stream = UiStream(version, message_id="m", resumed=True)
    for event in QUESTION:
        stream.skip(event)
    answered = stream.feed(CallAnswered(id="c1", approval="ap1", approved=True))
    assert types(answered)[0] == "start"
    output = stream.feed(ended("c1"))
    assert types(output) == ["tool-output-available"]
    assert types(stream.feed(RoundBegan(number=2))) == ["start-step"]


def test_a_stream_that_was_told_nothing_ends_well() -> None:
    for version in VERSIONS:
        check(UiStream(version, message_id="m").close(), version)


def test_the_id_of_a_call_that_was_wrong_is_given_up() -> None:
    opened = call_opened(key=1, name="t", id="c1")
    written = call_written(key=1, call=Call(id="c1-2", name="t"))
    chunks = told([*BEGIN, opened, written, ended("c1-2"), _end("answered")])
    assert check(chunks, 5) == {"c1": "ended", "c1-2": "ended"}


def test_the_words_of_a_failure_begin_with_its_code_unless_the_text_carried_it() -> None:
    failed = ended("c1", code="no_tea")
    events = [*BEGIN, *called(1, "c1")]
    assert told([*events, failed])[-1]["errorText"] == "no_tea: it did not work"
    carried = CallEnded(outcome=failed.outcome, written=True)
    assert told([*events, carried])[-1]["errorText"] == "it did not work"


@pytest.mark.parametrize(
    ("status", "last"),
    [
        ("answered", ["message-metadata", "finish"]),
        ("stopped", ["message-metadata", "abort", "finish"]),
        ("failed", ["message-metadata", "error", "finish"]),
        ("limited", ["message-metadata", "error", "finish"]),
        ("interrupted", ["message-metadata", "error", "finish"]),
    ],
)
def test_each_end_has_its_chunks(status: str, last: list[str]) -> None:
    assert types(told([*BEGIN, _end(status)]))[-len(last) :] == last


def _end(status: str) -> TurnEnded:
    return TurnEnded(turn="turn_1", status=status)  # pyright: ignore[reportArgumentType] one of five


def test_the_end_of_a_member_is_not_that_of_the_turn() -> None:
    member = TurnEnded(turn="turn_1", status="answered", member="Ann")
    assert told([*BEGIN, member, _say("on")])[-1]["type"] == "text-delta"


@pytest.mark.parametrize("member", ["", "Ann"])
def test_where_a_store_is_on_its_machine_is_not_told(member: str) -> None:
    fault = "/home/ann/talks.db: the disk is full"
    end = TurnEnded(turn="turn_1", status="failed", code="store_full", message=fault, member=member)
    chunks = told([*BEGIN, end])
    assert "/home" not in str(chunks)
    assert "no room is left on the disk" in str(chunks)
