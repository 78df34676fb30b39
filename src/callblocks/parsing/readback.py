"""Does a text that was written say what it should? What differs is named for the caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from callblocks.model.calls import Call, Item, Result
from callblocks.model.errors import CallerError
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
                raise CallerError(f"an item is a str, a Call or a Result, not {member!r:.80}")
        if is_prose:
            prose = "".join(map(str, members))
            out += [prose] if prose else []
        else:
            out += members
    return out


def difference(wanted: Sequence[Item], read: Parsed, *, by_id: bool) -> str:
    """Name the first thing that reading does not give back, or `""` if all is there.

    Without `by_id` a result belongs to the call at the same place, whatever their ids.
    """
    calls = [item for item in wanted if isinstance(item, Call)]
    for call, other in zip(calls, read.calls, strict=False):
        if not same(_essence(call, by_id), _essence(other, by_id)):
            return f"the call {call.id!r} of {call.name!r}: it would be read as {_brief(other)}"
    if len(read.calls) > len(calls):
        return f"prose that reads as a call: {_brief(read.calls[len(calls)])}"
    if len(read.calls) < len(calls):
        missing = calls[len(read.calls)]
        return f"the call {missing.id!r} of {missing.name!r}: it would not be read as a call"
    results = _outcomes([item for item in wanted if isinstance(item, Result)], calls, by_id)
    given = _outcomes(read.results, read.calls, by_id)
    if not same(results, given):
        return f"these results: {results!r:.200} would be read as {given!r:.200}"
    prose = "".join(item for item in wanted if isinstance(item, str))
    return "" if prose == read.text else f"the prose {prose!r:.80}: it would be read differently"


def _essence(call: Call, by_id: bool) -> dict[str, Any]:
    essence = {"name": call.name, "input": call.input, "extra": call.extra}
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
    return f"{call.name}({call.input!r:.80})"
