"""Checking an input against a tool's schema, with messages that a model can act on.

    to: required, missing
    limit: must be an integer, got "ten"
    colour: not a field of this tool; its fields are to, limit; did you mean `color`?

Two passes. An input that fits is taken as it is. Otherwise it is repaired where its meaning is
unambiguous (`lenient`) and checked again; what still does not fit are its faults. The order
matters: repairing first would change inputs that are valid. Nothing that a model can write raises.
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

# The most faults that are listed; after them stands the number of the rest.
MAX_FAULTS = 20

_COUNTED = 200
_NO_FAULTS: Iterator[FieldFault] = iter(())

# A judge takes an input, and the same input as JSON. It returns the faults; or the values for the
# function, and the input that denotes these values, which is the given one unless a type changed
# it.
Judge: TypeAlias = Callable[
    [dict[str, Any], bytes], "tuple[dict[str, Any], dict[str, Any]] | Iterator[FieldFault]"
]


def check_input(given: dict[str, Any], schema: Schema, judge: Judge) -> Checked:
    """Check an input with this judge, and convert it."""
    # Encoded once: the size limits and the judge work on the same bytes, and an input that cannot
    # be encoded never reaches the judge.
    text = written(given)
    judged = _NO_FAULTS if text is None else judge(given, text)
    if isinstance(judged, tuple):
        values, taken = judged
        return Checked(values, input=None if taken is given else taken)
    # Values that are not JSON are reported before the repair, which assumes JSON.
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
    """Return one line per fault: `field: problem`."""
    return "\n".join(f"{one.field}: {one.problem}" if one.field else one.problem for one in faults)


def _listed(faults: Iterator[FieldFault]) -> tuple[FieldFault, ...]:
    """Return the first faults, and the number of the rest; never empty."""
    known = tuple(dict.fromkeys(islice(faults, _COUNTED)))
    more = len(known) - MAX_FAULTS
    if more > 0:
        least = "at least " if next(faults, None) else ""
        return (*known[:MAX_FAULTS], FieldFault("", f"and {least}{more} more"))
    return known or (FieldFault("", "cannot be written as JSON"),)
