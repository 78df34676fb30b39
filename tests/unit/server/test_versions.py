"""Which client sent a request, where it does not say so itself."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallAsked,
    RoundBegan,
    TurnBegan,
    TurnEvent,
)
from callblocks.server.chats.ui_events import detect_client
from callblocks.server.settings import SdkClient
from callblocks.views.ui.ai_sdk.stream import UiStream
from support.model_events import call_written

DEAF = SdkClient(5, answers=False)


def _call(**more: Any) -> dict[str, Any]:
    part = {"type": "dynamic-tool", "toolCallId": "c1", "state": "input-available"}
    return {**part, "providerExecuted": True, **more}


def _asked(**more: Any) -> dict[str, Any]:
    data = {"id": "a1", "toolCallId": "c1", "toolName": "note", **more}
    return {"type": "data-approval", "id": "a1", "data": data}


def _said(*parts: Any, role: str = "assistant") -> list[dict[str, Any]]:
    return [{"role": "user", "parts": [{"type": "text"}]}, {"role": role, "parts": list(parts)}]


@pytest.mark.parametrize(
    ("agent", "client"),
    [
        ("ai/5.0.277 runtime/node.js/22", DEAF),
        ("my-app/2.0 ai/6.0.326", SdkClient(6)),
        ("Mozilla/5.0 (X11) (ai/7)", SdkClient(7)),
        ("ai/70.1", None),
        ("openai/6.0", None),
        ("ai/8.0.0", None),
        ("Mozilla/5.0", None),
        ("", None),
    ],
)
def test_a_user_agent_may_name_the_package(agent: str, client: SdkClient | None) -> None:
    assert detect_client(agent, []) == client


@pytest.mark.parametrize(
    "history",
    [
        _said(_call(), _asked()),
        _said(_asked(), _call(state="input-streaming")),
        _said({"type": "dynamic-tool", "toolCallId": "c1", "state": "output-available"}),
    ],
)
def test_a_history_shows_a_client_without_approvals(history: list[dict[str, Any]]) -> None:
    assert detect_client("node", history) == DEAF


@pytest.mark.parametrize(
    "history",
    [
        [],
        _said(),
        _said(_call()),
        _said(_call(state="approval-requested", approval={"id": "a1"}), _asked()),
        _said(_call(state="output-available"), _asked(approved=True)),
        _said(_call(state="output-error"), _asked()),
        _said(_call(), _asked(toolCallId="c2")),
        _said({"type": "dynamic-tool", "state": "approval-responded", "approval": {"id": "a1"}}),
        # What a person posts as their own words shows nothing.
        _said(_call(), _asked(), role="user"),
        # Neither does what is no message at all.
        [{"role": "assistant"}, {"role": "assistant", "parts": "c1"}, {"parts": [[]]}],
        _said(None, 5, {"type": "data-approval", "data": [1]}, {"type": "data-approval"}, _call()),
        _said({"type": "data-approval", "data": {"toolCallId": []}}, _call(toolCallId=[])),
    ],
)
def test_a_history_that_shows_nothing_names_nobody(history: list[dict[str, Any]]) -> None:
    assert detect_client("node", history) is None


def test_who_cannot_answer_is_told_where_the_answer_is_needed() -> None:
    call = Call(id="c1", name="note", input={})
    events: list[TurnEvent] = [
        TurnBegan(turn="turn_1"),
        RoundBegan(number=1),
        call_written(key=1, call=call),
        CallAsked(id="c1", approval="a1", reason="it asks"),
    ]
    stream = UiStream(5, message_id="turn_1", answers=False)
    chunks = [chunk for event in events for chunk in stream.feed(event)]
    assert "tool-approval-request" not in [chunk["type"] for chunk in chunks]
    assert stream.paused
    *_, step, error, finish = stream.close()
    assert [step["type"], finish["type"]] == ["finish-step", "finish"]
    assert "approval (a1), which this chat client cannot give" in error["errorText"]
