"""What there is to choose from, and a turn that chooses."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoints import ChatEndpoint
from callblocks.models.scripted import ScriptedModel
from callblocks.session.model_choice import Offered
from callblocks.session.team_file import Member
from support.chat_server import Served, Talker, chunks, posted, said, served_host
from support.scripted_sessions import Replies, some_host
from support.teams import team_host


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder = tmp_path_factory.mktemp("catalogue")
    talks = folder / "talks"
    talks.mkdir()
    (talks / "greet.md").write_text("---\ntitle: A greeting\nmatch: [hello]\n---\nHello.\n")
    (talks / "leave.md").write_text("---\ntitle: A leave\nmatch: [bye]\n---\nBye.\n")
    model, other = ScriptedModel(talks, pace=0), Offered(Talker())
    with served_host(lambda: some_host(folder, model, dialect="auto", others=(other,))) as running:
        yield running


def test_each_model_says_its_scenarios_and_which_is_used(server: Served) -> None:
    answer = server.client.get("/api/models").json()
    assert answer["team"] is False
    scripted, talker = answer["models"]
    assert scripted == {
        "name": "scripted:talks",
        "suggestions": ["hello", "bye"],
        "is_used": True,
        "dialect": "auto",
        "taught": "hermes",
        "mode": "text",
        "scenarios": [
            {"name": "greet", "title": "A greeting", "prompt": "hello"},
            {"name": "leave", "title": "A leave", "prompt": "bye"},
        ],
    }
    assert (talker["name"], talker["is_used"], talker["scenarios"]) == ("talker", False, [])


def test_a_model_behind_an_address_says_its_settings_and_never_its_key(tmp_path: Path) -> None:
    settings = EndpointSettings(
        base_url="http://me:secret@127.0.0.1:1/v1",
        model="m",
        key="sk-secret",
        key_hint="the key that was sent is that of TEAM_KEY; check it there",
        extra={"temperature": 0.2},
    )
    other = Offered(ChatEndpoint(settings), system="You work for a ferry company.")
    model = ScriptedModel(tmp_path, pace=0)
    with served_host(lambda: some_host(tmp_path, model, others=(other,))) as server:
        answer = server.client.get("/api/models")
    shown = answer.json()["models"][1]
    assert shown["address"] == "http://127.0.0.1:1/v1"
    assert (shown["key"], shown["temperature"]) == ("TEAM_KEY", 0.2)
    assert shown["system"] == "You work for a ferry company."
    assert "secret" not in answer.text


def test_a_team_says_that_it_is_one(tmp_path: Path) -> None:
    members = [Member(name=name, model=Replies()) for name in ("reader", "writer")]
    with served_host(lambda: team_host(tmp_path, Replies("All."), *members)) as server:
        answer = server.client.get("/api/models").json()
    assert answer["team"] is True
    assert all(one["is_used"] for one in answer["models"])


def test_dialects_say_which_can_be_chosen(server: Served) -> None:
    told = server.client.get("/api/dialects").json()
    assert told["used"] == "auto"
    taught = {one["name"]: one["is_taught"] for one in told["dialects"]}
    assert taught["tool-fence"]
    assert not taught["chat-blocks"]


def test_a_turn_takes_the_scenario_and_the_model_it_names(server: Served) -> None:
    def answer(**chosen: str) -> str:
        body = {**posted("hello", "one"), **chosen}
        return said(chunks(server.client.post("/api/chat", json=body)))

    assert answer() == "Hello."
    assert answer(scenario="leave") == "Bye."
    assert answer(model="talker", dialect="emoji-bracket") == "You said: hello"
    assert answer(model="scripted:talks", dialect="auto") == "Hello."


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"model": "gpt"}, "no model 'gpt' here; choose from: scripted:talks, talker"),
        ({"dialect": "smoke"}, "no dialect 'smoke'; choose from: auto, tool-fence"),
        ({"scenario": "dance"}, "no scenario 'dance' here; choose from: greet, leave"),
    ],
)
def test_a_choice_of_what_is_not_there_names_what_is(
    server: Served, chosen: dict[str, str], words: str
) -> None:
    answer = server.client.post("/api/chat", json={**posted("hello", "none"), **chosen})
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "invalid_request"
    assert words in answer.json()["error"]["message"]
    assert server.client.get("/api/chat/none").status_code == 404
