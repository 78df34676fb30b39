"""A timeline as Markdown, to be read: who said what, each call, and what came of it.

    # Timeline `notes`
    ## `turn_1`
    **User**
    > Add them up.
    **2 tool calls, 1 failed**
    - `add(a=1, b=2)`

All text of people, models and tools is quoted or fenced: nothing in it becomes structure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from callblocks.model.shown import show_result
from callblocks.views.markdown_text import code_span, fenced, quoted
from callblocks.views.timeline.calls import ShownCall
from callblocks.views.timeline.chat import (
    LONGEST,
    Batch,
    Ended,
    Lost,
    Message,
    ShownItem,
    Thought,
)
from callblocks.views.timeline.files import ShownFile

__all__ = ("timeline_markdown",)


def timeline_markdown(name: str, items: Iterable[ShownItem]) -> Iterator[str]:
    """The page, line by line, each with its end."""
    yield f"# Timeline {code_span(name)}\n"
    turn = None
    for item in items:
        if item.turn != turn:
            turn = item.turn
            yield f"\n## {code_span(turn)}\n"
        for line in ("", *_lines(item)):
            yield f"{line}\n"


def _lines(item: ShownItem) -> Iterator[str]:
    match item:
        case Message():
            name = code_span(item.name) if item.member else item.name
            yield f"**{name}** · {code_span(item.ts)}"
            if item.text:
                yield ""
                yield from quoted(item.text)
            if item.is_cut:
                yield from ("", "*It broke off here.*")
            yield from _files(item.files, "")
        case Batch(calls=calls):
            yield f"**{_count(calls)}**"
            for call in calls:
                yield from _call(call)
        case Thought(text=text):
            yield from ("*Thought*", "", *quoted(text))
        case Lost(words=words):
            yield f"*{words}*"
        case Ended(words=words):
            mark, _, said = words.partition(" ")
            yield f"{mark} {code_span(said)}"


def _count(calls: list[ShownCall]) -> str:
    failed = sum(call.failed for call in calls)
    said = "1 tool call" if len(calls) == 1 else f"{len(calls)} tool calls"
    return f"{said}, {failed} failed" if failed else said


def _call(call: ShownCall) -> Iterator[str]:
    yield ""
    yield f"- {code_span(call.line)}{_state(call)}"
    for notice in call.notices:
        yield ""
        yield f"  Notice: {code_span(notice)}"
    for text in (call.code, call.result or ""):
        if text:
            yield ""
            yield from fenced(_cut(text), "  ")
    yield from _files(call.files, "  ")


def _state(call: ShownCall) -> str:
    if call.failed:
        return " **failed**"
    return " (no result)" if call.result is None and not call.files else ""


def _files(files: list[ShownFile], indent: str) -> Iterator[str]:
    for file in files:
        yield ""
        yield f"{indent}File: {code_span(file.about)}"
        if file.text:
            yield ""
            yield from fenced(_cut(file.text), indent)


def _cut(text: str) -> str:
    return show_result(text, LONGEST)[0]
