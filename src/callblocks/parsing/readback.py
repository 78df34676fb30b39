"""Does a text that was written say what it should? What differs is named for the caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from callblocks.model.brief import brief
from callblocks.model.calls import Call, Item, Result
from callblocks.model.errors import CallerError
from callblocks.model.events import CallReady, Text
from callblocks.parsing.parsed import Parsed
from callblocks.parsing.same import same

__all__ = ("difference", "joined")


def joined(items: Iterable[Item]) -> list[Item]:
    """Join neighbouring prose, drop empty prose, and refuse what is no item."""
    out: list[Item] = []
    for is_prose, group in groupby(items, key=lambda item: isinstance(item, str)):
        members = list(group)
        for member in members:
            if not isinstance(member, str | Call | Result):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
                raise CallerError(f"an item is a str, a Call or a Result, not {brief(member)}")
        if is_prose:
            prose = "".join(map(str, members))
            out += [prose] if prose else []
        else:
            out += members
    return out


def difference(wanted: Sequence[Item], read: Parsed, *, by_id: bool, in_order: bool) -> str:
    """Name the first thing that reading does not give back, or `""` if all is there.

    Without `by_id` a result belongs to the call at the same place, whatever their ids.
    Without `in_order` it does not matter between which calls prose stands.
    """
    calls = [item for item in wanted if isinstance(item, Call)]
    results = [item for item in wanted if isinstance(item, Result)]
    return (
        _calls_differ(calls, read.calls, by_id)
        or _results_differ(results, calls, read, by_id)
        or _prose_differs(wanted, read, in_order)
    )


def _calls_differ(calls: Sequence[Call], given: Sequence[Call], by_id: bool) -> str:
    for call, other in zip(calls, given, strict=False):
        if call.ended != other.ended:
            return f"the call {call.id!r} of {call.name!r}, which did not end"
        if not same(_essence(call, by_id), _essence(other, by_id)):
            return f"the call {call.id!r} of {call.name!r}: it would be read as {_brief(other)}"
    if len(given) > len(calls):
        return f"prose that reads as a call: {_brief(given[len(calls)])}"
    if len(given) < len(calls):
        missing = calls[len(given)]
        return f"the call {missing.id!r} of {missing.name!r}: it would not be read as a call"
    return ""


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
    given = [
        event.text if isinstance(event, Text) else event.call
        for event in read.events
        if isinstance(event, Text | CallReady)
    ]
    for prose, other in zip(_prose(wanted, in_order), _prose(given, in_order), strict=True):
        if prose != other:
            return f"the prose {prose!r:.80}: it would be read as {other!r:.80}"
    return ""


def _prose(items: Sequence[Item], in_order: bool) -> list[str]:
    """The prose before, between and after the calls, or all of it."""
    stretches = [""]
    for item in items:
        if isinstance(item, str):
            stretches[-1] += item
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
    """Each result by the place of its call; in a text they stand in the calls' order."""
    places = {call.id: place for place, call in enumerate(calls)}
    outcomes = [
        [places.get(result.id, -1), result.output, result.error, result.id if by_id else ""]
        for result in results
    ]
    return sorted(outcomes, key=lambda outcome: outcome[0])


def _brief(call: Call) -> str:
    return f"{call.name}({brief(call.input)})"
