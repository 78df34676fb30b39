"""Edited messages and answers asked for again: branches, of which nothing is lost."""

from __future__ import annotations

import base64
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import Running, posted, running_server


@pytest.fixture
def server(tmp_path: Path) -> Generator[Running]:
    with running_server(tmp_path) as running:
        yield running


def _shown(server: Running, **query: str) -> dict[str, Any]:
    return server.client.get("/api/chat/trip", params=query).json()


def _texts(shown: dict[str, Any]) -> list[str]:
    return [
        part["text"]
        for message in shown["messages"]
        for part in message["parts"]
        if part["type"] == "text"
    ]


def _say(server: Running, text: str, **more: Any) -> None:
    response = server.client.post("/api/chat", json={**posted(text), **more})
    assert response.status_code == 200, response.text


def test_an_edited_message_is_another_version_and_the_first_stays(server: Running) -> None:
    for text in ("one", "two", "three"):
        _say(server, text)
    second = _shown(server)["messages"][2]["id"]
    _say(server, "two, edited", messageId=second)
    shown = _shown(server)
    assert _texts(shown) == ["one", "You said: one", "two, edited", "You said: two, edited"]
    versions = shown["messages"][2]["metadata"]["versions"]
    assert (versions["at"], len(versions["turns"])) == (2, 2)
    assert "versions" not in shown["messages"][3]["metadata"]
    first = _shown(server, turn=versions["turns"][0])
    assert _texts(first)[2:] == ["two", "You said: two", "three", "You said: three"]
    assert (shown["branch"], bool(first["branch"])) == ("", True)


def test_an_answer_is_asked_for_again_with_the_files_of_its_message(server: Running) -> None:
    body = posted("look at this")
    data = base64.b64encode(b"hello").decode()
    file = {"type": "file", "mediaType": "text/plain", "filename": "a.txt"}
    body["messages"][0]["parts"].append({**file, "url": f"data:text/plain;base64,{data}"})
    assert server.client.post("/api/chat", json=body).status_code == 200
    reply = _shown(server)["messages"][1]["id"]
    _say(server, "whatever the client says", trigger="regenerate-message", messageId=reply)
    shown = _shown(server)
    assert _texts(shown) == ["look at this", "You said: look at this"]
    assert [one["type"] for one in shown["messages"][0]["parts"]] == ["file", "text"]
    assert shown["messages"][1]["metadata"]["versions"]["at"] == 2
    assert "versions" not in shown["messages"][0]["metadata"]


def test_the_last_answer_is_asked_for_again_where_none_is_named(server: Running) -> None:
    _say(server, "one")
    _say(server, "two")
    _say(server, "two", trigger="regenerate-message")
    assert _texts(_shown(server)) == ["one", "You said: one", "two", "You said: two"]


def test_a_branch_goes_on_where_it_is_and_has_branches_of_its_own(server: Running) -> None:
    for text in ("one", "two"):
        _say(server, text)
    first, _, second, _ = (one["id"] for one in _shown(server)["messages"])
    _say(server, "one, edited", messageId=first)
    _say(server, "three", after=second.removesuffix(".user"))
    shown = _shown(server)
    assert _texts(shown)[::2] == ["one", "two", "three"]
    _say(server, "two, edited", messageId=second)
    shown = _shown(server)
    assert _texts(shown)[::2] == ["one", "two, edited"]
    assert shown["messages"][0]["metadata"]["versions"]["at"] == 1


def test_the_model_is_shown_its_own_branch_alone(server: Running) -> None:
    seen: list[str] = []
    reply = server.model.reply
    server.model.reply = lambda request: (seen.append(str(request.messages)), reply(request))[1]
    _say(server, "apples")
    _say(server, "pears")
    message = _shown(server)["messages"][2]["id"]
    _say(server, "plums", messageId=message)
    assert "apples" in seen[-1]
    assert "pears" not in seen[-1]
    _say(server, "figs", after=message.removesuffix(".user"))
    assert "pears" in seen[-1]
    assert "plums" not in seen[-1]


def test_a_message_of_another_chat_is_refused(server: Running) -> None:
    _say(server, "one")
    for more in (
        {"messageId": "turn_9.user"},
        {"messageId": "gone", "trigger": "regenerate-message"},
    ):
        response = server.client.post("/api/chat", json={**posted("x"), **more})
        assert response.status_code == 422
    assert len(_shown(server)["messages"]) == 2


def test_a_message_is_not_edited_while_a_turn_runs(server: Running) -> None:
    _say(server, "one")
    message = _shown(server)["messages"][0]["id"]
    server.model.gate.clear()
    with server.streaming("slow one") as slow:
        assert next(slow)["type"] == "start"
        response = server.client.post("/api/chat", json={**posted("x"), "messageId": message})
        assert response.json()["error"]["code"] == "turn_running"
        server.model.gate.set()
        list(slow)


def test_each_message_says_when_and_by_whom(server: Running) -> None:
    _say(server, "one")
    prompt, reply = _shown(server)["messages"]
    assert prompt["metadata"]["at"] <= reply["metadata"]["at"]
    assert reply["metadata"]["model"] == "talker"
    assert reply["metadata"]["dialect"]
    assert reply["metadata"]["seconds"] >= 0


def test_the_last_messages_are_sent_alone_where_no_more_is_asked(server: Running) -> None:
    for text in ("one", "two"):
        _say(server, text)
    shown = _shown(server, last="2")
    assert (_texts(shown), shown["earlier"]) == (["two", "You said: two"], 2)
