"""Markdown with tool fences, as chunks and as UI stream events.

parse_markdown_into_chunks(markdown)    text chunks and tool chunks, in order
create_stream_chunks(chunks)            the events that a chat client renders
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from callblocks.dialects.tool_fence import UNKNOWN_ERROR
from callblocks.model.calls import Call, Result
from callblocks.model.events import CallReady, CallResult, Malformed, Text
from callblocks.parser import parse

__all__ = ("Chunk", "create_stream_chunks", "parse_markdown_into_chunks")

Chunk: TypeAlias = dict[str, Any]


def parse_markdown_into_chunks(markdown: str) -> list[Chunk]:
    """Split Markdown at its tool fences. A fence that cannot be read stays text."""
    chunks: list[Chunk] = []
    for event in parse(markdown, "tool-fence").events:
        match event:
            case Text(text=text) | Malformed(text=text) if text:
                _add_text(chunks, text)
            case CallReady(call=call):
                chunks.append(_tool_chunk(call))
            case CallResult(result=result):
                chunks[-1] = _with_result(chunks[-1], result)
            case _:
                pass
    return chunks


def create_stream_chunks(chunks: Iterable[Chunk] | str) -> Iterator[Chunk]:
    """Give the UI stream events of chunks, or of Markdown."""
    if isinstance(chunks, str):
        chunks = parse_markdown_into_chunks(chunks)
    for number, chunk in enumerate(chunks, 1):
        if chunk["type"] == "text":
            yield from _text_events(f"text-{number}", chunk["text"])
        else:
            yield from _tool_events(chunk)


def _add_text(chunks: list[Chunk], text: str) -> None:
    if chunks and chunks[-1]["type"] == "text":
        chunks[-1]["text"] += text
    else:
        chunks.append({"type": "text", "text": text})


def _tool_chunk(call: Call) -> Chunk:
    extra = dict(call.extra)
    state = {"state": extra.pop("state")} if "state" in extra else {}
    value = extra.pop("input", call.input)
    head = {"type": "tool", "toolName": call.name, "toolCallId": call.id, **state, "input": value}
    return {**extra, **head} if extra.keys() & head.keys() else {**head, **extra}


def _with_result(chunk: Chunk, result: Result) -> Chunk:
    """Put what the fence carried after its input, before the keys of others."""
    told: Chunk = {}
    if result.error is None or result.output is not None:
        told["output"] = result.output
    if result.error is not None:
        told["errorText"] = result.error
    place = list(chunk).index("input") + 1
    members = list(chunk.items())
    return dict([*members[:place], *told.items(), *members[place:]])


def _text_events(id_: str, text: str) -> Iterator[Chunk]:
    yield {"type": "text-start", "id": id_}
    yield {"type": "text-delta", "id": id_, "delta": text}
    yield {"type": "text-end", "id": id_}


def _tool_events(chunk: Chunk) -> Iterator[Chunk]:
    """The input always; then the error, which wins, or the output."""
    call, state = {"toolCallId": chunk["toolCallId"]}, chunk.get("state")
    # A key without a value, `input:`, says nothing, as no key does.
    given = chunk.get("input")
    value: Chunk = {"toolName": chunk["toolName"], "input": {} if given is None else given}
    yield {"type": "tool-input-available", **call, **value}
    if "errorText" in chunk or state == "output-error":
        error = chunk.get("errorText", UNKNOWN_ERROR)
        yield {"type": "tool-output-error", **call, "errorText": error}
    elif "output" in chunk or state == "output-available":
        yield {"type": "tool-output-available", **call, "output": chunk.get("output")}
