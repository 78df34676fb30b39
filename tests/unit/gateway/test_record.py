"""What a gateway keeps: timelines of conversations, and rollouts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from callblocks.gateway.config import parse_gateway
from callblocks.gateway.operation import Operation
from callblocks.gateway.server import all_wires
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.timeline import TIMELINES
from support.gateways import RunningGateway, running_gateway
from support.model_server import DONE, ModelServer, chat_chunk, chat_events, event

CALL = '<tool_call>\n{"name": "look", "arguments": {"at": "home"}}\n</tool_call>'
LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    },
}


def _gateway(text: str) -> Any:
    return running_gateway(operation=Operation(lambda: parse_gateway(text)), wires=all_wires())


def _settled(gateway: RunningGateway) -> None:
    record = gateway.operation.record
    asyncio.run_coroutine_threadsafe(record.flush(), gateway.loop).result(30)


def _ask(gateway: RunningGateway, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"model": "m", "messages": messages, "tools": [LOOK], **more}
    answer = gateway.client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200
    message: dict[str, Any] = answer.json()["choices"][0]["message"]
    return message


def test_a_conversation_is_one_timeline(tmp_path: Path) -> None:
    with ModelServer() as server:
        text = f"""
            [models.m]
            address = "{server.url}#test"
            mode = "text"
            dialect = "hermes"
            [timeline]
            store = "{tmp_path}/state"
        """
        server.answer(*chat_events(f"I look.\n{CALL}"))
        server.answer(*chat_events("A house."))
        server.answer(*chat_events("Bye."))
        with _gateway(text) as gateway:
            user = {"role": "user", "content": "What is at home?"}
            said = _ask(gateway, user)
            result = {
                "role": "tool",
                "tool_call_id": said["tool_calls"][0]["id"],
                "content": "a house",
            }
            answer = _ask(gateway, user, said, result)
            _ask(gateway, user, said, result, answer, {"role": "user", "content": "Thanks."})
            _settled(gateway)
    with open_store(tmp_path / "state" / TIMELINES) as store:
        (name,) = [one.name for one in store.names()]
        blocks = [entry.block for entry in store.entries(name)]
    kinds = [block.type for block in blocks if not block.type.startswith(("timeline.", "turn"))]
    texts = "\n".join(block.text for block in blocks if block.text)
    assert name.startswith("gateway-")
    assert kinds.count("user.prompt") == 2
    assert kinds.count("assistant.completion") == 2
    assert {block.turn_id for block in blocks} == {"turn_1", "turn_2"}
    for words in ("What is at home?", "I look.", "a house", "A house.", "Bye."):
        assert words in texts


def test_a_rollout_has_text_spans_and_tokens(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    with ModelServer() as server:
        text = f"""
            [models.m]
            address = "{server.url}#test"
            mode = "text"
            dialect = "hermes"
            [rollouts]
            file = "{path}"
        """
        tokens = {"content": [{"token": "I", "logprob": -0.5, "id": 7}, {"token": "!"}]}
        first = chat_chunk({"content": f"I look.\n{CALL}"}, "stop")
        first["choices"][0]["logprobs"] = tokens
        server.answer(event(first), DONE)
        with _gateway(text) as gateway:
            _ask(gateway, {"role": "user", "content": "Look."}, logprobs=True)
            _settled(gateway)
        assert server.requests[0].body["logprobs"] is True
    (line,) = path.read_text().splitlines()
    rollout = json.loads(line)
    (call,) = rollout["calls"]
    start, end = call["span"]
    assert rollout["text"][start:end] == CALL
    assert (call["name"], call["input"], call["dialect"]) == ("look", {"at": "home"}, "hermes")
    assert rollout["tokens"] == [{"text": "I", "id": 7, "logprob": -0.5}, {"text": "!"}]
    assert rollout["messages"][-1] == {"role": "user", "content": "Look."}
    assert rollout["finish"] == "stop"


def test_a_disk_that_is_full_is_no_fault_of_a_reply(tmp_path: Path, caplog: Any) -> None:
    text = f'[models.m]\naddress = "scripted"\n[rollouts]\nfile = "{tmp_path}/none/r.jsonl"'
    with _gateway(text) as gateway:
        _ask(gateway, {"role": "user", "content": "hello"})
        _settled(gateway)
    assert "could not be recorded" in caplog.text
