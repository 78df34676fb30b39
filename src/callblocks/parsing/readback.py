"""Comparison of written items with the parsed text, to verify a write (law: write, then read)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from callblocks.model.brief import brief
from callblocks.model.calls import Call, Item, Result, Thought
from callblocks.model.errors import CallerError
from callblocks.model.events import CallReady, Event, Reasoning, Text
from callblocks.parsing.parsed import Parsed
from callblocks.parsing.same import same

__all__ = ("difference", "joined")


def joined(items: Iterable[Item]) -> list[Item]:
    """Join adjacent prose and thoughts, drop empty ones, and raise for a value that is no item."""
    out: list[Item] = []
    for kind, group in groupby(items, key=_kind):
        members = list(group)
        for member in members:
            if not isinstance(member, str | Call | Result):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
                raise CallerError(f"an item is a str, a Call or a Result, not {brief(member)}")
        if kind is None:
            out += members
        elif text := "".join(map(str, members)):
            out.append(kind(text))
    return out


def _kind(item: Item) -> type[str] | None:
    """Return the class by which prose and thoughts are joined; None for other items."""
    if isinstance(item, Thought):
        return Thought
    return str if isinstance(item, str) else None


def difference(
    wanted: Sequence[Item], read: Parsed, *, by_id: bool, in_order: bool, untyped: bool = False
) -> str:
    """Describe the first item that does not read back, or return `""` if all do.

    Without `by_id` a result belongs to the call at the same place, whatever their ids. Without
    `in_order` it does not matter between which calls prose stands. `untyped`: values are read as
    text because no declared tool gives them a type.
    """
    # Calls, results and prose are compared apart, in that order: a lost call also changes the
    # prose, and "it would not be read as a call" is the better message.
    calls = [item for item in wanted if isinstance(item, Call)]
    results = [item for item in wanted if isinstance(item, Result)]
    return (
        _calls_differ(calls, read.calls, by_id, untyped)
        or _results_differ(results, calls, read, by_id)
        or _prose_differs(wanted, read, in_order)
    )


def _calls_differ(calls: Sequence[Call], given: Sequence[Call], by_id: bool, untyped: bool) -> str:
    for call, other in zip(calls, given, strict=False):
        if call.ended != other.ended:
            return f"the call {call.id!r} of {call.name!r}, which did not end"
        if not same(_essence(call, by_id), _essence(other, by_id)):
            return f"the call {call.id!r} of {call.name!r}: {_change(call, other, untyped)}"
    if len(given) > len(calls):
        return f"prose that reads as a call: {_brief(given[len(calls)])}"
    if len(given) < len(calls):
        missing = calls[len(given)]
        return f"the call {missing.id!r} of {missing.name!r}: it would not be read as a call"
    return ""


def _change(call: Call, other: Call, untyped: bool) -> str:
    """Describe how a call would be read instead."""
    if call.name != other.name or not same(call.input, other.input):
        hint = "; `tools` would give values their types" if untyped else ""
        return f"it would be read as {_brief(other)}{hint}"
    lost = [
        key
        for key in call.extra
        if key not in other.extra or not same(call.extra[key], other.extra[key])
    ]
    if lost:
        return f"it would be read without its {', '.join(map(repr, lost))}"
    new = [repr(key) for key in other.extra if key not in call.extra]
    return f"it would be read with {', '.join(new)}" if new else f"its id would be {other.id!r}"


def _results_differ(
    results: Sequence[Result], calls: Sequence[Call], read: Parsed, by_id: bool
) -> str:
    known = {call.id for call in calls}
    for result in results:
        if result.id not in known:
            return f"the result of {result.id!r}, whose call is not here"
    wanted = _outcomes(results, calls, by_id)
    given = _outcomes(read.results, read.calls, by_id)
    if same(wanted, given):
        return ""
    return f"these results: {brief(wanted, 200)} would be read as {brief(given, 200)}"


def _prose_differs(wanted: Sequence[Item], read: Parsed, in_order: bool) -> str:
    given = [item for event in read.events if (item := _item(event)) is not None]
    for kind, word in ((str, "prose"), (Thought, "thought")):
        pairs = zip(_said(wanted, kind, in_order), _said(given, kind, in_order), strict=True)
        for said, other in pairs:
            if said != other:
                return f"the {word} {said!r:.80}: it would be read as {other!r:.80}"
    return ""


def _item(event: Event) -> Item | None:
    """Return the item of an event; None for results and malformed text."""
    match event:
        case Text(text=text):
            return text
        case Reasoning(text=text):
            return Thought(text)
        case CallReady(call=call):
            return call
        case _:
            return None


def _said(items: Sequence[Item], kind: type[str], in_order: bool) -> list[str]:
    """Return the prose (or the thoughts) before, between and behind the calls, or all as one."""
    stretches = [""]
    for item in items:
        if _kind(item) is kind:
            stretches[-1] += str(item)
        elif isinstance(item, Call) and in_order:
            stretches.append("")
    return stretches


def _essence(call: Call, by_id: bool) -> dict[str, Any]:
    essence = {
        "name": call.name,
        "input": call.input,
        "extra": call.extra,
    }
    return essence | {"id": call.id} if by_id else essence


def _outcomes(results: Sequence[Result], calls: Sequence[Call], by_id: bool) -> list[list[Any]]:
    """Return the results in the order of their calls, each with the place of its call."""
    places = {call.id: place for place, call in enumerate(calls)}
    outcomes = [
        [places.get(result.id, -1), result.output, result.error, result.id if by_id else ""]
        for result in results
    ]
    return sorted(outcomes, key=lambda outcome: outcome[0])


def _brief(call: Call) -> str:
    return f"{call.name}({brief(call.input)})"
