"""Messages about a wrong field, shared by both checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

from callblocks.model.shown import to_compact_text
from callblocks.tools.names import close_to, listed
from callblocks.tools.places import Schema, schemas_at
from callblocks.tools.tool import FieldFault
from callblocks.tools.words import path_text, said

__all__ = ("Place", "has_part", "missing", "must_be", "unexpected", "value_at")

Place: TypeAlias = Sequence[str | int]

# The most characters of an example that is shown whole.
_EXAMPLE = 200


def missing(place: Place, root: Schema) -> FieldFault:
    """Describe a required field that is missing, with the first of its `examples`, if any."""
    examples = [one for held in schemas_at(root, place) for one in held.get("examples", ())]
    hint = f"; such as {_shown(examples[0])}" if examples else ""
    return FieldFault(path_text(place), f"required, missing{hint}")


def _shown(example: object) -> str:
    """Return an example as it is to be written."""
    shown = to_compact_text(example)
    whole = shown[:1] in ("[", "{") and len(shown) <= _EXAMPLE
    return shown if whole else said(example, ())


def unexpected(place: Place, root: Schema) -> FieldFault:
    """Describe an unknown field, with the known ones and the one that was probably meant."""
    name = str(place[-1])
    fields = _fields(root, place[:-1])
    owner = "this tool" if len(place) == 1 else path_text(place[:-1])
    if not fields:
        return FieldFault(path_text(place), f"not a field of {owner}; it has no fields")
    # The known fields are listed in any case; the nearest one is a hint, never a silent repair.
    near = close_to(name, fields)
    hint = f"; did you mean `{near}`?" if near else ""
    problem = f"not a field of {owner}; its fields are {listed(fields)}{hint}"
    return FieldFault(path_text(place), problem)


def must_be(place: Place, what: str, value: object) -> FieldFault:
    """Describe a value of the wrong type: `must be an integer, got "ten"`."""
    is_row = what == "a list" and isinstance(place[-1] if place else None, int)
    rows = "; rows are lists: [[…]]" if is_row else ""
    return FieldFault(path_text(place), f"must be {what}, got {said(value, place)}{rows}")


def has_part(given: object, part: str | int) -> bool:
    """Return whether an object has such a field, or a list such an item."""
    if isinstance(given, list):
        return isinstance(part, int) and part < len(cast("list[Any]", given))
    return isinstance(given, dict) and part in given


def value_at(given: object, place: Place) -> object:
    """Return the value at a place of an input; `None` where there is none."""
    for part in place:
        given = cast("Any", given)[part] if has_part(given, part) else None
    return given


def _fields(root: Schema, place: Place) -> list[str]:
    named: Iterable[object] = (one.get("properties") for one in schemas_at(root, place))
    known = [cast("dict[str, Any]", one) for one in named if isinstance(one, dict)]
    return list(dict.fromkeys(name for one in known for name in one))
