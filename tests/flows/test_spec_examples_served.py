"""Transcripts with tool fences, from the model that plays them to what every client has of them.

The same text is followed on the wire, in the chat as it is loaded later, as chat text, and drawn.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from typing import Any

import pytest

from callblocks.core.events import CallReady
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.views.replay import replayed
from callblocks.views.text.spec_functions import parse_markdown_into_chunks
from support.chat_server import served_host
from support.followed_turns import Following, joined, spec_form
from support.gated_scripts import written_scripts
from support.model_events import read_events
from support.scripted_sessions import some_host
from support.spec_fences import FENCES
from support.terminal_drawing import drawn_text, drawn_turn

QUOTED = "\n".join(f"````markdown\n{one.text}````\n" for one in FENCES.values())
HEADS = {
    "```tool": ("tool", None),
    "```tool search": ("search", None),
    "```tool search call_123": ("search", "call_123"),
    "```tool name=search id=call_123": ("search", "call_123"),
    '```tool name="weather lookup" id=call_9': ("weather lookup", "call_9"),
    "```tool\ntoolName: search\ntoolCallId: call_1": ("search", "call_1"),
    "```tool\nname: search\nid: call_1": ("search", "call_1"),
}
BODIES: dict[str, dict[str, Any]] = {
    "output: ok": {"output": "ok"},
    "state: output-available": {"output": None},
    "state: output-available\noutput: [1, {a: null}]": {"output": [1, {"a": None}]},
    "errorText: no tea": {"errorText": "no tea"},
    "error: no tea": {"errorText": "no tea"},
    "state: output-error": {"errorText": "An unknown tool error occurred."},
}


@tool(read_only=True)
def search(query: str) -> str:
    """Search."""
    return f"all about {query}"


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Generator[Following]:
    folder = tmp_path_factory.mktemp("fences")
    scripts = {name: one.text for name, one in FENCES.items()}
    scripts |= {f"head {at}": f"{head}\noutput: ok\n```\n" for at, head in enumerate(HEADS)}
    scripts |= {f"body {at}": f"```tool t c1\n{body}\n```\n" for at, body in enumerate(BODIES)}
    scripts["more"] = "```tool t c1\noutput: ok\nsource: cache\nlimits: {hours: 2}\n```\n"
    scripts["quoted"] = QUOTED
    scripts["waits"] = (
        "```tool search call_1\nstate: input-available\ninput:\n  query: cats\n```\n"
        "<!-- results -->\nFound."
    )
    model = written_scripts(folder / "scripts", scripts)
    with served_host(lambda: some_host(folder, model, tools=Registry([search]))) as server:
        yield Following(server, model)


@pytest.fixture(params=FENCES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def wire(chunks: Iterable[str | dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a reply that is made of these chunks."""
    events: list[dict[str, Any]] = [
        {"type": "start", "messageId": "turn_1", "messageMetadata": {"turn": "turn_1"}},
        {"type": "start-step"},
    ]
    texts = 0
    for chunk in chunks:
        if isinstance(chunk, str):
            texts += 1
            text = {"id": f"text-{texts}"}
            events.append({"type": "text-start", **text})
            events.append({"type": "text-delta", **text, "delta": chunk})
            events.append({"type": "text-end", **text})
        else:
            events += called(chunk)
    done = {"turn": "turn_1", "status": "answered"}
    return [
        *events,
        {"type": "finish-step"},
        {"type": "message-metadata", "messageMetadata": done},
        {"type": "finish"},
    ]


def called(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a tool chunk."""
    id = {"toolCallId": chunk["toolCallId"]}
    named = {**id, "toolName": chunk["toolName"], "dynamic": True, "providerExecuted": True}
    result = {key: chunk[key] for key in ("output", "errorText") if key in chunk}
    kind = "tool-output-error" if "errorText" in chunk else "tool-output-available"
    return [
        {"type": "tool-input-start", **named},
        {"type": "tool-input-available", **named, "input": chunk["input"]},
        {"type": kind, **id, **result, "dynamic": True},
    ]


def parts(chunks: Iterable[str | dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of the message that is made of these chunks."""
    return [
        {"type": "text", "text": chunk.strip("\n"), "state": "done"}
        if isinstance(chunk, str)
        else {**chunk, "type": "dynamic-tool", "providerExecuted": True}
        for chunk in chunks
    ]


def calls_of(chunks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is told of calls."""
    return [chunk for chunk in chunks if "toolCallId" in chunk]


def test_a_text_is_read_as_its_chunks(name: str) -> None:
    read = parse_markdown_into_chunks(FENCES[name].text.removesuffix("\n"))
    texts = [one["text"] if one["type"] == "text" else one for one in read]
    assert [one for one in texts if one != "\n"] == FENCES[name].chunks


@pytest.mark.parametrize("version", [5, 6, 7])
def test_the_wire_has_the_events_of_each_chunk(
    following: Following, name: str, version: int
) -> None:
    turn = following.play(name, version)
    assert joined(turn.chunks) == wire(FENCES[name].chunks)


def test_a_chat_that_is_loaded_later_has_the_same_parts(following: Following, name: str) -> None:
    turn = following.play(name)
    prompt, reply = turn.shown["messages"]
    assert prompt["parts"] == [{"type": "text", "text": name}]
    assert (reply["id"], reply["role"]) == ("turn_1", "assistant")
    assert turn.reply == [{"type": "step-start"}, *parts(FENCES[name].chunks)]


def test_chat_text_has_a_block_for_each_call(following: Following, name: str) -> None:
    given, turn = FENCES[name], following.play(name)
    assert spec_form(turn.text) == given.written
    ids = [chunk["toolCallId"] for chunk in given.chunks if isinstance(chunk, dict)]
    assert re.findall(r'<tool id="(.*?)">', turn.text) == ids


def test_a_person_sees_the_same_however_it_came(following: Following, name: str) -> None:
    turn = following.play(name)
    assert drawn_turn(turn.events) == FENCES[name].drawn
    assert drawn_text(turn.text) == FENCES[name].drawn
    assert drawn_turn(replayed(turn.entries)) == FENCES[name].drawn


@pytest.mark.parametrize("at", range(len(HEADS)), ids=list(HEADS))
def test_a_call_has_the_name_and_id_that_its_fence_says(following: Following, at: int) -> None:
    name, id = list(HEADS.values())[at]
    turn = following.play(f"head {at}")
    # An id that nobody wrote is made up, and known only when the fence is closed.
    told = [one for one in calls_of(turn.chunks) if one["type"] != "tool-input-start"]
    made = told[0]["toolCallId"] if id is None else id
    assert made
    call = {"toolName": name, "toolCallId": made, "input": {}, "output": "ok"}
    assert told == called(call)[1:]
    assert turn.reply[1:] == parts([{**call, "state": "output-available"}])


@pytest.mark.parametrize("at", range(len(BODIES)), ids=list(BODIES))
def test_a_body_says_what_came_of_the_call(following: Following, at: int) -> None:
    result = list(BODIES.values())[at]
    turn = following.play(f"body {at}")
    call = {"toolName": "t", "toolCallId": "c1", "input": {}, **result}
    assert calls_of(turn.chunks) == called(call)
    state = "output-error" if "errorText" in result else "output-available"
    assert turn.reply[1:] == parts([{**call, "state": state}])


def test_other_fields_stay_with_the_call(following: Following) -> None:
    written = read_events(following.play("more").events, CallReady)
    assert [one.call.extra for one in written] == [{"source": "cache", "limits": {"hours": 2}}]


def test_a_call_without_a_result_gets_that_of_our_tool(following: Following) -> None:
    turn = following.play("waits")
    call = {"toolName": "search", "toolCallId": "call_1", "input": {"query": "cats"}}
    assert calls_of(turn.chunks) == called({**call, "output": "all about cats"})
    assert turn.reply[-1] == {"type": "text", "text": "Found.", "state": "done"}


def test_a_transcript_that_is_quoted_is_prose(following: Following) -> None:
    turn = following.play("quoted")
    assert calls_of(turn.chunks) == []
    assert turn.reply[1:] == [{"type": "text", "text": QUOTED.rstrip(), "state": "done"}]
