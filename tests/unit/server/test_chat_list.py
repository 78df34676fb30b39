"""The list of chats: titles, how each stands, and how little is read for it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from callblocks.server.chats.known_chats import KnownChats
from callblocks.session.turn_lock import this_owner
from callblocks.timeline.log.store import Summary
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
