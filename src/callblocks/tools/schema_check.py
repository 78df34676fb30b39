"""Checking an input against a foreign JSON Schema, compiled once by jsonschema-rs.

No reference is ever fetched: a schema that points outside itself is invalid here, or a tool list
could make us request any URL. Formats are not checked: the tool knows best what it accepts as an
address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import jsonschema_rs

from callblocks.core.call_text import kinds, path_text, said
from callblocks.core.errors import BadSpec
from callblocks.tools.check import (
    MAX_DEPTH,
    Place,
    check_input,
    missing,
    must_be,
    unexpected,
)
from callblocks.tools.schema import Schema, count_looks
from callblocks.tools.tool import Checked, FieldFault

__all__ = (
    "EXPLAINED",
    "SchemaCheck",
    "levels_of",
    "validator_of",
)

# Each fault costs microseconds. Of a large input only the first is reported, or a hostile input
# could cost seconds.
_SMALL = 20_000
# How often a schema may be tried on a value, and how often where each failure is to be explained.
# A hostile one of some lines takes hours; see `count_looks`.
_LOOKS = 10_000_000
EXPLAINED = 20_000
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)
_CHOICES = 30


class SchemaCheck:
    """The check of inputs against one schema."""

    def __init__(self, tool: str, schema: Schema) -> None:
        self._schema = schema
        try:
            self._validator = validator_of(schema)
        except (ValueError, TypeError, RecursionError, OverflowError) as error:
            words = getattr(error, "message", None) or str(error).partition("\n")[0]
            raise BadSpec(
                f"tool {tool}: its parameters are no JSON Schema: {words:.300}"
            ) from error
        # Without references, it is as large as it is written. Where it has some, those without
        # recursion count the same for every value.
        refers = "$" in json.dumps(schema, ensure_ascii=False)
        self._looks = 0 if not refers else count_looks(schema, MAX_DEPTH)
        if self._looks > _LOOKS and count_looks(schema, 3) > _LOOKS:
            raise BadSpec(f"tool {tool}: its parameters branch too often to be checked")

    def __call__(self, given: dict[str, Any]) -> Checked:
        return check_input(given, self._schema, self._judge)

    def _judge(
        self, given: dict[str, Any], text: bytes
    ) -> tuple[dict[str, Any], dict[str, Any]] | Iterator[FieldFault]:
        looks = self._looks
        if looks > EXPLAINED:
            looks = count_looks(self._schema, levels_of(given))
        if looks > _LOOKS:
            words = "is nested too deep to be checked: its schema branches at each level"
            return iter([FieldFault("", words)])
        try:
            if not self._validator.is_valid(given):
                unclear = iter([FieldFault("", "does not fit the schema of this tool")])
                return self._all_faults(given, text) if looks <= EXPLAINED else unclear
            # Decoded anew: a function that modifies its values must not change the recorded input.
            return json.loads(text), given
        except (ValueError, TypeError, RecursionError, OverflowError) as error:
            words = str(error).partition("\n")[0]
            return iter([FieldFault("", f"cannot be checked: {words:.200}")])

    def _all_faults(self, given: dict[str, Any], text: bytes) -> Iterator[FieldFault]:
        for error in self._errors(given, text):
            yield from self._faults(error)

    def _errors(
        self, given: dict[str, Any], text: bytes
    ) -> Iterator[jsonschema_rs.ValidationError]:
        if len(text) <= _SMALL:
            yield from self._validator.iter_errors(given)
            return
        try:
            self._validator.validate(given)
        except jsonschema_rs.ValidationError as error:
            yield error

    def _faults(self, error: jsonschema_rs.ValidationError) -> Iterator[FieldFault]:
        place = tuple(error.instance_path)
        kind: Any = error.kind
        match _kind(error):
            case "Required":
                yield missing((*place, str(kind.property).strip('"')), self._schema)
            case "AdditionalProperties" | "UnevaluatedProperties":
                for field in kind.unexpected:
                    yield unexpected((*place, field), self._schema)
            case "AnyOf" | "OneOfNotValid":
                yield from self._of_branches(place, kind.context, error)
            case _:
                yield _fault(place, error)

    def _of_branches(
        self, place: Place, context: list[Any], error: jsonschema_rs.ValidationError
    ) -> Iterator[FieldFault]:
        """Yield the fault of a union: its types, or else the faults of the nearest branch."""
        found = [cast("list[jsonschema_rs.ValidationError]", branch) for branch in context]
        # A branch whose type fits is what the model meant; of several, the one with the fewest
        # faults.
        nearest = [branch for branch in found if not any(_is_type(one, place) for one in branch)]
        if nearest:
            for one in min(nearest, key=len):
                yield from self._faults(one)
            return
        wrong = [one for branch in found for one in branch if _is_type(one, place)]
        types = [name for one in wrong for name in cast("Any", one.kind).types]
        yield must_be(place, kinds(types), error.instance)


def levels_of(value: object) -> int:
    """Return how deep a value is nested, as far as an input may be."""
    level: list[Any] = [value]
    for depth in range(MAX_DEPTH):
        held: list[Any] = [one for one in level if isinstance(one, dict | list)]
        if not held:
            return depth
        level = [part for one in held for part in _parts(one)]
    return MAX_DEPTH


def _parts(held: Any) -> Iterable[Any]:
    return cast("dict[str, Any]", held).values() if isinstance(held, dict) else held


def _is_type(error: jsonschema_rs.ValidationError, place: Place) -> bool:
    """Return whether the value at this very place has the wrong type."""
    return _kind(error) == "Type" and tuple(error.instance_path) == tuple(place)


def _kind(error: jsonschema_rs.ValidationError) -> str:
    return type(error.kind).__name__.removeprefix("ValidationErrorKind_")


def _fault(place: Place, error: jsonschema_rs.ValidationError) -> FieldFault:
    words = _WORDS.get(_kind(error))
    if words is None:
        return FieldFault(path_text(place), f"does not fit: {error.message:.200}")
    return must_be(place, words(error.kind), error.instance)


def _choices(kind: Any) -> str:
    options = cast("list[object]", kind.options)
    more = f" and {len(options) - _CHOICES} more" if len(options) > _CHOICES else ""
    return "one of " + ", ".join(said(one) for one in options[:_CHOICES]) + more


_WORDS: dict[str, Callable[[Any], str]] = {
    "Type": lambda kind: kinds(kind.types),
    "Enum": _choices,
    "Constant": lambda kind: said(kind.expected_value),
    "Minimum": lambda kind: f"{kind.limit} or more",
    "Maximum": lambda kind: f"{kind.limit} or less",
    "ExclusiveMinimum": lambda kind: f"more than {kind.limit}",
    "ExclusiveMaximum": lambda kind: f"less than {kind.limit}",
    "MultipleOf": lambda kind: f"a multiple of {kind.multiple_of}",
    "MinLength": lambda kind: f"{kind.limit} characters or more",
    "MaxLength": lambda kind: f"{kind.limit} characters or fewer",
    "MinItems": lambda kind: f"{kind.limit} items or more",
    "MaxItems": lambda kind: f"{kind.limit} items or fewer",
    "MinProperties": lambda kind: f"{kind.limit} fields or more",
    "MaxProperties": lambda kind: f"{kind.limit} fields or fewer",
    "UniqueItems": lambda kind: "a list without repeated items",
    "Pattern": lambda kind: f"text that matches {kind.pattern:.100}",
    "FalseSchema": lambda kind: "left out",
}


def validator_of(schema: Schema) -> jsonschema_rs.Validator:
    """Return what checks values against a foreign schema; it fetches nothing.

    Raise `ValueError`, `TypeError`, `RecursionError` or `OverflowError` for what is no schema.
    """
    return jsonschema_rs.validator_for(
        schema,
        validate_formats=False,
        retriever=_fetch_nothing,
        mask="it",
        pattern_options=_PATTERNS,
    )


def _fetch_nothing(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched; write the schema out")
