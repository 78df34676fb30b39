"""The chat clients of the npm package `ai`, in its versions 5, 6 and 7, read our streams.

Every error that a client reports fails its test, unless the test is about one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from callblocks.core.events import (
    CallAnswered,
    CallBegan,
    RoundBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.views.text.spec_functions import create_stream_chunks, parse_markdown_into_chunks
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.tool_parts import Version
from callblocks.views.ui.ai_sdk.ui_messages import PostedAnswer, read_posted, reduced
from support.ai_clients import CLIENTS, AiClient, Told, Turn, chat_app, served
from support.corpus import cases_of
from support.model_events import call_opened, model_said
from support.turns import BEGIN, a_turn, asked, called, ended, joined, played

EXAMPLES = {
    case.title: case.text
    for case in cases_of("tool-fence")
    if " of the specification " in case.title
}
STATUSES = ("stopped", "failed", "limited", "interrupted")


def unfinished(status: str) -> list[TurnEvent]:
    return [
        *BEGIN,
        model_said(text="I begin"),
        *called(1, "c1"),
        CallBegan(id="c1"),
        call_opened(key=2, name="add", id="c2"),
        TurnEnded(turn="turn_1", status=status, code="x", message="so it is"),  # pyright: ignore[reportArgumentType] one of four
    ]


def answer(answers: Sequence[PostedAnswer], at: int, id: str) -> list[TurnEvent]:
    """What becomes of a call that is asked about."""
    said, approval = answers[at], f"ap_{id}"
    event = CallAnswered(
        id=id, approval=approval, approved=said.approved, reason=said.reason or "because"
    )
    assert said.approval == approval
    if not said.approved:
        return [event, ended(id, code="approval_denied")]
    return [event, CallBegan(id=id), ended(id)]


def one_question(answers: Sequence[PostedAnswer]) -> list[TurnEvent]:
    events = [*BEGIN, model_said(text="May I?"), *called(1, "c1", a=1), asked("c1", "ap_c1")]
    if not answers:
        return events
    events += answer(answers, 0, "c1")
    return [*events, RoundBegan(number=2), model_said(text="Done."), ANSWERED]


def two_questions() -> Turn:
    """Two calls that are asked about, and a third that waits for both."""
    given: list[PostedAnswer] = []

    def turn(answers: Sequence[PostedAnswer]) -> list[TurnEvent]:
        # A client posts only the answers that are not used up.
        given.extend(answers)
        calls = [event for key in (1, 2, 3) for event in called(key, f"c{key}")]
        events = [*BEGIN, *calls, asked("c1", "ap_c1")]
        if given:
            events += [*answer(given, 0, "c1"), asked("c2", "ap_c2")]
        if len(given) > 1:
            events += [*answer(given, 1, "c2"), CallBegan(id="c3"), ended("c3")]
            events += [RoundBegan(number=2), model_said(text="Done."), ANSWERED]
        return events

    return turn


ANSWERED = TurnEnded(turn="turn_1", status="answered")


def fixed(events: list[TurnEvent]) -> Turn:
    return lambda _: events


TURNS: dict[str, Turn] = {
    **{name: fixed(played(text)) for name, text in EXAMPLES.items()},
    **{status: fixed(unfinished(status)) for status in STATUSES},
    "all": fixed(a_turn()),
    "joined": fixed(joined(a_turn())),
    "none": fixed([]),
    "cut": fixed([*BEGIN, model_said(text="I begin"), call_opened(key=1, name="add", id="c1")]),
    "fence": fixed(played("```tool t c1\ninput: [1, 2]\noutput: null\n```\n")),
    "one": one_question,
    **{f"two-{package}": two_questions() for package in CLIENTS},
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(chat_app(TURNS)) as url:
        yield url


@pytest.fixture(scope="module")
def clients() -> Iterator[dict[str, AiClient]]:
    """One process for each package, for all tests."""
    with ExitStack() as stack:
        yield {package: stack.enter_context(AiClient(package)) for package in CLIENTS}


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, clients: dict[str, AiClient]) -> AiClient:
    return clients[request.param]


# Clients that know approvals, and those that take a replay for what it is.
asking = pytest.mark.parametrize("client", ["ai6", "ai7"], indirect=True)
replaying = pytest.mark.parametrize("client", ["ai5", "ai6", "ai7"], indirect=True)


@pytest.fixture
def read(client: AiClient, url: str) -> Any:
    def perform(turn: str, *, fails: bool = False, **asked: Any) -> Told:
        place = f"{url}/{client.version}/{turn}"
        told = client.perform(url=place, chat=f"{client.package}-{turn}", text="Go.", **asked)
        assert fails or not told.errors, told.errors
        return told

    return perform


def shown(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what a client leaves of its own bookkeeping."""
    ours = [
        {key: value for key, value in part.items() if key not in _OWN} for part in message["parts"]
    ]
    return {**message, "parts": ours}


# A reasoning part has the id of its chunk from 6 on; 5.0.0 does not keep who runs a call.
_OWN = ("id", "providerExecuted")


def expected(events: list[TurnEvent], version: Version) -> dict[str, Any]:
    stream = UiStream(version, message_id="turn_1")
    return shown(reduced(chunk for event in events for chunk in stream.feed(event)))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_fence_gives_its_three_events(read: Any, name: str) -> None:
    told = read(name)
    chunks = parse_markdown_into_chunks(EXAMPLES[name])
    parts = told.parts("dynamic-tool")
    for part, chunk in zip(
        parts, [chunk for chunk in chunks if chunk["type"] == "tool"], strict=True
    ):
        keys = ("toolCallId", "toolName", "state", "input", "output", "errorText")
        assert {key: part[key] for key in keys if key in part} == {
            key: chunk[key] for key in keys if key in chunk
        }
    said = [chunk["text"] for chunk in chunks if chunk["type"] == "text"]
    assert [part["text"] for part in told.parts("text")] == [text for text in said if text.strip()]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_events_of_a_fence_are_those_of_the_specification(client: AiClient, name: str) -> None:
    stream = UiStream(client.version, message_id="m")
    ours = [chunk for event in played(EXAMPLES[name]) for chunk in stream.feed(event)]
    events = [chunk for chunk in create_stream_chunks(EXAMPLES[name]) if "toolCallId" in chunk]
    told = [
        chunk for chunk in ours if "toolCallId" in chunk and chunk["type"] != "tool-input-start"
    ]
    keys = ("type", "toolCallId", "toolName", "input", "output", "errorText")
    assert [{key: chunk[key] for key in keys if key in chunk} for chunk in told] == events


def test_an_input_that_is_no_object_and_an_output_of_null_arrive(read: Any) -> None:
    (part,) = read("fence").parts("dynamic-tool")
    assert (part["state"], part["input"], part["output"]) == ("output-available", [1, 2], None)


def test_each_call_goes_through_its_states(client: AiClient, read: Any) -> None:
    told = read("all")
    live = ["input-streaming", "input-available"]
    waits = [] if client.version > 5 else live[:1]
    assert told.calls == {
        "c1": [*live, "output-available"],
        "c2": ["input-available", "output-available"],
        "c3": [*waits, "input-available", "output-error"],
        "c4": [*live, "output-error"],
    }
    assert told.status == "ready"


def test_a_client_has_the_message_that_we_have(client: AiClient, read: Any) -> None:
    told = read("all")
    assert shown(told.message) == expected(a_turn(), client.version)
    assert told.message["metadata"] == {
        "turn": "turn_1",
        "status": "answered",
        "tokens": {"in": 12, "out": 34},
    }
    assert told.text.endswith("It is 3. 🐱")


def test_data_parts_arrive_and_progress_does_not_stay(read: Any) -> None:
    told = read("all")
    (artifact,) = told.parts("data-artifact")
    assert artifact["data"]["url"] == f"/api/artifacts/{'4f' * 32}"
    assert [one["data"]["code"] for one in told.parts("data-problem")] == [
        "tool-fence.yaml",
        "tool-fence.unclosed",
    ]
    assert told.parts("data-progress") == []
    assert {"toolCallId": "c1", "text": "working"} in [one["data"] for one in told.data]


def test_no_client_runs_our_tools_or_sends_their_outputs_back(read: Any) -> None:
    told = read(next(iter(EXAMPLES)), sends="tools")
    assert told.called == []
    assert len(told.posts) == 1


@pytest.mark.parametrize("status", STATUSES)
def test_what_was_written_stays_however_the_turn_ends(
    client: AiClient, read: Any, status: str
) -> None:
    told = read(status, fails=True)
    assert shown(told.message) == expected(unfinished(status), client.version)
    assert told.text == "I begin"
    assert told.message["metadata"]["status"] == status
    # Calls of a turn that was interrupted may still come to an end.
    last = "input-available" if status == "interrupted" else "output-error"
    assert told.parts("dynamic-tool")[0]["state"] == last
    assert {part["state"] for part in told.parts("dynamic-tool")} <= {"output-error", last}
    failed = status != "stopped"
    assert told.status == ("error" if failed else "ready")
    assert [error.endswith(": so it is.") for error in told.errors] == [True] * failed


def test_a_stream_that_is_cut_says_so(read: Any) -> None:
    told = read("cut", fails=True)
    assert told.text == "I begin"
    assert told.errors == [
        "The connection ended before the turn did. Load the chat again to follow it."
    ]


def test_a_stream_is_resumed_from_its_beginning(read: Any) -> None:
    live = read("all")
    resumed = read("joined", resume=True, messages=live.messages[:1])
    assert resumed.messages == live.messages


@replaying
def test_a_client_that_has_a_part_of_the_message_gets_the_rest(read: Any) -> None:
    live = read("all")
    begun = {**live.message, "parts": live.message["parts"][:3]}
    resumed = read("all", resume=True, messages=[live.messages[0], begun])
    assert resumed.messages == live.messages


def test_nothing_to_resume_is_no_error(read: Any) -> None:
    told = read("none", resume=True, messages=[])
    assert (told.messages, told.errors) == ([], [])


def test_a_question_waits_in_the_message(client: AiClient, read: Any) -> None:
    told = read("one", fails=client.version == 5)
    (question,) = told.parts("data-approval")
    assert question["data"] == {
        "id": "ap_c1",
        "toolCallId": "c1",
        "toolName": "add",
        "input": {"a": 1},
        "reason": "it changes files",
        "preview": "- a\n+ b",
    }
    waits = "input-available" if client.version == 5 else "approval-requested"
    assert told.calls["c1"][-1] == waits


@asking
@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize("approved", [True, False])
def test_an_answer_goes_back_and_the_message_goes_on(
    read: Any, approved: bool, by_hand: bool
) -> None:
    said = {"approved": approved, "reason": "as I said"}
    told = read("one", answers=[said], byHand=by_hand, sends=None if by_hand else "approvals")
    assert len(told.posts) == 2
    assert read_posted(told.posts[1]).answers == (PostedAnswer("ap_c1", approved, "as I said"),)
    assert len(told.messages) == 2
    states = told.calls["c1"]
    assert states[states.index("approval-requested") :] == [
        "approval-requested",
        "approval-responded",
        "output-available" if approved else "output-denied",
    ]
    (part,) = told.parts("dynamic-tool")
    assert part["approval"] == {"id": "ap_c1", **said}
    assert (told.text, told.status) == ("May I?Done.", "ready")


@asking
def test_questions_come_one_after_the_other(client: AiClient, read: Any) -> None:
    told = read(
        f"two-{client.package}",
        answers=[{"approved": True}, {"approved": False}],
        sends="approvals",
    )
    assert len(told.posts) == 3
    states = {part["toolCallId"]: part["state"] for part in told.parts("dynamic-tool")}
    assert states == {"c1": "output-available", "c2": "output-denied", "c3": "output-available"}
    assert told.text == "Done."
