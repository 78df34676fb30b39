"""Secrets in structured values: a name that marks the value beside it, in every arrangement.

    {"password": ["hunter2"]}                           {"password": ["••••••••"]}
    ["login", "--password", "hunter2"]                  ["login", "--password", "••••••••"]
    [["DB_PASSWORD", "hunter2"]]                        [["DB_PASSWORD", "••••••••"]]
    {"name": "Authorization", "value": "Basic dTpw"}    {"name": "Authorization", "value": …}
    {"Cookie": "sid=38afes7a8"}                         {"Cookie": "••••••••"}

Every text in the value is also masked by its own shape. Booleans, null and empty texts stay: they
show that there is no secret. Names that are equal once masked are numbered: `… (2)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from callblocks.model.redaction import REDACTED, Masked, cover, is_secret_key, mask
from callblocks.model.value_places import is_reference, read_json

__all__ = ("MaskedValue", "mask_secrets", "without_secrets")

_TYPES = frozenset(
    (
        *("string", "number", "integer", "boolean", "object", "array", "null"),
        *("varchar", "optional", "required", "undefined"),
    )
)
_NAMES = ("name", "key", "header")
_VALUES = ("value", "val")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_LOGIN = re.compile(r"([^:/]{1,64}:)(.+)", re.DOTALL)
_COOKIE = re.compile(r"(?:.*[_-])?cookies?", re.IGNORECASE | re.DOTALL)
_PAIR = re.compile(r"[\w.-]{1,64}=\S{3}")
# A working directory has the same name (pwd), and is a path.
_PWD = re.compile(r"(?:(?s:.*)[^A-Za-z]|[a-z]+(?=P))?(?:pwd|PWD|Pwd)")
# The value under the URL of a page is the page, even if the page is about passwords.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PLACE = re.compile(r"[/~.$\\]|[A-Za-z]:|\Z")


class MaskedValue(NamedTuple):
    """A plain value whose secrets are masked; `is_whole` means that nothing else is."""

    value: Any
    is_whole: bool


def without_secrets(value: Any) -> Any:
    """Return a plain value with every obvious secret masked."""
    return mask_secrets(value).value


def mask_secrets(value: Any) -> MaskedValue:
    """Mask every obvious secret in a plain value, and report whether only plain values were
    masked.
    """
    masking = _Masking()
    masked = masking.value(value)
    return MaskedValue(masked, masking.is_whole and not (masking.is_covering and _refers(value)))


class _Masking:
    """The masking of one value; `is_whole` until a mask covers more than a value.

    A word of a list can be a command or the name of a file, and one deep inside of a secret can be
    anything: neither is a mere value.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self.is_covering = False

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return self._object(cast("dict[str, Any]", value))
        if isinstance(value, list):
            return list(self._items(cast("list[Any]", value)))
        return value

    def _text(self, text: str) -> str:
        masked = mask(text)
        # JSON inside a text is judged by its content.
        if masked.text is not text and (said := read_json(text)) is not None:
            self.value(said)
        return self._take(masked)

    def _take(self, masked: Masked) -> str:
        self.is_whole = self.is_whole and masked.is_whole
        self.is_covering = self.is_covering or REDACTED in masked.text
        return masked.text

    def _object(self, given: dict[str, Any]) -> dict[str, Any]:
        named = next((given[name] for name in _NAMES if isinstance(given.get(name), str)), "")
        kept: dict[str, Any] = {}
        counts: dict[str, int] = {}
        for key, item in given.items():
            shown = self._take(mask(key))
            # Two different names may be equal once masked; dropping one would hide an argument from
            # the person.
            while shown in kept:
                counts[shown] = counts.get(shown, 1) + 1
                shown = f"{mask(key).text} ({counts[shown]})"
            kept[shown] = self._under(named if named and key in _VALUES else key, item)
        return kept

    def _under(self, key: str, value: Any) -> Any:
        """Return a value under a name."""
        if is_secret_key(key) and not (isinstance(value, dict) and _ADDRESS.match(key)):
            return self.value(value) if _is_schema(value) else self._hidden(value)
        if _COOKIE.fullmatch(key):
            return self._cookies(value)
        if isinstance(value, str) and _PWD.fullmatch(key) and not _PLACE.match(value):
            return self._take(cover(value))
        return self.value(value)

    def _hidden(self, value: Any) -> Any:
        """Mask a secret: all of it, in whatever structure."""
        if isinstance(value, dict):
            given = cast("dict[str, Any]", value)
            self.is_whole = False
            return {self._take(mask(key)): self._hidden(item) for key, item in given.items()}
        if isinstance(value, list):
            items = cast("list[Any]", value)
            self.is_whole = self.is_whole and len(items) < 2
            return [self._hidden(item) for item in items]
        if isinstance(value, str):
            return self._take(cover(value)) if value else value
        return value if value is None or isinstance(value, bool) else REDACTED

    def _cookies(self, value: Any) -> Any:
        """Mask a value under `cookie`: a header, or names and values; any other text is food."""
        if isinstance(value, str):
            return self._take(cover(value) if _PAIR.search(value) else mask(value))
        if isinstance(value, list):
            return [self._cookies(item) for item in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        said = cast("dict[str, Any]", value)
        secret = [key for key in _VALUES if key in said] or list(said)
        hidden = {key: self._take(cover(said[key])) for key in secret if _is_long(said[key])}
        return self._object(said | hidden)

    def _items(self, items: list[Any]) -> Iterator[Any]:
        """Mask items of a list; a pair may be a name and its value, and so may neighbours."""
        # `-u` means a login to curl only; for other programs it is usually a user name.
        is_curl = bool(items) and isinstance(items[0], str) and items[0].endswith("curl")
        before: Any = None
        for item in items:
            if isinstance(item, str) and _is_option(before) and not item.startswith("-"):
                self.is_whole = False
                yield self._hidden(item)
            elif isinstance(item, str) and is_curl and before in ("-u", "--user"):
                yield self._login(item)
            elif _is_pair(item):
                yield [self._take(mask(item[0])), self._take(cover(item[1]))]
            else:
                yield self.value(item)
            before = item

    def _login(self, item: str) -> str:
        login = _LOGIN.fullmatch(item)
        return item if login is None else login[1] + self._take(cover(login[2]))


def _refers(value: Any) -> bool:
    """Return whether a text in the value may stand for another value."""
    if isinstance(value, str):
        return is_reference(value)
    if isinstance(value, dict):
        return any(map(_refers, cast("dict[str, Any]", value).values()))
    return isinstance(value, list) and any(map(_refers, cast("list[Any]", value)))


def _is_schema(value: Any) -> bool:
    """Return whether a value is the schema of a parameter of that name."""
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("type") in _TYPES


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > 5 and not re.search(r"\s", value)


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
