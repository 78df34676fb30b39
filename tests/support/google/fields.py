"""Partial answers: `fields=files(id,name),nextPageToken`, as Google's services take it.

A name that the answer's schema does not have is refused. Drive answers with few fields where
none are asked for.
"""

from __future__ import annotations

import re
from typing import Any

from support.google.discovery import Description
from support.google.state import Json, Refused

__all__ = ("Mask", "chosen", "mask_of")

Mask = dict[str, Any]
"""Names with the masks below them; an empty mask stands for the whole."""

_TOKEN = re.compile(r"[A-Za-z0-9_$.-]+|\*|[(),/]")
_FEW = "kind,id,name,mimeType,resourceKey"
_DEFAULTS = {
    "drive.files.list": f"kind,incompleteSearch,nextPageToken,files({_FEW})",
    **{f"drive.files.{name}": _FEW for name in ("get", "create", "update", "copy")},
}


def mask_of(method: Description, fields: str) -> Mask:
    """What the answer is cut to; {} is the whole."""
    fields = fields or _DEFAULTS.get(method.id, "")
    schema = method.schema("response")
    if not fields or schema is None:
        return {}
    tokens = _TOKEN.findall(fields)
    if "".join(tokens) != fields:
        raise _invalid(fields)
    mask = _list(tokens, fields)
    if tokens:
        raise _invalid(fields)
    _require_known(method.document["schemas"], schema, mask)
    return mask


def chosen(mask: Mask | None, value: Any) -> Any:
    """Those parts of an answer that a mask names."""
    if not mask or ("*" in mask and not mask["*"]):
        return value
    if isinstance(value, list):
        return [chosen(mask, item) for item in value]
    if not isinstance(value, dict):
        return value
    below = {name: mask[name] if name in mask else mask.get("*") for name in value}
    return {
        name: chosen(below[name], item) for name, item in value.items() if below[name] is not None
    }


def _list(tokens: list[str], whole: str) -> Mask:
    mask: Mask = {}
    while True:
        _path(tokens, mask, whole)
        if not tokens or tokens[0] != ",":
            return mask
        tokens.pop(0)


def _path(tokens: list[str], mask: Mask, whole: str) -> None:
    if not tokens or tokens[0] in "(),/":
        raise _invalid(whole)
    inner = mask.setdefault(tokens.pop(0), {})
    if tokens and tokens[0] == "/":
        tokens.pop(0)
        _path(tokens, inner, whole)
    elif tokens and tokens[0] == "(":
        tokens.pop(0)
        inner.update(_list(tokens, whole))
        if not tokens or tokens.pop(0) != ")":
            raise _invalid(whole)


def _require_known(schemas: Json, schema: Json, mask: Mask) -> None:
    schema = schemas[schema["$ref"]] if "$ref" in schema else schema
    if "items" in schema:
        _require_known(schemas, schema["items"], mask)
        return
    for name, inner in mask.items():
        if name == "*":
            continue
        below = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        if below is None:
            raise _invalid(name)
        _require_known(schemas, below, inner)


def _invalid(what: str) -> Refused:
    return Refused(400, "invalidParameter", f"Invalid field selection {what}")
