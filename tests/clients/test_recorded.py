"""Requests that Codex and Claude Code made are taken whole, whatever is in them.

`clients.recorder` recorded them: the first request of each, and the one with the tool's result.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.agents import AGENTS
from support.gateway import Way
from support.scripted_upstream import ANSWER, COMMAND, DIALECTS, TITLE

RECORDED = sorted(Path(__file__).with_name("recorded").glob("*.json"))
TOOLS = {
    agent.name.lower().replace(" ", "-"): (agent.tool, agent.input)
    for agent in AGENTS
    if agent.name in ("Codex", "Claude Code")
}


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_request_is_never_refused(
    way: Way, path: Path, dialect: str, streams: bool
) -> None:
    agent, _, number = path.stem.rpartition("-")
    name, given = TOOLS[agent]
    way.upstream.play(name, **given)
    reply = _ask(way.url, json.loads(path.read_text("utf-8")), model=dialect, stream=streams)
    assert reply.status_code == 200, reply.text
    # The first request gets the call, the second the answer to its result.
    if number == "1":
        assert COMMAND in _joined(reply)
    else:
        assert _joined(reply) == ANSWER


def test_no_tool_of_a_recorded_request_is_lost_without_a_word(way: Way) -> None:
    for path in RECORDED:
        if not path.stem.endswith("-1"):
            continue
        request = json.loads(path.read_text("utf-8"))
        way.upstream.play("no-such-tool")
        assert TITLE in _joined(_ask(way.url, request, stream=True))
        told = json.dumps(way.upstream.bodies[-1]["messages"][0], ensure_ascii=False)
        for tool in request["body"]["tools"]:
            for inner in tool.get("tools", [tool]):
                assert inner.get("name", inner.get("type")) in told, path.name


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("agent", TOOLS)
def test_a_recorded_prompt_goes_on_from_the_one_before(way: Way, agent: str, dialect: str) -> None:
    name, given = TOOLS[agent]
    way.upstream.play(name, **given)
    for number in (1, 2):
        text = RECORDED[0].with_name(f"{agent}-{number}.json").read_text("utf-8")
        # Claude Code counts for Anthropic's accounts in the first line of its system prompt.
        text = text.replace("cc_entrypoint=sdk-cli;", f"cc_entrypoint=sdk-cli; cch=fa69{number};")
        assert _ask(way.url, json.loads(text), model=dialect).status_code == 200
    first, second = (body["messages"] for body in way.upstream.bodies)
    assert second[: len(first)] == first
    assert len(second) > len(first)


def _ask(url: str, request: dict[str, Any], **changes: Any) -> httpx2.Response:
    body = {**request["body"], **changes}
    return httpx2.post(
        f"{url}{request['path']}", json=body, headers=request["headers"], timeout=120
    )


def _joined(reply: httpx2.Response) -> str:
    """The text of a reply and the inputs of its calls, on both wires, streamed or not."""
    if not reply.headers["content-type"].startswith("text/event-stream"):
        body = reply.json()
        parts = body.get("content") or [
            part for item in body["output"] for part in item.get("content", [item])
        ]
        return "".join(
            str(part.get("text") or part.get("arguments") or part["input"]["command"])
            for part in parts
        )
    lines = [line for line in reply.text.splitlines() if line.startswith("data: {")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    deltas = [event["delta"] for event in events if "delta" in event]
    return "".join(
        delta if isinstance(delta, str) else delta.get("text") or delta.get("partial_json", "")
        for delta in deltas
    )
