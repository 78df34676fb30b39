"""The input of a declared tool: its schema and its check, both by pydantic from the signature.

The description of a parameter is the first of: pydantic's `Field(description=…)`, the string in
`Annotated[str, "text"]`, the docstring. A name that Python reserves is given by an alias: `from_:
Annotated[str, Field(alias="from")]` is `from` to a model.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, NotRequired, Required

import msgspec
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python
from typing_extensions import TypedDict

from callblocks.model.errors import BadTool
from callblocks.tools.schema import schemas_within, tidy
from callblocks.tools.signature import MISSING, Parameter

__all__ = ("TypedInput",)

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
