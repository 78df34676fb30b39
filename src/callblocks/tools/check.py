"""Checking an input against a tool's schema, with messages that a model can act on.

    to: required, missing
    limit: must be an integer, got "ten"
    colour: not a field of this tool; its fields are to, limit; did you mean `color`?

Two passes. An input that fits is taken as it is. Otherwise it is repaired where its meaning is
unambiguous (`lenient`) and checked again; what still does not fit are its faults. The order
matters: repairing first would change inputs that are valid. Nothing that a model can write raises.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias, cast

from callblocks.tools.fault_text import odd_values, written
from callblocks.tools.schema import Schema, branches, first_items, schemas_of_part
from callblocks.tools.tool import Checked, FieldFault

__all__ = (
    "MAX_FAULTS",
    "Judge",
    "check_input",
    "faults_text",
    "lenient",
)

# --- Repair of values that do not fit their schema, where only one meaning is possible ---
#
#     schema             given              taken
#     integer            "3"  3.0  "3.0"    3
#     number             "2.5"              2.5
#     boolean            "true"  "False"    true, false
#     string             2026               "2026"; not where a date or a time is meant
#     enum GET, POST     "get"              "GET"
#     list of strings    "INBOX"            ["INBOX"]; not "INBOX, SENT", and no row of a table
#     list               "[[1, 2]]"         [[1, 2]]
#     object             "{\"a\": 1}"       {"a": 1}
#     string             "3"  true  null    as given: text stays text
#     integer            true  "three"      as given, and a fault
#
# Nothing else is changed, and only in an input that does not fit as it is. A repaired input is
# shown to the person and judged by the policy as repaired, so that both see what runs.

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?")
# Python refuses to parse longer integers.
_MAX_DIGITS = 4000
# A bare number in such a field may be seconds, days or a year.
_OF_TIME = {"date", "date-time", "time", "duration"}
# Texts that are several strings in one, a broken list, or no value at all.
_NOT_ONE = re.compile(r"(?s).*[,;\n].*|\s*[\[{].*|\s*|\s*(?i:null|none)\s*")
_OF_JSON = {"array": list, "object": dict}


def lenient(given: dict[str, Any], root: Schema) -> dict[str, Any]:
    """Return the input with each value as its schema means it, where that is beyond doubt."""
    return _softened(given, branches((root,), root), root)


def _softened(
    value: Any, schemas: tuple[Schema, ...], root: Schema, *, is_item: bool = False
) -> Any:
    if isinstance(value, str):
        value = _from_text(value, schemas, root, is_item=is_item)
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value).items()
        return {
            key: _softened(part, schemas_of_part(schemas, key, root), root) for key, part in parts
        }
    if isinstance(value, list):
        return list(_items(cast("list[Any]", value), schemas, root))
    return _number(value, schemas)


def _items(items: list[Any], schemas: tuple[Schema, ...], root: Schema) -> Iterator[Any]:
    """Yield the items: the first may have schemas of their own, all others share one."""
    own = max((len(first_items(one)) for one in schemas), default=0)
    for at, item in enumerate(items[:own]):
        yield _softened(item, schemas_of_part(schemas, at, root), root, is_item=True)
    shared = schemas_of_part(schemas, own, root)
    for item in items[own:]:
        yield _softened(item, shared, root, is_item=True)


def _types(schemas: Iterable[Schema]) -> set[str]:
    given = [one["type"] for one in schemas if "type" in one]
    return {
        name
        for types in given
        for name in (cast("list[Any]", types) if isinstance(types, list) else [types])
        if isinstance(name, str)
    }


def _number(value: Any, schemas: tuple[Schema, ...]) -> Any:
    """Return the number that was meant by an integer or a text."""
    # A place may be a union. Where text is one of its types, text stays text, whatever else would
    # fit.
    types = _types(schemas)
    if isinstance(value, float) and "integer" in types and "number" not in types:
        return int(value) if value.is_integer() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    is_text = "string" in types and not types & {"integer", "number"}
    of_time = any(one.get("format") in _OF_TIME for one in schemas)
    return json.dumps(value) if is_text and not of_time else value


def _from_text(value: str, schemas: tuple[Schema, ...], root: Schema, *, is_item: bool) -> Any:
    types = _types(schemas)
    if "string" in types:
        return _choice(value, schemas)
    wanted = tuple(kind for name, kind in _OF_JSON.items() if name in types)
    # Models often write a nested object as a JSON string; the schema asks for no string here, so
    # nothing else can be meant.
    if wanted and isinstance(read := _read_json(value), wanted):
        return cast("Any", read)
    found = _read(value, types) if len(value) <= _MAX_DIGITS else value
    # In a list of lists it is ambiguous whether strings form one row or a row each.
    if found is value and "array" in types and not is_item and _takes_one(value, schemas, root):
        return [value]
    return found


def _takes_one(value: str, schemas: tuple[Schema, ...], root: Schema) -> bool:
    """Return whether a text is one string of a list of strings."""
    if _NOT_ONE.fullmatch(value) or any(map(first_items, schemas)):
        return False
    return "string" in _types(schemas_of_part(schemas, 0, root))


def _choice(value: str, schemas: Iterable[Schema]) -> str:
    """Return the choice that equals this text but for its case, where only choices are accepted."""
    taken = [one for one in schemas if "string" in _types((one,))]
    if any(not isinstance(one.get("enum"), list) for one in taken):
        return value
    known = {choice for one in taken for choice in one["enum"] if isinstance(choice, str)}
    near = [choice for choice in known if choice.casefold() == value.casefold()]
    return near[0] if value not in known and len(near) == 1 else value


def _read(value: str, types: set[str]) -> Any:
    text = value.strip()
    if types & {"integer", "number"} and (whole := _WHOLE.fullmatch(text)):
        return int(whole[1])
    if "number" in types and _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    if "boolean" in types:
        return {"true": True, "false": False}.get(text.lower(), value)
    return value


def _read_json(text: str) -> object:
    """Return a list or an object; `None` for any other text, and for ambiguous JSON."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        read = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None
    return read if next(odd_values(read), None) is None else None


# Two equal keys: readers differ on which one counts, so such JSON is not repaired.
def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise ValueError("a key stands twice")
    return read


# --- Checking an input against a tool's schema, with messages that a model can act on ---

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
