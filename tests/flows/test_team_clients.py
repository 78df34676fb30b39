"""The chat clients of the npm package `ai` read what a team says; no client may complain."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import ModelError
from callblocks.session.team_file import Member
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.ai_clients import CLIENTS, AiClient, Told
from support.chat_server import Served, served_host
from support.command_home import fence
from support.scripted_sessions import ALLOW_ALL, ASK_ALL, Replies
from support.teams import team_host

LONG = "".join(f"word {number} " for number in range(60))


@pytest.fixture(scope="module")
def clients() -> Generator[dict[str, AiClient]]:
    with ExitStack() as stack:
        yield {package: stack.enter_context(AiClient(package)) for package in CLIENTS}


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, clients: dict[str, AiClient]) -> AiClient:
    return clients[request.param]


asking = pytest.mark.parametrize("client", ["ai6", "ai7"], indirect=True)


def perform(server: Served, client: AiClient, chat: str = "trip", **asked: Any) -> Told:
    told = client.perform(
        url=f"http://127.0.0.1:{server.port}/api/chat",
        chat=chat,
        text="Go",
        headers={"x-callblocks-sdk-version": str(client.version)},
        **asked,
    )
    assert told.errors == []
    return told


def said(message: dict[str, Any]) -> dict[str, list[str]]:
    """The text parts of each member, in their order; those of all together have no name."""
    found: dict[str, list[str]] = {}
    for part in message["parts"]:
        if part["type"] == "text":
            whose = part.get("providerMetadata", {}).get("callblocks", {})
            found.setdefault(whose.get("member", ""), []).append(part["text"])
    return found


def standing(message: dict[str, Any]) -> dict[str, str]:
    parts = [part["data"] for part in message["parts"] if part["type"] == "data-member"]
    return {data["name"]: data["status"] for data in parts}


class Notes:
    """What the tool `note` was called with."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def registry(self) -> Registry:
        @tool
        def note(text: str) -> str:
            """Write a note down."""
            self.texts.append(text)
            return "noted"

        return Registry([note])


def member(name: str, *says: Any) -> Member:
    return Member(name=name, model=Replies(*says), tools=("note",))


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """Two who answer, and one who cannot; once for each test."""
    times, folder = len(CLIENTS) + 1, tmp_path_factory.mktemp("team")
    members = [member(name, *[f"I, {name}: {LONG}"] * times) for name in ("one", "two")]
    members.append(member("three", *[ModelError("model_unreachable", "nobody is there")] * times))
    host = {"tools": Notes().registry(), "policy": ALLOW_ALL}
    with served_host(lambda: team_host(folder, Replies(*["All."] * times), *members, **host)) as up:
        yield up


def test_each_text_is_whole_and_has_a_name(talking: Served, client: AiClient) -> None:
    chat = client.package
    told = perform(talking, client, chat=chat)
    version = {"sdk_version": client.version}
    prompt, reply = talking.client.get(f"/api/chat/{chat}", params=version).json()["messages"]
    expected = {"one": [f"I, one: {LONG}"], "two": [f"I, two: {LONG}"], "": ["All."]}
    assert said(told.message) == said(reply) == expected
    assert standing(told.message) == standing(reply)
    assert standing(reply) == {"one": "answered", "two": "answered", "three": "failed"}
    assert [part["type"] for part in prompt["parts"]] == ["text"]


def test_a_member_has_a_timeline_and_is_no_chat(talking: Served) -> None:
    talking.say("Go", "trip")
    chats = {one["id"] for one in talking.client.get("/api/chats").json()["chats"]}
    timelines = talking.client.get("/api/timelines").json()["timelines"]
    assert "trip" in chats
    assert not any("." in name for name in chats)
    assert {one["name"] for one in timelines} >= {"trip", "trip.one", "trip.two", "trip.three"}


@asking
def test_a_question_cuts_off_nobody_and_nothing_is_said_twice(
    tmp_path: Path, client: AiClient
) -> None:
    notes = Notes()
    members = [member("one", fence("note", text="tea"), "Noted."), member("two", LONG * 2)]
    host = {"tools": notes.registry(), "policy": ASK_ALL}
    with served_host(lambda: team_host(tmp_path, Replies("All."), *members, **host)) as server:
        told = perform(server, client, answers=[{"approved": True}], sends="approvals")
    assert len(told.posts) == 2
    assert said(told.message) == {"one": ["Noted."], "two": [LONG * 2], "": ["All."]}
    assert notes.texts == ["tea"]
    assert told.calls["one/c1"][-3:] == [
        "approval-requested",
        "approval-responded",
        "output-available",
    ]


@asking
def test_two_who_want_the_same_need_a_yes_each(tmp_path: Path, client: AiClient) -> None:
    notes = Notes()
    members = [member(name, fence("note", text="tea"), f"I, {name}.") for name in ("one", "two")]
    host = {"tools": notes.registry(), "policy": ASK_ALL}
    with served_host(lambda: team_host(tmp_path, Replies("All."), *members, **host)) as server:
        yes = {"approved": True}
        told = perform(server, client, answers=[yes, yes], sends="approvals")
    assert notes.texts == ["tea", "tea"]
    assert {states[-1] for states in told.calls.values()} == {"output-available"}
    assert said(told.message) == {"one": ["I, one."], "two": ["I, two."], "": ["All."]}
    questions = [part["data"] for part in told.message["parts"] if part["type"] == "data-approval"]
    assert [one["approved"] for one in questions] == [True, True]
    assert len({one["id"] for one in questions}) == 2
