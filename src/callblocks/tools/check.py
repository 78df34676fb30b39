"""Checking an input against a tool's schema, in words that a model can act on.

    to: required, missing
    limit: must be an integer, got "ten"
    colour: not a field of this tool; its fields are to, limit; did you mean `color`?

An input is taken as it is if it fits; if not, it is read as it can only be meant (`lenient`), and
what then does not fit are its faults. Nothing that a model can write raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from callblocks.tools.lenient import lenient
from callblocks.tools.places import Schema
from callblocks.tools.plain import odd_values, written
from callblocks.tools.tool import Checked, FieldFault

__all__ = ("MAX_FAULTS", "Judge", "check_input", "faults_text")

MAX_FAULTS = 20
"""So many are listed, and then how many more there are."""

_COUNTED = 200
_NO_FAULTS: Iterator[FieldFault] = iter(())

Judge: TypeAlias = Callable[
    [dict[str, Any], bytes], "tuple[dict[str, Any], dict[str, Any]] | Iterator[FieldFault]"
]
"""Takes an input, also as JSON: gives its faults; or its values as the function takes them, and
the input that says these values, which is the given one unless a type changed it."""


def check_input(given: dict[str, Any], schema: Schema, judge: Judge) -> Checked:
    """Check an input and type it, by whoever judges it."""
    text = written(given)
    judged = _NO_FAULTS if text is None else judge(given, text)
    if isinstance(judged, tuple):
        values, taken = judged
        return Checked(values, input=None if taken is given else taken)
    odd = list(islice(odd_values(given), _COUNTED))
    if odd:
        return Checked(faults=_listed(iter(odd)))
    meant = lenient(given, schema)
    text = written(meant)
    judged = _NO_FAULTS if text is None else judge(meant, text)
    if isinstance(judged, tuple):
        values, taken = judged
        return Checked(values, input=taken)
    return Checked(faults=_listed(judged))


def faults_text(faults: Iterable[FieldFault]) -> str:
    """A line per fault: `field: problem`."""
    return "\n".join(f"{one.field}: {one.problem}" if one.field else one.problem for one in faults)


def _listed(faults: Iterator[FieldFault]) -> tuple[FieldFault, ...]:
    """The first faults, and how many more there are; never none."""
    known = tuple(dict.fromkeys(islice(faults, _COUNTED)))
    more = len(known) - MAX_FAULTS
    if more > 0:
        least = "at least " if next(faults, None) else ""
        return (*known[:MAX_FAULTS], FieldFault("", f"and {least}{more} more"))
    return known or (FieldFault("", "cannot be written as JSON"),)
