"""Conversion of a parsed text to another dialect; whatever that cannot represent is listed.

    conversion(parse(text), text, dialects["scissors-cat"]).unsaid
    →  (Unsaid(what="results: it has no form for that of 'c1'", span=(0, 60)),)

A call and its results are converted together: if one of them cannot be written, all of them stay in
the text as they were. Reasoning is written between the target's own markers; if that is impossible
it is left out, because as prose it would become visible to users. An id that the target cannot
write is listed too.

Strategy: write everything; on failure, replace the calls that cannot be written alone by their
source; on failure, drop the thoughts; on failure, give up. Each attempt is verified by reading it
back (`Dialect.write`), so a conversion is never silently wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from callblocks.core.calls import Call, Item, Span, Thought
from callblocks.core.errors import Unwritable
from callblocks.core.events import CallReady, CallResult, Malformed, Reasoning, Text
from callblocks.core.specs import ToolSpecs, specs_by_name
from callblocks.parsing.dialect import Dialect, Parsed, joined
from callblocks.parsing.engine.ids import is_made

__all__ = ("Conversion", "Unsaid", "conversion")

_Write: TypeAlias = Callable[[Sequence[Item]], tuple[str | None, str]]


class Unsaid(msgspec.Struct, frozen=True):
    """Something that the target cannot represent, in words, and its span in the source.

    `kind` is the consequence: a `call` stays in the new text as it was written, and so does text
    that was `broken` before; a `thought` is left out; an `id` is lost, its call is not; for `text`
    there is no new text at all.
    """

    what: str
    span: Span
    kind: Literal["call", "broken", "thought", "id", "text"] = "call"

    @property
    def is_fault(self) -> bool:
        """True if the new text does not mean the same as the old one."""
        return self.kind in ("call", "thought", "text")


class Conversion(msgspec.Struct, frozen=True):
    """The text in the other dialect, None if it cannot be written, and a list of what is lost."""

    text: str | None
    unsaid: tuple[Unsaid, ...] = ()


class _Part(msgspec.Struct):
    """Prose, a thought, a call with the results in its block, or a result apart from its `call`.

    `span` is its place in the source.
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
    """Write a parsed text in another dialect.

    `reasoning` are markers for thoughts, for a target that has none of its own.
    """
    known = tuple(specs_by_name(tools).values())

    def write(items: Sequence[Item]) -> tuple[str | None, str]:
        """Return the items as text, or None and the reason why they cannot be written.

        Blanks between two calls are only separators: they may be dropped for a target that writes
        separators of its own.
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
        # A thought that can be written alone may be impossible in its place.
        unsaid += _leave_out_thoughts(parts, lambda _: what)
        text, what = write(_items(parts))
    if text is None:
        # Each call can be written alone, so the fault is elsewhere: prose that would be read as a
        # call, or the order of prose and calls.
        unsaid.append(Unsaid(what, (0, len(source)), "text"))
    else:
        unsaid += _ids(parts, lambda: target.parsed(text, known, reasoning))
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
    """Remove the thoughts that have a fault, and return them."""
    left_out: list[Unsaid] = []
    for part in parts:
        if any(isinstance(item, Thought) and item for item in part.items) and (what := fault(part)):
            left_out.append(Unsaid(what, part.span, "thought"))
            part.items = []
    return left_out


def _keep_unsayable(parts: Sequence[_Part], source: str, write: _Write) -> list[Unsaid]:
    """Replace calls that the target cannot write by their source text, and return them."""
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
    """Return the blocks that were malformed in the source already."""
    broken = (event for event in parsed.events if isinstance(event, Malformed))
    return [Unsaid(event.code, event.span, "broken") for event in broken]


def _ids(parts: Sequence[_Part], read: Callable[[], Parsed]) -> list[Unsaid]:
    """Return the written ids that the new text, as `read` gives it, does not have."""
    calls = [item for part in parts for item in part.items if isinstance(item, Call)]
    # Most texts have no ids: they are not read once more to find out.
    if all(is_made(call.id) for call in calls):
        return []
    lost = (call for call, new in zip(calls, read().calls, strict=True) if call.id != new.id)
    return [Unsaid(f"the id {call.id!r}", call.span, "id") for call in lost if not is_made(call.id)]
