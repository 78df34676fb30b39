"""Scissors-cat output, whole or in pieces: its calls, its Markdown, its errors.

`parse_llm_output` is `DelimiterParser` fed once, so both say the same of any text, however it is
cut. Calls and the delimiter part the prose into stretches, and each stretch is a paragraph of its
own in the Markdown. Blanks that end a stretch therefore wait until it is known what follows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callblocks.dialects.scissors_cat import DELIMITER, BadCall, read_call
from callblocks.model.calls import Call
from callblocks.model.events import CallReady, Event, Malformed, Problem, Text
from callblocks.model.specs import ToolSpecs, specs_by_name
from callblocks.parser import Parser
from callblocks.parsing.ids import read_id

__all__ = (
    "SCISSORS_CAT_DELIMITER",
    "DelimiterChunk",
    "DelimiterParser",
    "ParsedLLMOutput",
    "ToolCall",
    "ToolCallValidation",
    "parse_llm_output",
    "validate_tool_call",
)

SCISSORS_CAT_DELIMITER = DELIMITER
"""What stands between the calls and the Markdown: U+2702 U+FE0F U+1F431."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A validated call: higher `priority` runs first."""

    id: str
    type: str
    operation: str
    parameters: dict[str, Any]
    priority: float = 0


class ParsedLLMOutput(msgspec.Struct, frozen=True):
    """A whole output: its calls, its Markdown trimmed, and why calls were not taken."""

    tool_calls: list[ToolCall]
    markdown: str
    parse_errors: list[str]


class DelimiterChunk(msgspec.Struct, frozen=True):
    """What a piece settled: prose to show at once, and calls that are complete."""

    prose_to_stream: str
    completed_tool_calls: list[ToolCall]


class ToolCallValidation(msgspec.Struct, frozen=True):
    """A call if `success`, and otherwise the field that is wrong and why."""

    success: bool
    data: ToolCall | None = None
    error: str | None = None


def parse_llm_output(output: str, tools: ToolSpecs = ()) -> ParsedLLMOutput:
    """Read a whole output. A type outside the catalogue and outside `tools` is an error."""
    parser = DelimiterParser(tools)
    first, last = parser.process_chunk(output), parser.flush()
    return ParsedLLMOutput(
        first.completed_tool_calls + last.completed_tool_calls,
        (first.prose_to_stream + last.prose_to_stream).strip(),
        parser.parse_errors,
    )


def validate_tool_call(call: object, tools: ToolSpecs = ()) -> ToolCallValidation:
    """Check one call against the schema of the specification.

    `call` is a value that was read from JSON. As in a text, an id may be a number, but it must be
    there: nobody else could name the call.
    """
    try:
        fields = read_call(call, specs_by_name(tools))
    except BadCall as error:
        return ToolCallValidation(False, error=str(error))
    id_ = read_id(fields.get("id"))
    if id_ is None:
        reason = "is missing" if "id" not in fields else "must be a string that is not blank"
        return ToolCallValidation(False, error=f"id: {reason}")
    return ToolCallValidation(True, _tool_call(id_, fields["type"], fields["parameters"], fields))


class DelimiterParser:
    """Reads pieces as they arrive; `flush` says that the output is over.

    `parse_errors` grows as text comes: why calls were not taken.
    """

    def __init__(self, tools: ToolSpecs = ()) -> None:
        self._parser = Parser("scissors-cat", tools=tools)
        self._has_prose = False
        self._at_seam = False
        self._blanks = ""
        self.parse_errors: list[str] = []

    def process_chunk(self, text: str) -> DelimiterChunk:
        """Take a piece; return what it settled."""
        return self._settle(self._parser.feed(text))

    def flush(self) -> DelimiterChunk:
        """Return what was waiting for a delimiter that never came."""
        chunk = self._settle(self._parser.close())
        blanks, self._blanks = self._blanks, ""
        return DelimiterChunk(chunk.prose_to_stream + blanks, chunk.completed_tool_calls)

    def _settle(self, events: Sequence[Event]) -> DelimiterChunk:
        prose: list[str] = []
        calls: list[ToolCall] = []
        for event in events:
            match event:
                case Text(text=text) if text:
                    prose.append(self._continue(text))
                case CallReady(call=call):
                    calls.append(_of_call(call))
                    self._part()
                case Text():  # the delimiter, and the line ends that belong to it
                    self._part()
                case Malformed() | Problem(code="delimiter-without-calls"):
                    self.parse_errors.append(_explain(event))
                    self._part()
                case _:
                    pass
        return DelimiterChunk("".join(prose), calls)

    def _continue(self, text: str) -> str:
        """Return the prose up to its last solid character; a new stretch is a new paragraph."""
        text = self._blanks + text
        if self._at_seam:
            text = text.lstrip()
        solid = text.rstrip()
        self._blanks = text[len(solid) :]
        if not solid:
            return ""
        parted = "\n\n" if self._at_seam else ""
        self._has_prose, self._at_seam = True, False
        return parted + solid

    def _part(self) -> None:
        """End a stretch of prose, if there was one."""
        self._at_seam, self._blanks = self._has_prose, ""


def _of_call(call: Call) -> ToolCall:
    return _tool_call(call.id, call.name, call.input, call.extra)


def _tool_call(
    id_: str, type_: str, parameters: dict[str, Any], fields: Mapping[str, Any]
) -> ToolCall:
    return ToolCall(
        id=id_,
        type=type_,
        operation=fields["operation"],
        parameters=parameters,
        priority=fields.get("priority", 0),
    )


def _explain(event: Malformed | Problem) -> str:
    kind = (
        "Invalid tool call"
        if event.code == "scissors-cat.call"
        else "Failed to parse tool calls JSON"
    )
    return f"{kind}: {event.detail}"
