"""A text that was read, in another dialect; what that cannot say is listed, and kept as it was.

    conversion(parse(text), text, dialects["scissors-cat"]).unsaid
    →  (Unsaid(what="results: it has no form for that of 'c1'", span=(0, 60)),)

A call is one with its results: where one of them cannot be said, all of them stay in the text as
they were written. An id that the target has no place for is listed too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from callblocks.model.calls import Call, Item, Span
from callblocks.model.errors import Unwritable
from callblocks.model.events import CallReady, CallResult, Malformed, Reasoning, Text
from callblocks.model.specs import ToolSpec, ToolSpecs, specs_by_name
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.ids import is_made
from callblocks.parsing.parsed import Parsed
from callblocks.parsing.readback import joined

__all__ = ("Conversion", "Unsaid", "conversion")


class Unsaid(msgspec.Struct, frozen=True):
    """Something that the target cannot say, in words, and where it stands in the source.

    `kind` is what became of it: a `call` stands in the new text as it was written, and so does
    what was `broken` before; an `id` is gone, its call is there; for a `text` as a whole there is
    no new one.
    """

    what: str
    span: Span
    kind: Literal["call", "broken", "id", "text"] = "call"


class Conversion(msgspec.Struct, frozen=True):
    """The text in the other dialect, None where it has no way to say it; and all that is unsaid."""

    text: str | None
    unsaid: tuple[Unsaid, ...] = ()


class _Part(msgspec.Struct):
    """Prose, or a call with the results in its block, or a result that stands apart from `call`.

    `span` is the text that it came from.
    """

    items: list[Item]
    span: Span
    call: Call | None = None


def conversion(parsed: Parsed, source: str, target: Dialect, tools: ToolSpecs = ()) -> Conversion:
    """Write in one dialect what was read of a text in another."""
    known = tuple(specs_by_name(tools).values())
    parts, notes = _parts(parsed), _kept_as_text(parsed)
    text, what = _written(target, _items(parts), known)
    faults: list[Unsaid] = []
    if text is None and (faults := _keep_unsayable(parts, source, target, known)):
        text, what = _written(target, _items(parts), known)
    if text is None:
        # No call alone is at fault: prose that would be read as one, or an order.
        return Conversion(None, (*notes, *faults, Unsaid(what, (0, len(source)), "text")))
    unsaid = (*notes, *faults, *_ids(target.parsed(text, known), parts))
    return Conversion(text, tuple(sorted(unsaid, key=lambda one: one.span)))


def _parts(parsed: Parsed) -> list[_Part]:
    parts: list[_Part] = []
    calls: dict[int, _Part] = {}
    for event in parsed.events:
        match event:
            case Text() | Reasoning() | Malformed():
                parts.append(_Part([event.text], event.span))
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


def _keep_unsayable(
    parts: Sequence[_Part], source: str, target: Dialect, tools: Sequence[ToolSpec]
) -> list[Unsaid]:
    """Put the source's text where the target has no words, and list these places."""
    faults: list[Unsaid] = []
    gone: set[str] = set()
    for part in parts:
        if part.call is None:
            continue
        apart = [] if part.call in part.items else [part.call]
        _, what = _written(target, [*apart, *part.items], tools)
        if part.call.id in gone:
            what = f"the result of {part.call.id!r}, whose call it cannot write"
        if what:
            gone |= set() if apart else {part.call.id}
            faults.append(Unsaid(what, part.span))
            part.items = [source[slice(*part.span)]]
    return faults


def _written(
    target: Dialect, items: Sequence[Item], tools: Sequence[ToolSpec]
) -> tuple[str | None, str]:
    """The text of these items, or None and what of them cannot be said.

    Blanks between two calls only part them: a target that parts its calls itself may drop them.
    """
    faults: list[str] = []
    for row in (items, _without_gaps(items)):
        try:
            return target.write(row, tools), ""
        except Unwritable as error:
            faults.append(error.what)
    return None, faults[0]


def _without_gaps(items: Sequence[Item]) -> list[Item]:
    row = joined(items)
    gaps = {at for at, item in enumerate(row[:-1]) if at and isinstance(item, str)}
    return [item for at, item in enumerate(row) if at not in gaps or not str(item).isspace()]


def _kept_as_text(parsed: Parsed) -> list[Unsaid]:
    """What was no call in the source either."""
    broken = (event for event in parsed.events if isinstance(event, Malformed))
    return [Unsaid(event.code, event.span, "broken") for event in broken]


def _ids(read: Parsed, parts: Sequence[_Part]) -> list[Unsaid]:
    """The ids that someone wrote, where other ones, or none, are read in the new text."""
    calls = [item for part in parts for item in part.items if isinstance(item, Call)]
    lost = (call for call, new in zip(calls, read.calls, strict=True) if call.id != new.id)
    return [Unsaid(f"the id {call.id!r}", call.span, "id") for call in lost if not is_made(call.id)]
