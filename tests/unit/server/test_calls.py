"""One call of a turn: cancelled while the others go on, and made again."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import Running, running_server
from support.scripted_sessions import ASK_ALL


@pytest.fixture
def server(tmp_path: Path) -> Generator[Running]:
    with running_server(tmp_path) as running:
        yield running


def _again(server: Running, turn: str, call: str) -> Any:
    return server.client.post("/api/chat/trip/again", json={"turn": turn, "call": call})


def _call(server: Running) -> tuple[str, dict[str, Any]]:
    reply = server.client.get("/api/chat/trip").json()["messages"][-1]
    return reply["id"], next(one for one in reply["parts"] if one["type"] == "dynamic-tool")


def test_a_call_is_made_again_as_a_new_one(server: Running) -> None:
    server.say("note apples")
    turn, call = _call(server)
    response = _again(server, turn, call["toolCallId"])
    assert response.status_code == 200
    assert server.noted.texts == ["apples", "apples"]
    other, made = _call(server)
    assert other != turn
    assert (made["input"], made["output"]) == (call["input"], call["output"])


def test_a_call_that_is_made_again_is_asked_about_like_any_other(tmp_path: Path) -> None:
    with running_server(tmp_path, host={"policy": ASK_ALL}) as server:
        with server.streaming("note apples") as asks:
            while next(asks)["type"] != "data-approval":
                pass
            server.client.post("/api/chat/trip/stop", json={})
            list(asks)
        turn, call = _call(server)
        url, body = "/api/chat/trip/again", {"turn": turn, "call": call["toolCallId"]}
        with server.client.stream("POST", url, json=body) as response:
            said = (
                json.loads(one[5:]) for one in response.iter_lines() if one.startswith("data: {")
            )
            assert any(one["type"] == "data-approval" for one in said)
            server.client.post("/api/chat/trip/stop", json={})
    assert server.noted.texts == []


def test_what_is_no_call_is_not_made_again(server: Running) -> None:
    server.say("note apples")
    turn, _ = _call(server)
    assert _again(server, turn, "gone").status_code == 422
    assert _again(server, "turn_9", "c1").status_code == 422
    assert server.noted.texts == ["apples"]


def test_a_call_that_does_not_run_is_not_cancelled(server: Running) -> None:
    server.say("note apples")
    response = server.client.post("/api/chat/trip/calls/c1/cancel", json={})
    assert response.json() == {"call": "c1", "cancelled": False}
