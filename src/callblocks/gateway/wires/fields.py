"""Typed access to the JSON of a request.

    fields = request_fields(body)
    fields.text("model"); fields.integer("max_tokens"); fields.objects("messages")

Whatever a body holds, only `GatewayFault` is raised: `invalid_request`, with the path of the field
(`messages[2].content`). A null counts as an absent field. A body is checked once, before any wire
reads it: nested deeper than 100 levels, more than 500,000 values, a number that JSON cannot say, or
an integer of more than 4300 digits is a fault. A lone surrogate becomes U+FFFD: clients in
JavaScript that shorten a text between the halves of an emoji send such bodies, and would send them
again with each turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

from callblocks.core.json_values import whole
from callblocks.core.text import brief
from callblocks.gateway.exchange import GatewayFault

__all__ = ("Fields", "bad_field", "request_fields")

_DEPTH = 100
# The most bits of an integer that Python writes: 4300 digits.
_BITS = 14_000
# The most messages, tools or parts of one list.
_LONGEST = 100_000
# The most values of a body: looking at each of them takes a microsecond, and nobody is served.
_MOST = 500_000
# The most characters of all stop sequences: each is looked for in all that the model writes.
_STOPS = 16_384


def bad_field(path: str, message: str, code: str = "") -> GatewayFault:
    """Return the fault of one field."""
    text = f"{path}: {message}" if path else message
    return GatewayFault("invalid_request", text, field=path, code=code)


class Fields:
    """The fields of one JSON object. `path` is its place in the request, "" for the body."""

    __slots__ = ("path", "raw")

    def __init__(self, raw: dict[str, Any], path: str = "") -> None:
        self.raw = raw
        self.path = path

    def where(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def fault(self, name: str, message: str, code: str = "") -> GatewayFault:
        """Return the fault of a field; of the object itself where `name` is ""."""
        return bad_field(self.where(name) if name else self.path, message, code)

    def get(self, name: str) -> Any:
        """Return the value as it is; `None` where it is absent."""
        return self.raw.get(name)

    def text(self, name: str, default: str = "") -> str:
        value = self.raw.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.fault(name, f"expected a string, not {brief(value, 40)}")
        return value

    def needed_text(self, name: str) -> str:
        """Return a string that must be there and not be empty."""
        value = self.text(name)
        if not value:
            raise self.fault(name, "expected a string that is not empty", "missing_required")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.raw.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.fault(name, f"expected true or false, not {brief(value, 40)}")
        return value

    def number(self, name: str) -> float | None:
        value = self.raw.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fault(name, f"expected a number, not {brief(value, 40)}")
        try:
            return float(value)
        except OverflowError as error:
            raise self.fault(name, "the number is too large") from error

    def count(self, name: str) -> int | None:
        """Return a whole number of at least 1."""
        number = self.number(name)
        if number is None:
            return None
        if not number.is_integer() or not 1 <= number < 2**53:
            raise self.fault(name, "expected a whole number of at least 1")
        return int(number)

    def object(self, name: str) -> Fields | None:
        value = self.raw.get(name)
        if value is None:
            return None
        return as_fields(value, self.where(name))

    def list(self, name: str) -> list[Any]:
        """Return a list; an absent one is empty."""
        value = self.raw.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(name, f"expected a list, not {brief(value, 40)}")
        return cast("list[Any]", value)

    def objects(self, name: str) -> Iterator[Fields]:
        """Yield the objects of a list."""
        for at, value in enumerate(self.list(name)):
            yield as_fields(value, f"{self.where(name)}[{at}]")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the strings of a list, or of one string; empty ones are left out."""
        value = self.raw.get(name)
        if isinstance(value, str):
            return (value,) if value else ()
        values = self.list(name)
        for at, one in enumerate(values):
            if not isinstance(one, str):
                raise self.fault(f"{name}[{at}]", f"expected a string, not {brief(one, 40)}")
        return tuple(one for one in values if one)

    def stops(self, name: str) -> tuple[str, ...]:
        """Return the stop sequences of a request."""
        stops = self.texts(name)
        if sum(map(len, stops)) > _STOPS:
            raise self.fault(name, f"the texts have more than {_STOPS} characters together")
        return stops


def as_fields(value: Any, path: str) -> Fields:
    """Return the fields of a value that must be an object."""
    if not isinstance(value, dict):
        raise bad_field(path, f"expected an object, not {brief(value, 40)}")
    return Fields(cast("dict[str, Any]", value), path)


def request_fields(body: Any) -> Fields:
    """Check a decoded body, and return its fields."""
    if not isinstance(body, dict):
        raise bad_field("", "the body must be a JSON object")
    return Fields(_checked(body, "", 0, [_MOST]))


def _checked(value: Any, path: str, depth: int, left: list[int]) -> Any:
    match value:
        case str():
            return whole(value)
        case None | bool():
            return value
        case int():
            if value.bit_length() > _BITS:
                raise bad_field(path, "the number is too large")
            return value
        case float():
            if not math.isfinite(value):
                raise bad_field(path, "not a number that JSON can say")
            return value
        case dict():
            if depth >= _DEPTH:
                raise bad_field(path, f"nested deeper than {_DEPTH} levels")
            pairs = cast("dict[str, Any]", value).items()
            _count(len(pairs), left)
            return {
                whole(key): _checked(
                    item, f"{path}.{key:.60}" if path else f"{key:.60}", depth + 1, left
                )
                for key, item in pairs
            }
        case list():
            if depth >= _DEPTH:
                raise bad_field(path, f"nested deeper than {_DEPTH} levels")
            items = cast("list[Any]", value)
            if len(items) > _LONGEST:
                raise bad_field(path, f"more than {_LONGEST} entries")
            _count(len(items), left)
            return [
                _checked(item, f"{path}[{at}]", depth + 1, left) for at, item in enumerate(items)
            ]
        case _:
            raise bad_field(path, f"not a JSON value: {type(value).__name__}")


def _count(values: int, left: list[int]) -> None:
    left[0] -= values
    if left[0] < 0:
        raise bad_field("", f"the body has more than {_MOST} values", "request_too_large")
