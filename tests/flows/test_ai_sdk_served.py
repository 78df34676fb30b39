"""The chat clients of the npm package `ai` talk to our server: calls, approvals, coming back.

Every error that a client reports fails its test.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.team_file import Member
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.ai_clients import CLIENTS, AiClient, SilentClient, Told
from support.chat_server import Served, served_host
from support.command_home import fence
from support.gated_scripts import written_scripts
from support.scripted_sessions import Replies, some_host
from support.teams import team_host

SCRIPTS = {
    "calls": (
        f"I add.\n\n{fence('add', a=1, b=2)}{fence('fail', 'c2')}{fence('nobody', 'c3')}"
        "<!-- results -->\nIt is 3."
    ),
    "ask": f"May I?\n\n{fence('note', text='tea')}<!-- results -->\nDone.",
    "ask twice": (
        f"{fence('note', 'c1', text='one')}{fence('note', 'c2', text='two')}<!-- results -->\nDone."
    ),
    "wait": f"I wait.\n\n{fence('wait')}<!-- results -->\nIt is over.",
}
POLICY = Policy(
    (Rule(decide="ask", tool=("note",)), Rule(decide="allow", tool=("*",))), autoexec=True
)
LIVE = ["input-streaming", "input-available"]


class Room:
    """What the tools do; `wait` waits until it is `free`."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.notes: list[str] = []

    def registry(self) -> Registry:
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        def fail() -> str:
            """Fail."""
            raise ToolError("no_tea", "there is no tea")

        def note(text: str) -> str:
            """Write a note down."""
            self.notes.append(text)
            return "noted"

        def wait() -> str:
            """Wait."""
            # In short steps: a thread is ended between them.
            for _ in range(400):
                if self.free.wait(0.05):
                    break
            return "waited"

        functions: list[Callable[..., Any]] = [add, fail, wait]
        return Registry([tool(note), *(tool(one, read_only=True) for one in functions)])


@pytest.fixture(scope="module")
def room() -> Room:
    return Room()


@pytest.fixture(scope="module")
def server(room: Room, tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder = tmp_path_factory.mktemp("clients")
    model = written_scripts(folder / "scripts", SCRIPTS)
    host = {"tools": room.registry(), "policy": POLICY}
    with served_host(lambda: some_host(folder, model, **host)) as server:
        yield server
        room.free.set()


@pytest.fixture(scope="module")
def clients() -> Generator[dict[str, AiClient]]:
    """One process for each package, for all tests."""
    with ExitStack() as stack:
        yield {package: stack.enter_context(AiClient(package)) for package in CLIENTS}


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, clients: dict[str, AiClient]) -> AiClient | SilentClient:
    package, _, silent = request.param.partition(" ")
    return SilentClient(clients[package]) if silent else clients[package]


asking = pytest.mark.parametrize(
    "client", ["ai6", "ai7", "ai6 silent", "ai7 silent"], indirect=True
)
replaying = pytest.mark.parametrize("client", ["ai5", "ai6", "ai7"], indirect=True)


class Talk:
    """One chat of one client with the server."""

    def __init__(self, server: Served, client: AiClient | SilentClient, chat: str) -> None:
        self._server = server
        self._client = client
        self.chat = f"{client.package}-{chat}"

    def perform(self, text: str = "", *, errors: Any = (), **asked: Any) -> Told:
        """Say something, or resume; a client complains of nothing but that."""
        told = self._client.perform(
            url=f"http://127.0.0.1:{self._server.port}/api/chat",
            chat=self.chat,
            text=text,
            headers=self._client.headers,
            **asked,
        )
        assert told.errors == list(errors)
        return told

    def follow(self, messages: list[dict[str, Any]], then: Callable[[], object]) -> Told:
        """Resume with these messages; once the client follows, something happens."""
        told: list[Told] = []

        def resume() -> None:
            told.append(self.perform(resume=True, messages=messages))

        self._until_followed_by(0)
        thread = threading.Thread(target=resume)
        thread.start()
        self._until_followed_by(1)
        then()
        thread.join()
        return told[0]

    def _until_followed_by(self, count: int) -> None:
        for _ in range(5000):
            if self._server.service.slots.taken == count:
                return
            threading.Event().wait(0.002)
        raise AssertionError(f"{self._server.service.slots.taken} clients follow, not {count}")

    def load(self) -> dict[str, Any]:
        """The chat as a page loads it."""
        path = f"/api/chat/{self.chat}"
        return self._server.client.get(path, headers=self._client.headers).json()

    def until_idle(self) -> None:
        """Wait for the turn's end, as a page that asks again and again."""
        for _ in range(5000):
            if self.load()["status"] == "idle":
                return
            threading.Event().wait(0.002)
        raise AssertionError("the turn does not end")

    def stop(self) -> bool:
        """Stop the turn; whether there was one."""
        path = f"/api/chat/{self.chat}/stop"
        return self._server.client.post(path, json={}).json()["stopped"]


class Matching:
    """A text in which a pattern is found."""

    def __init__(self, pattern: str | re.Pattern[str]) -> None:
        self._pattern = pattern

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and re.search(self._pattern, other) is not None

    __hash__ = None  # pyright: ignore[reportAssignmentType] it equals many

    def __repr__(self) -> str:
        return f"Matching({self._pattern!r})"


def gist(message: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """What a message says, without how it came and what was asked on the way."""
    shown: list[tuple[str, Any, Any]] = []
    for part in message["parts"]:
        if part["type"] == "text":
            shown.append(("text", part["text"].strip("\n"), part["state"]))
        elif part["type"] == "dynamic-tool":
            result = part.get("output", part.get("errorText"))
            shown.append((part["toolCallId"], part["input"], result))
    return shown


def test_a_turn_with_calls(server: Served, client: AiClient) -> None:
    talk = Talk(server, client, "calls")
    told = talk.perform("calls")
    waits = LIVE if client.version == 5 else LIVE[1:]
    assert told.calls == {
        "c1": [*LIVE, "output-available"],
        "c2": [*waits, "output-error"],
        "c3": [*waits, "output-error"],
    }
    add, fail, nobody = told.parts("dynamic-tool")
    assert (add["input"], add["output"]) == ({"a": 1, "b": 2}, 3)
    assert fail["errorText"] == "no_tea: there is no tea"
    assert nobody["errorText"].startswith("unknown_tool: no tool is called 'nobody'")
    assert (told.text, told.status) == ("I add.\nIt is 3.", "ready")
    assert told.message["metadata"]["status"] == "answered"


def test_a_page_that_loads_the_chat_has_what_the_client_has(
    server: Served, client: AiClient
) -> None:
    talk = Talk(server, client, "loaded")
    told = talk.perform("calls")
    prompt, reply = talk.load()["messages"]
    assert (prompt["role"], gist(reply)) == ("user", gist(told.message))
    assert reply["id"] == told.message["id"]
    of_log = {"at", "seconds", "model", "dialect"}
    kept = {key: value for key, value in reply["metadata"].items() if key not in of_log}
    assert (kept, of_log - set(reply["metadata"])) == (told.message["metadata"], set())


def test_a_client_goes_on_with_the_chat_that_it_loaded(server: Served, client: AiClient) -> None:
    talk = Talk(server, client, "more")
    talk.perform("calls")
    told = talk.perform("calls", messages=talk.load()["messages"])
    assert [message["role"] for message in told.messages] == ["user", "assistant"] * 2
    assert told.message["metadata"]["turn"] == "turn_2"


@asking
@pytest.mark.parametrize("by_hand", [True, False])
def test_a_yes_runs_the_call(server: Served, client: AiClient, room: Room, by_hand: bool) -> None:
    room.notes.clear()
    talk = Talk(server, client, f"yes-{by_hand}")
    told = talk.perform(
        "ask",
        answers=[{"approved": True, "reason": "go on"}],
        byHand=by_hand,
        sends=None if by_hand else "approvals",
    )
    states = told.calls["c1"]
    assert states[states.index("approval-requested") :] == [
        "approval-requested",
        "approval-responded",
        "output-available",
    ]
    assert room.notes == ["tea"]
    assert (len(told.messages), told.text, told.status) == (2, "May I?\nDone.", "ready")
    assert gist(talk.load()["messages"][-1]) == gist(told.message)


@asking
def test_a_no_and_its_reason_reach_the_model(server: Served, client: AiClient, room: Room) -> None:
    room.notes.clear()
    talk = Talk(server, client, "no")
    told = talk.perform(
        "ask", answers=[{"approved": False, "reason": "not today"}], sends="approvals"
    )
    (part,) = told.parts("dynamic-tool")
    assert part["state"] == told.calls["c1"][-1] == "output-denied"
    assert part["approval"]["reason"] == "not today"
    assert (room.notes, told.text) == ([], "May I?\nDone.")
    (kept,) = [one for one in talk.load()["messages"][-1]["parts"] if "toolCallId" in one]
    assert (kept["state"], kept["approval"]) == (part["state"], part["approval"])


@asking
def test_of_two_questions_each_has_its_answer(server: Served, client: AiClient, room: Room) -> None:
    room.notes.clear()
    answers = [{"approved": False}, {"approved": True}]
    told = Talk(server, client, "two").perform("ask twice", answers=answers, sends="approvals")
    assert [calls[-1] for calls in told.calls.values()] == ["output-denied", "output-available"]
    assert (len(told.posts), room.notes, told.text) == (3, ["two"], "Done.")


@asking
@pytest.mark.parametrize("by_hand", [True, False])
def test_members_of_a_team_ask_side_by_side(
    tmp_path: Path, client: AiClient, room: Room, by_hand: bool
) -> None:
    room.notes.clear()
    members = [
        Member(name=name, tools=("note",), model=Replies(fence("note", text=name), f"I, {name}."))
        for name in ("one", "two", "three")
    ]
    host = {"tools": room.registry(), "policy": POLICY}
    with served_host(lambda: team_host(tmp_path, Replies("All."), *members, **host)) as server:
        told = Talk(server, client, "team").perform(
            "Go",
            answers=[{"approved": True}, {"approved": False}, {"approved": True}],
            byHand=by_hand,
            sends=None if by_hand else "approvals",
        )
    ends = {id: states[-1] for id, states in told.calls.items()}
    assert sorted(ends.values()) == ["output-available", "output-available", "output-denied"]
    assert sorted(room.notes) == [
        id.partition("/")[0] for id in sorted(ends) if "avail" in ends[id]
    ]
    texts = sorted(part["text"] for part in told.parts("text"))
    assert texts == ["All.", "I, one.", "I, three.", "I, two."]
    assert len(told.posts) == (4 if by_hand else 2)


@asking
def test_a_question_waits_for_who_comes_back(server: Served, client: AiClient, room: Room) -> None:
    room.notes.clear()
    talk = Talk(server, client, "later")
    assert talk.perform("ask").calls["c1"][-1] == "approval-requested"
    shown = talk.load()
    assert shown["status"] == "waiting"
    told = talk.perform(
        resume=True, messages=shown["messages"], answers=[{"approved": True}], sends="approvals"
    )
    assert (room.notes, told.text, told.status) == (["tea"], "May I?\nDone.", "ready")


@pytest.mark.parametrize("client", ["ai5-0 silent", "ai5 silent"], indirect=True)
def test_a_client_that_knows_no_approvals_shows_an_error(
    server: Served, client: AiClient, room: Room
) -> None:
    room.notes.clear()
    talk = Talk(server, client, "deaf")
    broken = re.compile(r"Type validation failed: .*\"tool-approval-request\"")
    told = talk.perform("ask", errors=[Matching(broken)])
    assert (told.status, told.calls["c1"][-1]) == ("error", "input-available")
    # From then on its history shows what it is, and it is told in words.
    busy = talk.perform("ask", messages=told.messages, errors=[Matching(r"waits for the approval")])
    assert busy.status == "error"
    assert talk.stop()
    talk.until_idle()
    words = r"waits for a person's approval \(\w+\), which this chat client cannot give"
    again = talk.perform("ask", messages=told.messages, errors=[Matching(words)])
    assert (again.status, again.calls["c1"][-1]) == ("error", "input-available")
    # The question is there for others: what it is answered counts, and the chat has it.
    (question,) = server.client.get("/api/approvals?state=pending").json()["approvals"]
    server.client.post(f"/api/approvals/{question['id']}", json={"verdict": "once"})
    talk.until_idle()
    assert room.notes == ["tea"]
    assert gist(talk.load()["messages"][-1])[-1] == ("text", "Done.", "done")


@pytest.mark.parametrize("client", ["ai5-0 silent", "ai5 silent"], indirect=True)
def test_a_client_that_knows_no_approvals_reads_all_else(server: Served, client: AiClient) -> None:
    told = Talk(server, client, "calls").perform("calls")
    ends = {id: states[-1] for id, states in told.calls.items()}
    assert ends == {"c1": "output-available", "c2": "output-error", "c3": "output-error"}
    assert (told.text, told.status) == ("I add.\nIt is 3.", "ready")


def test_who_leaves_in_the_middle_gets_all_when_the_page_is_loaded_again(
    server: Served, client: AiClient, room: Room
) -> None:
    room.free.clear()
    talk = Talk(server, client, "again")
    left = talk.perform("wait", leaves="c1")
    assert left.calls == {"c1": LIVE}
    shown = talk.load()
    assert shown["status"] == "running"
    told = talk.follow(shown["messages"], room.free.set)
    assert gist(told.message) == [
        ("text", "I wait.", "done"),
        ("c1", {}, "waited"),
        ("text", "It is over.", "done"),
    ]
    assert told.calls["c1"][-1] == "output-available"
    assert gist(talk.load()["messages"][-1]) == gist(told.message)


@replaying
def test_who_loses_the_connection_has_nothing_twice(
    server: Served, client: AiClient, room: Room
) -> None:
    room.free.clear()
    talk = Talk(server, client, "lost")
    left = talk.perform("wait", leaves="c1")
    told = talk.follow(left.messages, room.free.set)
    assert len(told.messages) == 2
    assert gist(told.message) == gist(talk.load()["messages"][-1])


def test_nothing_runs_nothing_is_resumed(server: Served, client: AiClient) -> None:
    talk = Talk(server, client, "idle")
    live = talk.perform("calls")
    assert talk.perform(resume=True, messages=live.messages).messages == live.messages


def test_a_turn_that_is_stopped_keeps_what_was_said(
    server: Served, client: AiClient, room: Room
) -> None:
    room.free.clear()
    talk = Talk(server, client, "stop")
    talk.perform("wait", leaves="c1")
    told = talk.follow(talk.load()["messages"], talk.stop)
    room.free.set()
    (call,) = told.parts("dynamic-tool")
    assert (told.text.strip(), told.status) == ("I wait.", "ready")
    assert (call["state"], call["errorText"].partition(":")[0]) == ("output-error", "cancelled")
    assert told.message["metadata"]["status"] == "stopped"
    shown = talk.load()
    assert shown["status"] == "idle"
    assert gist(shown["messages"][-1]) == gist(told.message)
    assert not talk.stop()
