"""A text that was read, in another dialect; what that cannot say is listed, never lost unseen.

    conversion(parse(text), text, dialects["scissors-cat"]).unsaid
    →  (Unsaid(what="results: it has no form for that of 'c1'", span=(0, 60)),)

A call is one with its results: where one of them cannot be said, all of them stay in the text as
they were written. What the model thought is written between the target's own markers; where that
cannot be it is left out, for as prose it would be told to everybody. An id that the target has no
place for is listed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from callblocks.model.calls import Call, Item, Span, Thought
from callblocks.model.errors import Unwritable
from callblocks.model.events import CallReady, CallResult, Malformed, Reasoning, Text
from callblocks.model.specs import ToolSpecs, specs_by_name
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.ids import is_made
from callblocks.parsing.parsed import Parsed
from callblocks.parsing.readback import joined

__all__ = ("Conversion", "Unsaid", "conversion")

_Write: TypeAlias = Callable[[Sequence[Item]], tuple[str | None, str]]


class Unsaid(msgspec.Struct, frozen=True):
    """Something that the target cannot say, in words, and where it stands in the source.

    `kind` is what became of it: a `call` stands in the new text as it was written, and so does
    what was `broken` before; a `thought` is left out; an `id` is gone, its call is there; for a
    `text` as a whole there is no new one.
    """

    what: str
    span: Span
    kind: Literal["call", "broken", "thought", "id", "text"] = "call"

    @property
    def is_fault(self) -> bool:
        """Whether the new text does not say what the old one did."""
        return self.kind in ("call", "thought", "text")


class Conversion(msgspec.Struct, frozen=True):
    """The text in the other dialect, None where it has no way to say it; and all that is unsaid."""

    text: str | None
    unsaid: tuple[Unsaid, ...] = ()


class _Part(msgspec.Struct):
    """Prose, a thought, a call with the results in its block, or a result apart from its `call`.

    `span` is the text that it came from.
    """

    items: list[Item]
    span: Span
    call: Call | None = None


def conversion(
    parsed: Parsed,
    source: str,
    target: Dialect,
    tools: ToolSpecs = (),
    reasoning: Sequence[tuple[str, str]] = (),
) -> Conversion:
    """Write in one dialect what was read of a text in another.

    `reasoning` are markers for thoughts, for a target that has none of its own.
    """
    known = tuple(specs_by_name(tools).values())

    def write(items: Sequence[Item]) -> tuple[str | None, str]:
        """The items as text, or what of them cannot be said.

        Blanks between two calls only part them: a target that parts its calls may drop them.
        """
        faults: list[str] = []
        for row in (items, _without_gaps(items)):
            try:
                return target.write(row, known, reasoning=reasoning), ""
            except Unwritable as error:
                faults.append(error.what)
        return None, faults[0]

    parts, unsaid = _parts(parsed), _kept_as_text(parsed)
    unsaid += _leave_out_thoughts(parts, lambda part: write(part.items)[1])
    text, what = write(_items(parts))
    if text is None:
        unsaid += _keep_unsayable(parts, source, write)
        text, what = write(_items(parts))
    if text is None:
        # A thought may be at fault by its place alone.
        unsaid += _leave_out_thoughts(parts, lambda _: what)
        text, what = write(_items(parts))
    if text is None:
        # No call alone is at fault: prose that would be read as one, or an order.
        unsaid.append(Unsaid(what, (0, len(source)), "text"))
    else:
        unsaid += _ids(target.parsed(text, known, reasoning), parts)
        unsaid.sort(key=lambda one: one.span)
    return Conversion(text, tuple(unsaid))


def _parts(parsed: Parsed) -> list[_Part]:
    parts: list[_Part] = []
    calls: dict[int, _Part] = {}
    for event in parsed.events:
        match event:
            case Text() | Malformed():
                parts.append(_Part([event.text], event.span))
            case Reasoning():
                parts.append(_Part([Thought(event.text)], event.span))
            case CallReady(index=index, call=call):
                calls[index] = _Part([call], call.span, call)
                parts.append(calls[index])
            case CallResult(index=index, result=result, span=span):
                part = calls[index]
                if span[0] == part.span[1]:
                    part.items.append(result)
                    part.span = (part.span[0], span[1])
                else:
                    parts.append(_Part([result], span, part.call))
            case _:
                pass
    return parts


def _items(parts: Iterable[_Part]) -> list[Item]:
    return [item for part in parts for item in part.items]


def _leave_out_thoughts(parts: Sequence[_Part], fault: Callable[[_Part], str]) -> list[Unsaid]:
    """Take out the thoughts that have a fault, and list them."""
    left_out: list[Unsaid] = []
    for part in parts:
        if any(isinstance(item, Thought) and item for item in part.items) and (what := fault(part)):
            left_out.append(Unsaid(what, part.span, "thought"))
            part.items = []
    return left_out


def _keep_unsayable(parts: Sequence[_Part], source: str, write: _Write) -> list[Unsaid]:
    """Put the source's text where the target has no words, and list these places."""
    faults: list[Unsaid] = []
    gone: set[str] = set()
    for part in parts:
        if part.call is None:
            continue
        apart = [] if part.call in part.items else [part.call]
        _, what = write([*apart, *part.items])
        if part.call.id in gone:
            what = f"the result of {part.call.id!r}, whose call it cannot write"
        if what:
            gone |= set() if apart else {part.call.id}
            faults.append(Unsaid(what, part.span))
            part.items = [source[slice(*part.span)]]
    return faults


def _without_gaps(items: Sequence[Item]) -> list[Item]:
    row = joined(items)
    return [item for at, item in enumerate(row) if not (0 < at < len(row) - 1 and _is_gap(item))]


def _is_gap(item: Item) -> bool:
    return isinstance(item, str) and not isinstance(item, Thought) and item.isspace()


def _kept_as_text(parsed: Parsed) -> list[Unsaid]:
    """What was no call in the source either."""
    broken = (event for event in parsed.events if isinstance(event, Malformed))
    return [Unsaid(event.code, event.span, "broken") for event in broken]


def _ids(read: Parsed, parts: Sequence[_Part]) -> list[Unsaid]:
    """The ids that someone wrote, where other ones, or none, are read in the new text."""
    calls = [item for part in parts for item in part.items if isinstance(item, Call)]
    lost = (call for call, new in zip(calls, read.calls, strict=True) if call.id != new.id)
    return [Unsaid(f"the id {call.id!r}", call.span, "id") for call in lost if not is_made(call.id)]
