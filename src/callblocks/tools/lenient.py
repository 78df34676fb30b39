"""Text where a schema means a number or a truth value: dialects give text, and models quote.

    schema        given            taken
    integer       "3"  3.0  "3.0"  3
    number        "2.5"            2.5
    boolean       "true"  "False"  true, false
    string        "3"              "3": text stays text
    integer       true  "three"    as given, and a fault

Nothing else is changed, and only in an input that does not fit as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from callblocks.tools.places import Schema, branches, first_items, schemas_of_part

__all__ = ("lenient",)

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?")
# Python refuses to read longer integers.
_MAX_DIGITS = 4000


def lenient(given: dict[str, Any], root: Schema) -> dict[str, Any]:
    """The input with quoted numbers and truth values as its schema means them."""
    if not _may_soften(given):
        return given
    return _softened(given, branches((root,), root), root)


def _may_soften(value: object) -> bool:
    """Whether a schema could mean anything in it differently: in most inputs there is nothing."""
    if isinstance(value, str):
        text = value.strip() if len(value) <= _MAX_DIGITS else ""
        return _NUMBER.fullmatch(text) is not None or text.lower() in ("true", "false")
    if isinstance(value, dict):
        return any(map(_may_soften, cast("dict[str, Any]", value).values()))
    if isinstance(value, list):
        return any(map(_may_soften, cast("list[Any]", value)))
    return isinstance(value, float)


def _softened(value: Any, schemas: tuple[Schema, ...], root: Schema) -> Any:
    if isinstance(value, dict) and schemas:
        parts = cast("dict[str, Any]", value).items()
        return {
            key: _softened(part, schemas_of_part(schemas, key, root), root) for key, part in parts
        }
    if isinstance(value, list) and schemas:
        return list(_items(cast("list[Any]", value), schemas, root))
    return _scalar(value, _types(schemas))


def _items(items: list[Any], schemas: tuple[Schema, ...], root: Schema) -> Iterator[Any]:
    """The items: the first may have schemas of their own, all others share one."""
    own = max((len(first_items(one)) for one in schemas), default=0)
    for at, item in enumerate(items[:own]):
        yield _softened(item, schemas_of_part(schemas, at, root), root)
    shared = schemas_of_part(schemas, own, root)
    for item in items[own:]:
        yield _softened(item, shared, root)


def _types(schemas: Iterable[Schema]) -> set[str]:
    given = [one["type"] for one in schemas if "type" in one]
    return {
        name
        for types in given
        for name in (cast("list[Any]", types) if isinstance(types, list) else [types])
        if isinstance(name, str)
    }


def _scalar(value: Any, types: set[str]) -> Any:
    if isinstance(value, float) and "integer" in types and "number" not in types:
        return int(value) if value.is_integer() else value
    if isinstance(value, str) and "string" not in types and len(value) <= _MAX_DIGITS:
        return _read(value, types)
    return value


def _read(value: str, types: set[str]) -> Any:
    text = value.strip()
    if types & {"integer", "number"} and (whole := _WHOLE.fullmatch(text)):
        return int(whole[1])
    if "number" in types and _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    if "boolean" in types:
        return {"true": True, "false": False}.get(text.lower(), value)
    return value
