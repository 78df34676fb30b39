"""Scissors-cat output, whole or in pieces: its calls, its Markdown, its errors.

`parse_llm_output` is `DelimiterParser` fed once, so both say the same of any text, however it is
cut. Calls and the delimiter part the prose into stretches, and each stretch is a paragraph of its
own in the Markdown. Blanks that end a stretch therefore wait until it is known what follows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from callblocks.core.calls import Call, Result
from callblocks.core.events import CallReady, CallResult, Event, Malformed, Problem, Text
from callblocks.core.specs import ToolSpecs, specs_by_name
from callblocks.dialects.scissors_cat import DELIMITER, BadCall, read_call
from callblocks.dialects.tool_fence import UNKNOWN_ERROR
from callblocks.parser import Parser, parse
from callblocks.parsing.engine.ids import read_id

__all__ = (
    "SCISSORS_CAT_DELIMITER",
    "Chunk",
    "DelimiterChunk",
    "DelimiterParser",
    "EmojiCall",
    "ParsedLLMOutput",
    "ToolCall",
    "ToolCallValidation",
    "create_stream_chunks",
    "parse_emoji_brackets",
    "parse_llm_output",
    "parse_markdown_into_chunks",
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
    """The output for one piece: prose to show at once, and complete calls."""

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


# --- Emoji-bracket blocks by their parts: name, raw arguments, body ---


class EmojiCall(msgspec.Struct, frozen=True):
    """One block: the first word of its head, the rest of the head, and the body.

    `ended` is false for a block without its end marker, whose body is the rest of the text: do not
    run it unless you know that nothing is missing.
    """

    tool_name: str
    raw_args: str
    body: str
    ended: bool = True


def parse_emoji_brackets(text: str) -> list[EmojiCall]:
    """Return every block of a text, in order of appearance."""
    return [
        EmojiCall(call.name, call.input["args"], call.input["body"], call.ended)
        for call in parse(text, "emoji-bracket").calls
    ]


# --- Markdown with tool fences, as chunks and as UI stream events ---
#
# parse_markdown_into_chunks(markdown)    text chunks and tool chunks, in order
# create_stream_chunks(chunks)            the events that a chat client renders

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
