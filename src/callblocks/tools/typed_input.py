"""The parameters of a function as types: its schema, and the check of inputs, by pydantic."""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from inspect import cleandoc
from typing import Annotated, Any, NotRequired, Required

import msgspec
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined, to_jsonable_python
from typing_extensions import TypedDict

from callblocks.core.call_text import path_text
from callblocks.core.errors import BadTool
from callblocks.core.redaction import redact_start
from callblocks.tools.check import (
    Place,
    has_part,
    missing,
    must_be,
    unexpected,
    value_at,
)
from callblocks.tools.schema import Schema, schemas_within, tidy
from callblocks.tools.tool import Context, FieldFault

__all__ = (
    "MISSING",
    "Docstring",
    "Parameter",
    "Signature",
    "TypedInput",
    "input_faults",
    "read_docstring",
    "read_signature",
)

# --- The parameters of a function: those that a model fills, and the `Context` ---
#
#     def send(to: str, text: str = "", *, context: Context) -> str: …
#              ──────────────────────────  ─────────────────
#              for the model                given by the runtime
#
# Every parameter must have a type and a name that a call can use.

# The default of a parameter that has none.
MISSING: Any = inspect.Parameter.empty

_UNNAMED = {
    inspect.Parameter.POSITIONAL_ONLY: "cannot be given by name; drop the `/`",
    inspect.Parameter.VAR_POSITIONAL: "has no fixed name; make it a list: `{name}: list[str]`",
    inspect.Parameter.VAR_KEYWORD: "has no fixed names; make it `{name}: dict[str, str]`",
}


class Parameter(msgspec.Struct, frozen=True):
    """One parameter for the model: its name, its type, and its default or `MISSING`."""

    name: str
    annotation: Any
    default: Any = MISSING


class Signature(msgspec.Struct, frozen=True):
    """The parameters of a function; `context` names the parameter that takes a `Context`."""

    parameters: tuple[Parameter, ...]
    context: str | None = None


def read_signature(function: Callable[..., Any], scope: Mapping[str, Any]) -> Signature:
    """Read the parameters of a function; `scope` has the names around its declaration."""
    hints = _hints(function, scope)
    given = inspect.signature(function).parameters.values()
    contexts = [one.name for one in given if _is_context(hints.get(one.name))]
    # Two would be ambiguous for the runtime, which passes exactly one.
    if len(contexts) > 1:
        raise _bad(function, f"takes more than one Context: {', '.join(contexts)}")
    plain = tuple(_parameter(function, one, hints) for one in given if one.name not in contexts)
    for one in given:
        _require_name(function, one)
    return Signature(plain, contexts[0] if contexts else None)


def _hints(function: Callable[..., Any], scope: Mapping[str, Any]) -> dict[str, Any]:
    # The return type is not needed, and may be imported under TYPE_CHECKING only.
    taken = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    around = getattr(inspect.unwrap(function), "__globals__", {})
    # `get_type_hints` resolves all annotations of a function or none. A stand-in without the return
    # annotation avoids failing on a type that only a checker knows.
    stand_in = types.SimpleNamespace(__annotations__=taken, __globals__=around)
    try:
        return typing.get_type_hints(stand_in, localns={**around, **scope}, include_extras=True)
    except NameError as error:
        raise _bad(
            function,
            f"has an annotation that names {error.name!r}, which is not known there; "
            "import or define it before the tool, and not under TYPE_CHECKING",
        ) from error
    except (TypeError, SyntaxError, AttributeError) as error:
        raise _bad(function, f"has an annotation that is no type: {error}") from error


def _parameter(
    function: Callable[..., Any], given: inspect.Parameter, hints: Mapping[str, Any]
) -> Parameter:
    _require_name(function, given)
    if given.name not in hints:
        method = "; of a method, declare the bound one: `tool(thing.method)`"
        raise _bad(
            function,
            f"has no type for `{given.name}`; write `{given.name}: str`, or the type it has"
            f"{method if given.name in ('self', 'cls') else ''}",
        )
    hint = hints[given.name]
    # `x: str = None` is common Python for an optional parameter.
    if given.default is None and not _takes_none(hint):
        hint = hint | None
    return Parameter(given.name, hint, given.default)


def _require_name(function: Callable[..., Any], given: inspect.Parameter) -> None:
    if given.kind in _UNNAMED:
        raise _bad(function, f"`{given}` {_UNNAMED[given.kind].format(name=given.name)}")


def _is_context(hint: Any) -> bool:
    return any(isinstance(one, type) and issubclass(one, Context) for one in _members(hint))


def _takes_none(hint: Any) -> bool:
    return hint is Any or any(one in (None, types.NoneType, Any) for one in _members(hint))


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union, inside `Annotated` too; any other type alone."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _members(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return tuple(one for part in typing.get_args(hint) for one in _members(part))
    if origin is typing.Literal:
        return typing.get_args(hint)
    return (hint,)


def _bad(function: Callable[..., Any], what: str) -> BadTool:
    return BadTool(f"{getattr(function, '__qualname__', function)} is no tool yet: it {what}")


# --- The input of a declared tool: schema and check, by pydantic from the signature ---
#
# The description of a parameter is the first of: pydantic's `Field(description=…)`, the string in
# `Annotated[str, "text"]`, the docstring. A name that Python reserves is given by an alias: `from_:
# Annotated[str, Field(alias="from")]` is `from` to a model.

# Numbers beyond JSON are refused; unknown fields are faults, not ignored.
_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)
# These types access the disk during validation, which is before a policy has decided.
_LOOKING = {"file-path": "FilePath", "directory-path": "DirectoryPath"}


class TypedInput:
    """The input that a function takes, as one type."""

    def __init__(
        self, tool: str, parameters: Iterable[Parameter], texts: Mapping[str, str]
    ) -> None:
        self._tool = tool
        self._fields = tuple(_Field.of(one, texts.get(one.name, "")) for one in parameters)
        self._require_distinct_names()

    def _require_distinct_names(self) -> None:
        names = [field.shown for field in self._fields]
        if len(set(names)) < len(names):
            raise BadTool(f"{self._tool}: two parameters have the same name: {', '.join(names)}")

    @cached_property
    def adapter(self) -> TypeAdapter[dict[str, Any]]:
        """Return the adapter that validates and converts an input."""
        try:
            return _adapter(self._fields)
        except _PYDANTIC as error:
            raise self._unusable(error) from error

    @property
    def defaults(self) -> dict[str, Any]:
        """Return the default of each optional parameter."""
        return {one.name: one.default for one in self._fields if one.has_default}

    def schema(self) -> dict[str, Any]:
        """Return the schema of the input for a model."""
        try:
            schema = tidy(self.adapter.json_schema())
        except _PYDANTIC as error:
            raise self._unusable(error) from error
        properties = schema.setdefault("properties", {})
        for field in self._fields:
            if field.has_default:
                properties[field.shown].update(_shown_default(field.default))
            self._require_still(field.name, properties[field.shown])
        return schema

    # A type that looks at the disk would tell a model whether a file exists, before any policy was
    # asked.
    def _require_still(self, name: str, schema: dict[str, Any]) -> None:
        form = schema.get("format")
        if form in _LOOKING:
            raise BadTool(
                f"{self._tool}: `{name}` is a {_LOOKING[form]}, which looks at the disk before a "
                "policy has decided; make it a `pathlib.Path` and look inside the function"
            )
        for part in schemas_within(schema):
            self._require_still(name, part)

    def _unusable(self, error: Exception) -> BadTool:
        """Return an error that names the parameter whose type cannot be used."""
        # By elimination: pydantic's message for the whole input does not name the parameter.
        for field in self._fields:
            try:
                _adapter((field,)).json_schema()
            except _PYDANTIC as own:
                return BadTool(
                    f"{self._tool}: the type of `{field.name}` cannot come from JSON: "
                    f"{_first_line(own)}; use str, int, float, bool, list, dict, Literal, an "
                    "enum, a dataclass, a TypedDict or a pydantic model"
                )
        return BadTool(f"{self._tool}: {_first_line(error)}")


_PYDANTIC = (PydanticUserError, PydanticUndefinedAnnotation, ValidationError, TypeError, NameError)


class _Field(msgspec.Struct, frozen=True):
    """A parameter as a field: the name that a model uses may be an alias.

    A default that pydantic makes anew for each input is not known here.
    """

    name: str
    shown: str
    annotation: Any
    required: bool
    default: Any

    @property
    def has_default(self) -> bool:
        return self.default is not MISSING

    @classmethod
    def of(cls, parameter: Parameter, text: str) -> _Field:
        annotation: Any = parameter.annotation
        default = parameter.default
        if isinstance(default, FieldInfo):
            annotation, default = _with(annotation, default), MISSING
        known = FieldInfo.from_annotation(annotation)
        if default is MISSING and known.default not in (PydanticUndefined, ...):
            default = known.default
        text = known.description or _annotated_text(annotation) or text
        if text:
            annotation = _with(annotation, Field(description=text))
        alias = known.validation_alias or known.alias
        shown = alias if isinstance(alias, str) else parameter.name
        required = default is MISSING and known.is_required()
        return cls(parameter.name, shown, annotation, required, default)


def _with(annotation: Any, field: Any) -> Any:
    return Annotated[annotation, field]


def _annotated_text(annotation: Any) -> str:
    if typing.get_origin(annotation) is not Annotated:
        return ""
    return next((one for one in typing.get_args(annotation)[1:] if isinstance(one, str)), "")


def _adapter(fields: Iterable[_Field]) -> TypeAdapter[dict[str, Any]]:
    # A TypedDict accepts any name for a field; a pydantic model reserves some.
    members = {
        one.name: (Required if one.required else NotRequired)[one.annotation] for one in fields
    }
    make: Any = TypedDict
    shape = make("Input", members)
    shape.__pydantic_config__ = _CONFIG
    return TypeAdapter(shape)


def _shown_default(default: Any) -> dict[str, Any]:
    """Return the default as JSON; nothing where JSON cannot express it."""
    try:
        plain = to_jsonable_python(default)
        json.dumps(plain, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return {}
    return {"default": plain}


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")


# --- Docstrings of functions: the description, and the text of each parameter ---
#
#     """Send a letter.
#
#     Args:                      Parameters                 :param to: who gets it
#         to: who gets it        ----------
#                                to : str
#                                    who gets it
#     """
#
# All three styles are read, also mixed. The description is everything else.

_GOOGLE = re.compile(r"(?:Args|Arguments|Params|Parameters|Keyword Args|Keyword Arguments):[ \t]*")
_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)[ \t]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?[ \t]*:(.*)")
_NUMPY = re.compile(r"(?:Other )?Parameters[ \t]*")
_NUMPY_ITEM = re.compile(r"(\*{0,2}\w+(?:[ \t]*,[ \t]*\*{0,2}\w+)*)[ \t]*(?::.*)?")
_RULE = re.compile(r"-{3,}[ \t]*")
_FIELD = re.compile(r":(\w+)(?:[ \t]+([^:\n]*))?:(.*)")
_PARAMETER_FIELDS = ("param", "parameter", "arg", "argument", "key", "keyword")
_TYPE_FIELDS = ("type", "rtype")


class Docstring(msgspec.Struct, frozen=True):
    """A description, and the text of each parameter that has one."""

    description: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Parse a docstring of any of the three styles; an absent one has no texts."""
    reader = _DocstringReader(cleandoc(text or "").splitlines())
    reader.read()
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(reader.prose)).strip()
    said = {name: " ".join(" ".join(lines).split()) for name, lines in reader.parameters.items()}
    return Docstring(description, {name: words for name, words in said.items() if words})


class _DocstringReader:
    """A reader that takes the lines one section at a time."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.prose: list[str] = []
        self.parameters: dict[str, list[str]] = {}

    def read(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            # A heading counts only with an indented line below it: "Args:" may also end a sentence.
            if _GOOGLE.fullmatch(line) and self._is_deeper(self.at + 1):
                self._google()
            elif _NUMPY.fullmatch(line) and self._is_rule(self.at + 1):
                self._numpy()
            elif not self._field(line):
                self.prose.append(line)
                self.at += 1

    def _is_rule(self, at: int) -> bool:
        return at < len(self.lines) and _RULE.fullmatch(self.lines[at]) is not None

    def _is_deeper(self, at: int) -> bool:
        return at < len(self.lines) and _indent(self.lines[at]) > 0

    def _google(self) -> None:
        self.at += 1
        depth = _indent(self.lines[self.at])
        into: list[str] = []
        for line in self._indented():
            item = _GOOGLE_ITEM.fullmatch(line.strip()) if _indent(line) <= depth else None
            if item:
                into = self.parameters.setdefault(item[1], [])
            into.append(item[2] if item else line)

    def _numpy(self) -> None:
        self.at += 2
        while self.at < len(self.lines) and not self._is_rule(self.at + 1):
            item = _NUMPY_ITEM.fullmatch(self.lines[self.at])
            if self.lines[self.at].strip() and not item:
                return
            self.at += 1
            words = list(self._indented())
            for name in re.findall(r"\w+", item[1]) if item else ():
                self.parameters.setdefault(name, []).extend(words)

    def _field(self, line: str) -> bool:
        """Take `:param x: text`, with the indented lines below it."""
        field = _FIELD.fullmatch(line)
        if not field or field[1] not in (*_PARAMETER_FIELDS, *_TYPE_FIELDS):
            return False
        self.at += 1
        words = [field[3], *self._indented()]
        if field[1] in _PARAMETER_FIELDS and field[2]:
            self.parameters.setdefault(field[2].split()[-1].lstrip("*"), []).extend(words)
        return True

    def _indented(self) -> Iterator[str]:
        """Yield the indented lines from here on, with the blank lines between them."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and not _indent(line):
                return
            self.at += 1
            yield line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 0


# --- Faults of an input, from the errors of pydantic ---

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


def input_faults(error: Exception, given: dict[str, Any], schema: Schema) -> Iterator[FieldFault]:
    """Yield a fault per place: the errors of all branches of a union belong together."""
    if not isinstance(error, ValidationError):  # a validator of the tool's author raised it
        yield FieldFault("", f"cannot be checked: {type(error).__name__}: {_cut(error)}")
        return
    places: dict[tuple[str | int, ...], list[ErrorDetails]] = {}
    for one in error.errors(include_url=False, include_input=False):
        places.setdefault(_place(one, given), []).append(one)
    for place, found in places.items():
        yield _fault(place, found, given, schema)


def _fault(
    place: Place, errors: list[ErrorDetails], given: dict[str, Any], schema: Schema
) -> FieldFault:
    types = {error["type"] for error in errors}
    if "missing" in types:
        return missing(place, schema)
    if types & _UNEXPECTED:
        return unexpected(place, schema)
    expected = dict.fromkeys(_expected(error) for error in errors)
    if all(expected):
        return must_be(place, " or ".join(expected), value_at(given, place))
    return FieldFault(path_text(place), "; or ".join(dict.fromkeys(map(_problem, errors))))


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
