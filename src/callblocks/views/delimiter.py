"""Scissors-cat output, whole or in pieces: its calls, its Markdown, its errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from callblocks.model.calls import Call
from callblocks.model.events import CallReady, Event, Malformed, Text
from callblocks.model.specs import ToolSpecs
from callblocks.parser import Parser, parse

__all__ = ("DelimiterChunk", "DelimiterParser", "ParsedOutput", "ToolCall", "parse_llm_output")


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A validated call: higher `priority` runs first."""

    id: str
    type: str
    operation: str
    parameters: dict[str, Any]
    priority: float = 0


class ParsedOutput(msgspec.Struct, frozen=True):
    """A whole output: its calls, its Markdown trimmed, and why calls were not taken."""

    tool_calls: list[ToolCall]
    markdown: str
    parse_errors: list[str]


class DelimiterChunk(msgspec.Struct, frozen=True):
    """What a piece settled: prose to show at once, and calls that are complete."""

    prose_to_stream: str
    completed_tool_calls: list[ToolCall]


def parse_llm_output(output: str, tools: ToolSpecs = ()) -> ParsedOutput:
    """Read a whole output. A type outside the catalogue and outside `tools` is an error."""
    parsed = parse(output, "scissors-cat", tools=tools)
    malformed = [event for event in parsed.events if isinstance(event, Malformed)]
    return ParsedOutput(
        [_tool_call(call) for call in parsed.calls],
        _markdown(parsed.events),
        [_explain(event) for event in malformed],
    )


class DelimiterParser:
    """Reads pieces as they arrive; `flush` says that the output is over."""

    def __init__(self, tools: ToolSpecs = ()) -> None:
        self._parser = Parser("scissors-cat", tools=tools)
        self.parse_errors: list[str] = []

    def process_chunk(self, text: str) -> DelimiterChunk:
        """Take a piece; return what it settled."""
        return self._settle(self._parser.feed(text))

    def flush(self) -> DelimiterChunk:
        """Return what was waiting for a delimiter that never came."""
        return self._settle(self._parser.close())

    def _settle(self, events: Sequence[Event]) -> DelimiterChunk:
        malformed = (event for event in events if isinstance(event, Malformed))
        self.parse_errors.extend(_explain(event) for event in malformed)
        prose = "".join(event.text for event in events if isinstance(event, Text))
        calls = [_tool_call(event.call) for event in events if isinstance(event, CallReady)]
        return DelimiterChunk(prose, calls)


def _markdown(events: Sequence[Event]) -> str:
    """The prose; what stood before the calls is a paragraph of its own."""
    stretches = [""]
    for event in events:
        if isinstance(event, Text):
            stretches[-1] += event.text
        elif isinstance(event, CallReady | Malformed) and stretches[-1]:
            stretches.append("")
    return "\n\n".join(stretch.strip() for stretch in stretches if stretch.strip())


def _tool_call(call: Call) -> ToolCall:
    return ToolCall(
        id=call.id,
        type=call.name,
        operation=call.extra["operation"],
        parameters=call.input,
        priority=call.extra.get("priority", 0),
    )


def _explain(event: Malformed) -> str:
    kind = (
        "Invalid tool call"
        if event.code == "scissors-cat.call"
        else "Failed to parse tool calls JSON"
    )
    return f"{kind}: {event.detail}"
