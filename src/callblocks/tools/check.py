"""Checking an input: faults in words that a model can act on, and repairs that are beyond doubt."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec

from callblocks.core.call_text import path_text, said, to_compact_text
from callblocks.core.errors import ToolError
from callblocks.core.json_values import to_json_value
from callblocks.core.outcomes import Failure, Notice, without_managed
from callblocks.core.redaction import redact, without_secrets
from callblocks.core.text import close_to, listed
from callblocks.tools.schema import Schema, branches, first_items, schemas_at, schemas_of_part
from callblocks.tools.tool import Checked, FieldFault, Tool

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = (
    "MAX_DEPTH",
    "MAX_FAULTS",
    "MAX_VALUES",
    "Faults",
    "Judge",
    "Place",
    "TypedCheck",
    "check_input",
    "faults_text",
    "has_part",
    "is_too_deep",
    "lenient",
    "missing",
    "must_be",
    "odd_values",
    "safe_failure",
    "safe_notice",
    "safe_text",
    "told",
    "unexpected",
    "value_at",
    "words_of",
    "written",
)

# --- Messages about a wrong field, shared by both checks ---

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


# --- Tests whether an input is JSON at all, and small enough to be processed ---
#
# A parser gives plain JSON; a caller's own code may give anything. NaN and Infinity, lone
# surrogates, numbers of thousands of digits, nesting past 100 levels and more than 100,000 values
# are faults, with their places.

MAX_DEPTH = 100
MAX_VALUES = 100_000
# Python neither parses nor formats longer integers.
_MAX_BITS = 14_000

_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode


def written(value: dict[str, Any]) -> bytes | None:
    """Return the input as JSON; `None` if it is no JSON or too much: `odd_values` says where."""
    try:
        text = _encode(value)
        content = text.encode()
    except (ValueError, TypeError, RecursionError, OverflowError):
        return None
    # A cheap test first: text with few brackets cannot be deep, and short text cannot hold many
    # values. Only otherwise is the whole value walked.
    shallow = text.count("[") + text.count("{") <= MAX_DEPTH
    if (shallow and len(text) <= 2 * MAX_VALUES) or next(odd_values(value), None) is None:
        return content
    return None


def is_too_deep(value: object) -> bool:
    """Return whether a value is nested deeper than an input may be."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 2):
        held: list[Any] = [one for one in level if isinstance(one, dict | list | tuple)]
        if not held:
            return False
        level = [part for one in held for part in _parts(one)]
    return True


def _parts(held: Any) -> Iterable[Any]:
    return cast("dict[Any, Any]", held).values() if isinstance(held, dict) else held


def odd_values(value: object) -> Iterator[FieldFault]:
    """Yield every place that is no JSON, too deep or past the count; the latter ends the walk."""
    # Depth-first with an explicit stack, so that a hostile depth costs memory in proportion and no
    # RecursionError.
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    seen = 0
    while waiting:
        place, one = waiting.pop()
        seen += 1
        if seen > MAX_VALUES:
            yield FieldFault(
                "", f"has more than {MAX_VALUES:,} values; put them in a file and pass its path"
            )
            return
        if len(place) > MAX_DEPTH:
            problem = f"is nested deeper than {MAX_DEPTH} levels; make it flatter"
            yield FieldFault(path_text(place[:3]), problem)
        elif problem := _problem(one):
            yield FieldFault(path_text(place), problem)
        else:
            waiting.extend(reversed(list(_inside(place, one))))


def _inside(
    place: tuple[str | int, ...], value: object
) -> Iterator[tuple[tuple[str | int, ...], object]]:
    if isinstance(value, dict):
        for key, part in cast("dict[Any, Any]", value).items():
            yield (*place, key), part
    elif isinstance(value, list | tuple):
        for at, part in enumerate(cast("list[Any]", value)):
            yield (*place, at), part


def _problem(value: object) -> str:
    match value:
        case None | bool() | list() | tuple():
            return ""
        case str():
            return "" if _is_text(value) else "has half a character (a lone surrogate)"
        case int() | float():
            return _number_problem(value)
        case dict():
            return _key_problem(cast("dict[Any, Any]", value))
        case _:
            return f"must be a JSON value, got a {type(value).__name__}"


# Judged by bits: converting a huge integer to text, only to count its digits, takes quadratic time.
def _number_problem(value: float) -> str:
    if isinstance(value, int):
        return "has too many digits" if value.bit_length() > _MAX_BITS else ""
    return "" if math.isfinite(value) else f"must be a finite number, got {said(value)}"


def _key_problem(value: dict[Any, Any]) -> str:
    for key in value:
        if not isinstance(key, str):
            return f"must have text as keys, got {said(key)}"
        if not _is_text(key):
            return "has a key with half a character (a lone surrogate)"
    return ""


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
#
#     to: required, missing
#     limit: must be an integer, got "ten"
#     colour: not a field of this tool; its fields are to, limit; did you mean `color`?
#
# Two passes. An input that fits is taken as it is. Otherwise it is repaired where its meaning is
# unambiguous (`lenient`) and checked again; what still does not fit are its faults. The order
# matters: repairing first would change inputs that are valid. Nothing that a model can write
# raises.

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


# --- Checking an input against the types of a function, by pydantic ---
#
# The input is validated as JSON, in strict mode: a date comes as text, a set as a list, and `true`
# is no integer. Lax mode would accept slips silently, so that the person sees one value and the
# function gets another; repairs are made by `lenient`, visibly.

# Describes the faults of an input by the exception that its validation raised.
Faults: TypeAlias = Callable[[Exception, dict[str, Any], Schema], Iterator[FieldFault]]


class TypedCheck:
    """The check of inputs against one function's parameters, which also fills in its defaults."""

    def __init__(
        self,
        adapter: TypeAdapter[dict[str, Any]],
        schema: Schema,
        defaults: dict[str, Any],
        faults: Faults,
    ) -> None:
        self._adapter = adapter
        self._schema = schema
        self._defaults = defaults
        self._faults = faults

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
        except Exception as error:  # a validator of the tool's author may raise anything
            return self._faults(error, given, self._schema)

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


# --- Failures and notices of tools made safe to pass on: without secrets, and of bounded length ---

_MESSAGE_LENGTH = 4_000


def told(tool: Tool, error: ToolError) -> Failure:
    """Return the failure that a tool raised."""
    return safe_failure(
        Failure(code=error.code, message=error.message, where=tool.name, details=error.details)
    )


def safe_failure(failure: Failure) -> Failure:
    """Return a failure without secrets, short enough for a model to read."""
    message = redact(safe_text(failure.message))
    if len(message) > _MESSAGE_LENGTH:
        message = f"{message[:_MESSAGE_LENGTH]}…"
    return msgspec.structs.replace(
        failure, code=safe_text(failure.code), message=message, details=_details(failure.details)
    )


def safe_notice(notice: Notice) -> Notice:
    """Return a notice without secrets."""
    return Notice(
        code=safe_text(notice.code),
        message=redact(safe_text(notice.message)),
        details=_details(notice.details),
    )


def safe_text(said: object) -> str:
    """Return a tool's value as text where text is expected; a tool may have passed any object."""
    return to_json_value(said if isinstance(said, str) else words_of(said))


def words_of(said: object) -> str:
    """Return `str(value)`; "" where that raises."""
    try:
        return str(said)
    except BaseException:  # a value of a tool may do anything when it is shown
        return ""


def _details(given: dict[str, Any]) -> dict[str, Any]:
    try:
        return without_secrets(without_managed(to_json_value(given)))
    except BaseException as error:  # a value of a tool may do anything when it is written
        return {"left_out": f"details that cannot be written: {safe_text(error)}"}
