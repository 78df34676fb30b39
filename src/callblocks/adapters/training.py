"""A completion as the message of a chat template, with spans and token masks for training.

    message = messages_from(text, tools, "hermes")
    message["tool_calls"][0]["function"]        {"name": "weather", "arguments": {"city": "Oslo"}}
    spans_of(text, tools, "hermes")             what each part of the text is
    token_mask(spans, offsets, {"call"})        one flag for each token of a tokenizer

The message has the shape of `tokenizer.parse_response` of transformers and of TRL: `role`,
`content`, `reasoning_content`, `tool_calls`. Several calls stay several. The spans tile the text,
so a mask says of every token what it belongs to: prose, reasoning, a call, or text that opened like
a call and is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallInput,
    CallReady,
    CallStarted,
    Event,
    Malformed,
    Reasoning,
    Text,
)
from callblocks.core.specs import ToolSpecs
from callblocks.parser import AUTO, Parser

__all__ = ("SpanKind", "TextSpan", "messages_from", "spans_of", "token_mask")

_THOUGHTS = (("<think>", "</think>"),)

SpanKind: TypeAlias = Literal["prose", "reasoning", "call", "broken"]


class TextSpan(NamedTuple):
    """A part of a text, from `start` to `end`; `call` is its number where it is one."""

    kind: SpanKind
    start: int
    end: int
    call: int | None = None


def messages_from(
    text: str,
    tools: ToolSpecs = (),
    dialect: str | Sequence[str] = AUTO,
    *,
    model: str = "",
    in_reasoning: bool = False,
) -> dict[str, Any]:
    """Return the assistant's message that a text is.

    `model` is the name of the one that wrote it, for `auto`; `in_reasoning` says that the prompt
    opened a thought, which the text goes on with.
    """
    prose: list[str] = []
    thoughts: list[str] = []
    calls: list[Call] = []
    for event in _events(text, tools, dialect, model, in_reasoning):
        match event:
            case Text(text=said) | Malformed(text=said):
                prose.append(said)
            case Reasoning(text=said):
                thoughts.append(said)
            case CallReady(call=call):
                calls.append(call)
            case _:
                pass
    message: dict[str, Any] = {"role": "assistant", "content": "".join(prose).strip()}
    if thoughts:
        message["reasoning_content"] = "".join(thoughts).strip()
    if calls:
        message["tool_calls"] = [_tool_call(call) for call in calls]
    return message


def _tool_call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.input}
    return {"id": call.id, "type": "function", "function": function}


def spans_of(
    text: str,
    tools: ToolSpecs = (),
    dialect: str | Sequence[str] = AUTO,
    *,
    model: str = "",
    in_reasoning: bool = False,
) -> list[TextSpan]:
    """Return what each part of a text is; the spans tile it."""
    spans: list[TextSpan] = []
    numbers: dict[int, int] = {}
    for event in _events(text, tools, dialect, model, in_reasoning):
        start, end = event.span
        match event:
            case Text():
                spans.append(TextSpan("prose", start, end))
            case Reasoning():
                spans.append(TextSpan("reasoning", start, end))
            case CallStarted(index=index) | CallInput(index=index) | CallReady(index=index):
                spans.append(TextSpan("call", start, end, numbers.setdefault(index, len(numbers))))
            case Malformed(index=index):
                number = None if index is None else numbers.pop(index, None)
                spans = [_broken(one, number) for one in spans]
                spans.append(TextSpan("broken", start, end))
            case _:
                pass
    return _joined(one for one in spans if one.end > one.start)


def _broken(span: TextSpan, number: int | None) -> TextSpan:
    """A call that turned out bad is none from its beginning."""
    is_it = number is not None and span.call == number
    return TextSpan("broken", span.start, span.end) if is_it else span


def _joined(spans: Iterable[TextSpan]) -> list[TextSpan]:
    joined: list[TextSpan] = []
    for span in spans:
        last = joined[-1] if joined else None
        if last is not None and (last.kind, last.call) == (span.kind, span.call):
            joined[-1] = last._replace(end=span.end)
        else:
            joined.append(span)
    return joined


def token_mask(
    spans: Iterable[TextSpan],
    offsets: Iterable[tuple[int, int]],
    kinds: Collection[SpanKind] = ("call",),
) -> list[bool]:
    """Return for each token whether it touches a span of these kinds.

    `offsets` are those of a tokenizer (`return_offsets_mapping`); a token of no width is of none.
    """
    wanted = [span for span in spans if span.kind in kinds]
    mask: list[bool] = []
    at = 0
    for start, end in offsets:
        # Tokens come in the order of the text, except special ones, which have no width.
        while at < len(wanted) and wanted[at].end <= start:
            at += 1
        mask.append(end > start and at < len(wanted) and wanted[at].start < end)
    return mask


def _events(
    text: str, tools: ToolSpecs, dialect: str | Sequence[str], model: str, in_reasoning: bool
) -> list[Event]:
    parser = Parser(
        dialect, tools=tools, model=model, reasoning=_THOUGHTS, in_reasoning=in_reasoning
    )
    return [*parser.feed(text), *parser.close()]
