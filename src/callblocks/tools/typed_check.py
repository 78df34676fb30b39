"""Checking an input against the types of a function, by pydantic.

The input is validated as JSON, in strict mode: a date comes as text, a set as a list, and `true` is
no integer. Lax mode would accept slips silently, so that the person sees one value and the function
gets another; repairs are made by `lenient`, visibly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from callblocks.core.redaction import redact_start
from callblocks.tools.check import check_input
from callblocks.tools.fault_text import (
    Place,
    has_part,
    missing,
    must_be,
    path_text,
    unexpected,
    value_at,
    written,
)
from callblocks.tools.schema import Schema
from callblocks.tools.tool import Checked, FieldFault

__all__ = ("TypedCheck",)

_EXPECTED = {
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "a string",
    "none_required": "null",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dataclass_type": "an object",
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "multiple_of": "a multiple of {multiple_of}",
    "string_too_short": "{min_length} characters or more",
    "string_too_long": "{max_length} characters or fewer",
    "string_pattern_mismatch": "text that matches {pattern:.100}",
    "too_short": "{min_length} items or more",
    "too_long": "{max_length} items or fewer",
    "literal_error": "{expected:.400}",
    "enum": "{expected:.400}",
    "union_tag_invalid": "an object whose {discriminator} is one of {expected_tags:.400}",
    "union_tag_not_found": "an object with {discriminator}",
    "date_type": "a date such as 2030-01-31",
    "datetime_type": "a date and time such as 2030-01-31T12:00:00Z",
    "time_type": "a time such as 12:00:00",
    "time_delta_type": "a duration such as PT5M",
    "url_type": "an address such as https://example.org/",
    "url_parsing": "an address such as https://example.org/",
    "uuid_type": "a UUID",
    "uuid_parsing": "a UUID",
}
_UNEXPECTED = {"extra_forbidden", "unexpected_keyword_argument"}
_WORDS = 300


class TypedCheck:
    """The check of inputs against one function's parameters, which also fills in its defaults."""

    def __init__(
        self, adapter: TypeAdapter[dict[str, Any]], schema: Schema, defaults: dict[str, Any]
    ) -> None:
        self._adapter = adapter
        self._schema = schema
        self._defaults = defaults

    def __call__(self, given: dict[str, Any]) -> Checked:
        return check_input(given, self._schema, self._judge)

    def _judge(
        self, given: dict[str, Any], text: bytes
    ) -> tuple[dict[str, Any], dict[str, Any]] | Iterator[FieldFault]:
        try:
            # From the JSON text, not from the Python value: strict mode then accepts dates and sets
            # in their JSON form, and only there.
            values = self._adapter.validate_json(text, strict=True)
            return {**self._defaults, **values}, self._taken(given, values)
        except ValidationError as error:
            return self._faults(error, given)
        except Exception as error:  # a validator of the tool's author may raise anything
            words = f"cannot be checked: {type(error).__name__}: {_cut(error)}"
            return iter([FieldFault("", words)])

    def _taken(self, given: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
        """Return the input as JSON that denotes what the function gets.

        A type may change its value: strip blanks, wrap one text into a list. A policy that judged
        the text as given would judge another value than the tool works on. So the values are dumped
        as JSON again; and the dump counts only where it validates to the same values and adds no
        field, so that an input has one form, today and after a restart.
        """
        try:
            # Round trip: values to JSON, JSON to values. Only if both agree does the JSON denote
            # what runs.
            dump = self._adapter.dump_python
            taken = dump(values, mode="json", by_alias=True, exclude_unset=True, warnings=False)
            if not _is_changed(given, taken):
                return given
            text = written(taken)
            same = text is not None and self._adapter.validate_json(text, strict=True) == values
        except Exception:  # a type of the tool's author may have no JSON, or raise anything
            return given
        return taken if same else given

    def _faults(self, error: ValidationError, given: dict[str, Any]) -> Iterator[FieldFault]:
        """Yield a fault per place: the errors of all branches of a union belong together."""
        places: dict[tuple[str | int, ...], list[ErrorDetails]] = {}
        for one in error.errors(include_url=False, include_input=False):
            places.setdefault(_place(one, given), []).append(one)
        for place, found in places.items():
            yield self._fault(place, found, given)

    def _fault(self, place: Place, errors: list[ErrorDetails], given: dict[str, Any]) -> FieldFault:
        types = {error["type"] for error in errors}
        if "missing" in types:
            return missing(place, self._schema)
        if types & _UNEXPECTED:
            return unexpected(place, self._schema)
        expected = dict.fromkeys(_expected(error) for error in errors)
        if all(expected):
            return must_be(place, " or ".join(expected), value_at(given, place))
        return FieldFault(path_text(place), "; or ".join(dict.fromkeys(map(_problem, errors))))


def _is_changed(given: Any, taken: Any) -> bool:
    """Return whether a value was changed, and not just completed or reordered."""
    if isinstance(given, dict) and isinstance(taken, dict):
        old, new = cast("dict[str, Any]", given), cast("dict[str, Any]", taken)
        return old.keys() == new.keys() and any(_is_changed(old[key], new[key]) for key in old)
    if isinstance(given, list) and isinstance(taken, list):
        items, others = cast("list[Any]", given), cast("list[Any]", taken)
        # A set has no order, and collapses duplicates.
        if items == others or set(map(json.dumps, items)) == set(map(json.dumps, others)):
            return False
        return len(items) != len(others) or any(map(_is_changed, items, others))
    return given != taken


def _place(error: ErrorDetails, given: object) -> tuple[str | int, ...]:
    """Return the place of an error; pydantic also names the branches of a union, which are no
    places.
    """
    place: list[str | int] = []
    at = error["loc"]
    # Walk along the given value. A part that it does not have is the name of a union branch, unless
    # it is the last part of a missing field.
    for number, part in enumerate(at):
        if has_part(given, part):
            given = value_at(given, (part,))
        elif error["type"] != "missing" or number + 1 < len(at):
            continue
        place.append(part)
    return tuple(place)


def _expected(error: ErrorDetails) -> str:
    """Return what the value must be; "" where the message has another form."""
    known = _EXPECTED.get(error["type"], "")
    return "" if error["loc"][-1:] == ("[key]",) else known.format(**error.get("ctx", {}))


def _problem(error: ErrorDetails) -> str:
    if error["type"] in ("value_error", "assertion_error"):
        return _cut(error.get("ctx", {}).get("error", error["msg"]))
    expected = _expected(error)
    words = f"must be {expected}" if expected else re.sub(r"^\w+ should", "must", error["msg"])
    return _cut(f"has a key that {words}" if error["loc"][-1:] == ("[key]",) else words)


def _cut(words: object) -> str:
    text = redact_start(str(words), _WORDS)
    return text if len(text) <= _WORDS else text[:_WORDS] + "…"
