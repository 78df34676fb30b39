"""The client of AG-UI before our server: a turn, approvals, a team, thoughts; its own verifier
finds nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callblocks.models.model import Thinking
from callblocks.session.host import Host
from callblocks.session.team_file import Member
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.chat_server import served_host
from support.command_home import fence
from support.nodejs import node
from support.scripted_sessions import ASK_ALL, Replies, some_host
from support.teams import team_host

CLIENT = "tests/node/agui-client.mjs"


def tides() -> Registry:
    @tool
    def tide(place: str) -> dict[str, str]:
        """Tell the tide."""
        return {"place": place, "tide": "low"}

    return Registry([tide])


CALL = f"I look.\n\n{fence('tide', place='Oslo')}"


def drive(open_host: Callable[[], Host], text: str = "And?", answer: str = "yes") -> dict[str, Any]:
    """What the client saw."""
    with served_host(open_host, token="t" * 32) as served:
        url = f"http://127.0.0.1:{served.port}/agui"
        return json.loads(node(CLIENT, url, "t" * 32, text, answer))


def types(seen: dict[str, Any]) -> list[str]:
    return [event["type"] for event in seen["events"]]


def of(seen: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in seen["events"] if event["type"] == kind]


def test_a_turn_with_thoughts_and_a_call(tmp_path: Path) -> None:
    model = Replies([Thinking("Let me see."), CALL], "Low in Oslo.")
    seen = drive(lambda: some_host(tmp_path, model, tools=tides()))
    assert seen["faults"] == []
    assert len(seen["runs"]) == 1
    thought, *_ = of(seen, "REASONING_MESSAGE_CONTENT")
    assert thought["delta"] == "Let me see."
    (result,) = of(seen, "TOOL_CALL_RESULT")
    assert json.loads(result["content"]) == {"place": "Oslo", "tide": "low"}
    assert seen["state"]["status"] == "answered"
    assert seen["messages"][-1]["content"] == "Low in Oslo."
    # The client keeps the call with its arguments, as it does those of other agents.
    (call,) = [one for message in seen["messages"] for one in message.get("toolCalls", ())]
    assert json.loads(call["function"]["arguments"]) == {"place": "Oslo"}


@pytest.mark.parametrize(("answer", "said"), [("yes", "low"), ("no", "approval_denied")])
def test_an_approval_is_an_interrupt_with_a_resume(tmp_path: Path, answer: str, said: str) -> None:
    model = Replies(CALL, "Done.")
    seen = drive(lambda: some_host(tmp_path, model, tools=tides(), policy=ASK_ALL), answer=answer)
    assert seen["faults"] == []
    assert len(seen["runs"]) == 2
    first, second = of(seen, "RUN_FINISHED")
    (interrupt,) = first["outcome"]["interrupts"]
    assert interrupt["toolCallId"] == of(seen, "TOOL_CALL_START")[0]["toolCallId"]
    assert interrupt["metadata"]["callblocks"]["input"] == {"place": "Oslo"}
    assert second["outcome"] == {"type": "success"}
    (result,) = of(seen, "TOOL_CALL_RESULT")
    assert said in result["content"]
    assert seen["state"] == {**seen["state"], "status": "answered", "waiting": []}


def test_members_of_a_team_are_subagents(tmp_path: Path) -> None:
    def open_host() -> Host:
        members = (
            Member(name="look", model=Replies(CALL, "Low."), tools=("tide",)),
            Member(name="doubt", model=Replies("Is it?")),
        )
        return team_host(tmp_path, Replies("It is."), *members, tools=tides(), policy=ASK_ALL)

    seen = drive(open_host)
    assert seen["faults"] == []
    assert {event["name"] for event in of(seen, "SUBAGENT_STARTED")} == {"look", "doubt"}
    # The one that asked was suspended with the run, and went on in the next.
    suspended = [
        event for event in of(seen, "SUBAGENT_FINISHED") if event.get("outcome", {}).get("type")
    ]
    assert [event["subagentRunId"].rpartition("/")[2] for event in suspended] == ["look"]
    assert len(seen["runs"]) == 2
    calls = {event["subagentRunId"] for event in of(seen, "TOOL_CALL_START")}
    assert [one.rpartition("/")[2] for one in calls] == ["look"]
    assert seen["messages"][-1]["content"] == "It is."


def test_a_turn_that_fails_is_a_run_error(tmp_path: Path) -> None:
    with served_host(lambda: some_host(tmp_path, Replies(RuntimeError("x"))), token="t" * 32) as _:
        pass
    seen = drive(lambda: some_host(tmp_path, Replies("", "", ""), tools=tides()))
    assert types(seen)[-1] == "RUN_ERROR"


BAD: list[dict[str, Any]] = [
    {"messages": []},
    {"messages": [{"role": "assistant", "content": "x"}]},
    {"messages": [{"role": "user", "content": 1}]},
    {"messages": [{"role": "user", "content": " "}]},
    {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}]},
    {"messages": [], "resume": [{"interruptId": "x", "status": "maybe"}]},
    {"messages": [], "resume": [{"interruptId": "x", "status": "resolved", "payload": "ok"}]},
    {"messages": [], "resume": [{"interruptId": "x", "status": "cancelled"}]},
    {"messages": [{"role": "user", "content": "x"}], "threadId": "../x"},
]


@pytest.mark.parametrize("body", BAD)
def test_a_post_that_says_nothing_is_refused(tmp_path: Path, body: dict[str, Any]) -> None:
    with served_host(lambda: some_host(tmp_path, Replies())) as served:
        whole = {"threadId": "trip", "runId": "r", **body}
        assert 400 <= served.client.post("/agui", json=whole).status_code < 500


def test_a_file_of_the_person_comes_with_the_turn(tmp_path: Path) -> None:
    source = {"type": "data", "mimeType": "text/plain", "value": "dGlkZQ=="}
    parts = [{"type": "text", "text": "Look"}, {"type": "document", "source": source}]
    model = Replies("Seen.")
    with served_host(lambda: some_host(tmp_path, model)) as served:
        body = {
            "threadId": "trip",
            "runId": "r",
            "messages": [{"id": "1", "role": "user", "content": parts}],
        }
        assert "Seen." in served.client.post("/agui", json=body).text.replace('"}', "")
    assert "file-2" in str(model.requests[0].messages) or "file-1" in str(model.requests[0])
