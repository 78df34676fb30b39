"""Checks of parameters, bodies and answers against a discovery document.

A fault is a text such as `body.message.rwa: no such field in Message`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from support.google.discovery import Description
from support.google.state import Json, Refused

__all__ = ("body_of", "parameters_of", "value_faults")

_INTEGER = re.compile(r"-?\d{1,20}")
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}


def parameters_of(method: Description, location: str, given: dict[str, list[str]]) -> Json:
    """Parameters with their types; an unknown, missing, wrong or repeated one is refused."""
    known = method.parameters(location)
    for name in given:
        if name not in known:
            raise _invalid(f"{location}.{name}: {method.id} has no such parameter")
    for name, schema in known.items():
        if schema.get("required") and name not in given:
            raise _invalid(f"{location}.{name}: {method.id} requires it")
    return {name: _parameter(name, known[name], values) for name, values in given.items()}


def _parameter(name: str, schema: Json, values: list[str]) -> Any:
    if schema.get("repeated"):
        return [_read(name, schema, value) for value in values]
    if len(values) > 1:
        raise _invalid(f"{name}: given {len(values)} times")
    return _read(name, schema, values[0])


def _read(name: str, schema: Json, text: str) -> Any:
    """One value out of a URL."""
    kind = schema["type"]
    value: Any = text
    try:
        if kind == "integer":
            value = int(text)
        elif kind == "number":
            value = float(text)
    except ValueError:
        raise _invalid(f"{name}: {text!r} is no {kind}") from None
    if kind == "boolean":
        if text not in ("true", "false"):
            raise _invalid(f"{name}: {text!r} is no boolean")
        value = text == "true"
    for fault in value_faults({}, schema, value, name):
        raise _invalid(fault)
    return value


def body_of(method: Description, body: Any) -> Json:
    """The body of a request, without what only the service sets; a wrong one is refused."""
    schema = method.schema("request")
    if schema is None:
        if body:
            raise _invalid(f"body: {method.id} takes none")
        return {}
    schemas = method.document["schemas"]
    for fault in value_faults(schemas, schema, {} if body is None else body, "body"):
        raise _invalid(fault)
    return _writable(schemas, schema, body or {})


def _writable(schemas: Json, schema: Json, value: Any) -> Any:
    schema = schemas[schema["$ref"]] if "$ref" in schema else schema
    if isinstance(value, list):
        return [_writable(schemas, schema.get("items", {}), item) for item in value]
    if not isinstance(value, dict):
        return value
    known = schema.get("properties", {})
    return {
        name: _writable(schemas, known.get(name, {}), item)
        for name, item in value.items()
        if not known.get(name, {}).get("readOnly")
    }


def value_faults(
    schemas: Json, schema: Json, value: Any, where: str, *, nulls: bool = True
) -> Iterator[str]:
    """What is wrong with a value, at any depth; `nulls` allows fields that are null."""
    name = schema.get("$ref", "")
    schema = schemas[name] if name else schema
    kind = schema.get("type", "any")
    if kind == "any":
        return
    if not _is(value, kind):
        yield f"{where}: {value!r:.60} is no {kind}"
    elif kind == "object":
        yield from _object_faults(schemas, schema, value, where, name, nulls)
    elif kind == "array":
        for at, item in enumerate(value):
            yield from value_faults(schemas, schema["items"], item, f"{where}[{at}]", nulls=nulls)
    else:
        yield from _scalar_faults(schema, value, where)


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean") == isinstance(value, bool)


def _object_faults(
    schemas: Json, schema: Json, value: Json, where: str, name: str, nulls: bool
) -> Iterator[str]:
    known: Json = schema.get("properties", {})
    for field, item in value.items():
        inner = known.get(field, schema.get("additionalProperties"))
        if inner is None:
            yield f"{where}.{field}: no such field{f' in {name}' if name else ''}"
        elif item is not None or not nulls:
            yield from value_faults(schemas, inner, item, f"{where}.{field}", nulls=nulls)


def _scalar_faults(schema: Json, value: Any, where: str) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r:.60} is none of {', '.join(schema['enum'])}"
    if "pattern" in schema and not re.fullmatch(schema["pattern"], str(value)):
        yield f"{where}: {value!r:.60} does not match {schema['pattern']}"
    if "minimum" in schema and float(value) < float(schema["minimum"]):
        yield f"{where}: {value!r} is below {schema['minimum']}"
    if "maximum" in schema and float(value) > float(schema["maximum"]):
        yield f"{where}: {value!r} is above {schema['maximum']}"
    if not _has_format(schema.get("format", ""), value):
        yield f"{where}: {value!r:.60} is no {schema['format']}"


def _has_format(wanted: str, value: Any) -> bool:
    if wanted in _RANGES:
        low, high = _RANGES[wanted]
        text = str(value)
        return bool(_INTEGER.fullmatch(text)) and low <= int(text) <= high
    try:
        if wanted == "byte":
            base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)
        elif wanted == "date":
            date.fromisoformat(value)
        elif wanted in ("date-time", "google-datetime"):
            return datetime.fromisoformat(value).tzinfo is not None and "T" in value
    except (ValueError, binascii.Error):
        return False
    return True


def _invalid(fault: str) -> Refused:
    return Refused(400, "invalid", fault)
