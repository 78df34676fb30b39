"""Secrets in values: what a name says of the value beside it, in all the ways to put the two.

    {"password": ["hunter2"]}                           {"password": ["[redacted]"]}
    ["login", "--password", "hunter2"]                  ["login", "--password", "[redacted]"]
    [["DB_PASSWORD", "hunter2"]]                        [["DB_PASSWORD", "[redacted]"]]
    {"name": "Authorization", "value": "Basic dTpw"}    {"name": "Authorization", "value": …}
    {"Cookie": "sid=38afes7a8"}                         {"Cookie": "[redacted]"}

Every text in the value is redacted by its look too. Truth values, null and empty texts stay: they
say that there is no secret. Names that are equal once redacted are counted: `… (2)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from callblocks.model.redaction import REDACTED, is_secret_key, redact

__all__ = ("without_secrets",)

_TYPES = frozenset(
    (
        *("string", "number", "integer", "boolean", "object", "array", "null"),
        *("varchar", "optional", "required", "undefined"),
    )
)
_NAMES = ("name", "key", "header")
_VALUES = ("value", "val")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_LOGIN = re.compile(r"([^:/]{1,64}:).+", re.DOTALL)
_COOKIE = re.compile(r"(?:.*[_-])?cookies?", re.IGNORECASE | re.DOTALL)
_PAIR = re.compile(r"[\w.-]{1,64}=\S{3}")
# A working directory has the same name, and is a path.
_PWD = re.compile(r"(?:(?s:.*)[^A-Za-z]|[a-z]+(?=P))?(?:pwd|PWD|Pwd)")
# What stands under the address of a page is the page, also where it is about passwords.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PLACE = re.compile(r"[/~.$\\]|[A-Za-z]:|\Z")


def without_secrets(value: Any) -> Any:
    """A plain value with every obvious secret replaced."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return _object(cast("dict[str, Any]", value))
    if isinstance(value, list):
        return list(_items(cast("list[Any]", value)))
    return value


def _object(given: dict[str, Any]) -> dict[str, Any]:
    named = next((given[name] for name in _NAMES if isinstance(given.get(name), str)), "")
    kept: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for key, item in given.items():
        shown = redact(key)
        while shown in kept:
            counts[shown] = counts.get(shown, 1) + 1
            shown = f"{redact(key)} ({counts[shown]})"
        kept[shown] = _under(named if named and key in _VALUES else key, item)
    return kept


def _under(key: str, value: Any) -> Any:
    """A value under a name."""
    if is_secret_key(key) and not (isinstance(value, dict) and _ADDRESS.match(key)):
        return without_secrets(value) if _is_schema(value) else _hidden(value)
    if _COOKIE.fullmatch(key):
        return _cookies(value)
    if isinstance(value, str) and _PWD.fullmatch(key) and not _PLACE.match(value):
        return REDACTED
    return without_secrets(value)


def _is_schema(value: Any) -> bool:
    """Whether a value describes a parameter of that name."""
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("type") in _TYPES


def _hidden(value: Any) -> Any:
    """A secret: all of it, in whatever it is wrapped."""
    if isinstance(value, dict):
        return {redact(key): _hidden(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_hidden(item) for item in cast("list[Any]", value)]
    return value if value is None or value in ("", True, False) else REDACTED


def _cookies(value: Any) -> Any:
    """What stands under `cookie`: a header, or names and values; else it is something to eat."""
    if isinstance(value, str):
        return REDACTED if _PAIR.search(value) else redact(value)
    if isinstance(value, list):
        return [_cookies(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    said = cast("dict[str, Any]", value)
    secret = [key for key in _VALUES if key in said] or list(said)
    hidden = {key: REDACTED for key in secret if _is_long(said[key])}
    return _object(said | hidden)


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > 5 and not re.search(r"\s", value)


def _items(items: list[Any]) -> Iterator[Any]:
    """The items of a list; one of two may be a name and its value, and so may neighbours."""
    is_curl = bool(items) and isinstance(items[0], str) and items[0].endswith("curl")
    before: Any = None
    for item in items:
        if isinstance(item, str) and _is_option(before) and not item.startswith("-"):
            yield _hidden(item)
        elif isinstance(item, str) and is_curl and before in ("-u", "--user"):
            yield _LOGIN.sub(rf"\1{REDACTED}", item)
        elif _is_pair(item):
            yield [redact(item[0]), REDACTED]
        else:
            yield without_secrets(item)
        before = item


def _is_option(item: Any) -> bool:
    if not isinstance(item, str) or not _OPTION.fullmatch(item):
        return False
    return is_secret_key(item.lstrip("-"))


def _is_pair(item: Any) -> bool:
    match item:
        case [str(name), str(value)]:
            return is_secret_key(name) and len(value) > 5 and value.lower() not in _TYPES
        case _:
            return False
