"""Cleaning of text for XML and MessagePack: surrogates and control characters become U+FFFD."""

from __future__ import annotations

import re
from typing import Any, TypeVar, cast

import msgspec

__all__ = ("clean",)

T = TypeVar("T")
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def clean(value: T) -> T:
    """Return a copy with every string in it cleaned and with Unix line ends."""
    return cast("T", _clean(value))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _ODD.sub("\ufffd", value.replace("\r\n", "\n").replace("\r", "\n"))
    if isinstance(value, list):
        return [_clean(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        given = cast("dict[Any, Any]", value)
        return {_clean(key): _clean(one) for key, one in given.items()}
    if isinstance(value, msgspec.Struct):
        fields = {name: _clean(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value
