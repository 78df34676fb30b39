"""The list of chats: titles, how each stands, and how little is read for it."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from callblocks.server.chats.known_chats import KnownChats
from callblocks.session.turn_lock import this_owner
from callblocks.timeline.log.log import Summary
from callblocks.timeline.recorder import Recorder
from support.chat_server import Running, running_server
from support.scripted_sessions import ASK_ALL, Replies, some_host


@pytest.fixture
def server(tmp_path: Path) -> Generator[Running]:
    with running_server(tmp_path, host={"policy": ASK_ALL}) as running:
        yield running


def _listed(server: Running) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in server.client.get("/api/chats").json()["chats"]}


def test_a_chat_has_the_first_prompt_as_its_title_in_one_line(server: Running) -> None:
    server.say("  What\n is \t this?", "one")
    server.say("Another thing", "one")
    server.say("long " * 50, "two")
    known = _listed(server)
    assert known["one"]["title"] == "What is this?"
    assert len(known["two"]["title"]) == 80
    assert known["two"]["title"].endswith("…")
    assert (known["one"]["status"], known["one"]["waiting"]) == ("idle", 0)


def test_a_turn_that_runs_and_one_that_waits_say_so(server: Running) -> None:
    server.model.gate.clear()
    with server.streaming("slow one", "busy") as slow, server.streaming("note it", "asks") as asks:
        assert next(slow)["type"] == "start"
        while next(asks)["type"] != "data-approval":
            pass
        known = _listed(server)
        assert (known["busy"]["status"], known["busy"]["is_running"]) == ("running", True)
        assert (known["asks"]["status"], known["asks"]["waiting"]) == ("waiting", 1)
        server.model.gate.set()
        server.client.post("/api/chat/asks/stop", json={})
        list(asks)
    assert _listed(server)["asks"]["waiting"] == 0


class Counted:
    """A store that counts what is read of it."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.read = 0

    def names(self) -> list[Summary]:
        return self._store.names()

    def entries(self, *given: Any, **named: Any) -> Any:
        for entry in self._store.entries(*given, **named):
            self.read += 1
            yield entry


@pytest.fixture
def recorder(tmp_path: Path) -> Generator[Recorder]:
    with some_host(tmp_path, Replies()) as host:
        yield host.session("one").recorder


def _known(recorder: Recorder) -> tuple[Counted, KnownChats]:
    store = Counted(recorder.timeline.store)
    return store, KnownChats(store)  # pyright: ignore[reportArgumentType] all that it uses


def test_of_a_chat_that_is_over_only_the_first_and_the_last_block_are_read(
    recorder: Recorder,
) -> None:
    for at in range(50):
        turn = recorder.new_turn(this_owner())
        recorder.prompt(turn, f"Prompt {at}")
        recorder.end_turn(turn, status="answered")
    store, known = _known(recorder)
    for _ in range(3):
        (chat,) = store.names()
        assert (known.status(chat), known.title(chat)) == ("idle", "Prompt 0")
    assert store.read <= 4


def test_of_a_chat_that_goes_on_only_what_is_new_is_read(recorder: Recorder) -> None:
    turn = recorder.new_turn("host/1:1")
    recorder.prompt(turn, "Prompt")
    store, known = _known(recorder)
    (chat,) = store.names()
    known.status(chat)
    before = store.read
    recorder.notes(turn, "n1", "One more.")
    (chat,) = store.names()
    known.status(chat)
    assert store.read == before + 1


@pytest.mark.parametrize(
    ("owner", "ended", "status"),
    [
        ("", "", "interrupted"),
        ("", "answered", "idle"),
        ("", "failed", "idle"),
        ("", "interrupted", "interrupted"),
        ("elsewhere/1:1", "", "running"),
    ],
)
def test_how_a_chat_stands_is_known_from_its_last_turn(
    recorder: Recorder, owner: str, ended: str, status: str
) -> None:
    turn = recorder.new_turn(owner or f"{this_owner()}#999999")
    recorder.prompt(turn, "Prompt")
    if ended:
        recorder.end_turn(turn, status=ended)
    store, known = _known(recorder)
    (chat,) = store.names()
    assert known.status(chat) == status


def test_a_turn_that_is_taken_again_is_not_over(recorder: Recorder) -> None:
    turn = recorder.new_turn("elsewhere/1:1")
    recorder.end_turn(turn, status="interrupted")
    store, known = _known(recorder)
    assert known.status(store.names()[0]) == "interrupted"
    recorder.take_over(turn, "elsewhere/2:2")
    assert known.status(store.names()[0]) == "running"


def test_a_list_comes_in_pages_the_latest_first(server: Running) -> None:
    for name in "abcde":
        server.say("Hello", name)
    first = server.client.get("/api/chats", params={"limit": 2}).json()
    assert ([one["id"] for one in first["chats"]], first["total"]) == (["e", "d"], 5)
    second = server.client.get("/api/chats", params={"limit": 3, "before": first["next"]}).json()
    assert [one["id"] for one in second["chats"]] == ["c", "b", "a"]
    assert second["next"] is None
    # One that is written meanwhile moves to the front, and none is left out.
    server.say("Hello", "a")
    again = server.client.get("/api/chats", params={"limit": 9, "before": first["next"]}).json()
    assert {one["id"] for one in again["chats"]} >= {"c", "b"}


def test_a_chat_is_renamed_and_gets_its_own_title_back(server: Running) -> None:
    server.say("Hello", "one")
    before = server.client.get("/api/chat/one").json()["last"]
    response = server.client.post("/api/chat/one/rename", json={"title": "  The\n island "})
    assert response.json() == {"title": "The island"}
    assert _listed(server)["one"]["title"] == "The island"
    assert server.client.get("/api/chat/one").json()["last"] == before
    server.client.post("/api/chat/one/rename", json={"title": ""})
    assert _listed(server)["one"]["title"] == "Hello"
    assert server.client.post("/api/chat/nobody/rename", json={"title": "x"}).status_code == 404


def test_a_deleted_chat_is_out_of_list_and_search_and_its_log_stays(server: Running) -> None:
    server.say("Some apples", "one")
    server.say("More apples", "two")
    kept = server.client.post("/api/chat/one/delete", json={}).json()["kept"]
    assert list(_listed(server)) == ["two"]
    hits = server.client.get("/api/chats/search", params={"q": "apples"}).json()["hits"]
    assert [one["chat"]["id"] for one in hits] == ["two"]
    assert server.client.get("/api/timelines/one/verify").json()["problems"] == []
    assert server.client.get("/api/timelines/one").json()["count"] == kept
    # Somebody who has it open goes on in it: then it is there again.
    server.say("And more", "one")
    assert "one" in _listed(server)


def test_a_chat_is_deleted_while_its_turn_runs(server: Running) -> None:
    server.model.gate.clear()
    with server.streaming("slow one", "busy") as slow:
        assert next(slow)["type"] == "start"
        assert server.client.post("/api/chat/busy/delete", json={}).status_code == 200
        list(slow)
    assert _listed(server) == {}


def test_chats_are_found_by_what_was_said_and_by_their_titles(server: Running) -> None:
    server.say("When is low water?", "one")
    server.say("Nothing of that", "two")
    server.client.post("/api/chat/two/rename", json={"title": "The low road"})
    hits = server.client.get("/api/chats/search", params={"q": "low"}).json()["hits"]
    assert [one["chat"]["id"] for one in hits] == ["two", "one"]
    assert "\x02low\x03" in hits[1]["excerpt"]
    assert server.client.get("/api/chats/search", params={"q": ""}).json() == {"hits": []}


def test_the_list_says_what_changes_while_it_is_followed(server: Running) -> None:
    server.say("Hello", "old")
    with server.client.stream("GET", "/api/chats/stream") as response:
        lines = response.iter_lines()
        assert next(lines).startswith(":")
        server.say("Hello", "new")
        server.client.post("/api/chat/old/delete", json={})
        seen = [json.loads(line[5:]) for line in _data(lines, 2)]
    said = {one["chat"]["id"] if one["type"] == "chat" else one["id"] for one in seen}
    assert said == {"new", "old"}


def _data(lines: Iterator[str], count: int) -> Iterator[str]:
    return islice((line for line in lines if line.startswith("data:")), count)


def test_the_timeline_of_titles_is_no_chat(server: Running) -> None:
    server.say("Hello", "one")
    server.client.post("/api/chat/one/rename", json={"title": "x"})
    assert list(_listed(server)) == ["one"]
    assert server.client.get("/api/chat/callblocks.chats").status_code == 404
    assert server.say("Hello", "callblocks.chats").status_code == 422
