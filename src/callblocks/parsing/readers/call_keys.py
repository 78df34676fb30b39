"""The keys of a call object: `{"name": NAME, "arguments": {…}}` and its variants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from callblocks.core.calls import Span
from callblocks.parsing.engine.ids import read_id
from callblocks.parsing.engine.markers import Markers, Shape

__all__ = ("Heads", "Keys", "Parts", "extra_of", "objects_in", "resolve")

_GAP = "[ \\t\\r\\n]{0,20}"
_BRACE = (r"\{", _GAP)
_WIDE_GAP = "[ \\t\\r\\n]{0,1000}"
_COMMA = (_GAP, ",", _GAP)
_OBJECT = re.compile(r"\s*\{\s*\"")
# Values that a lookahead passes, and the beginnings of all others.
_SHORT_VALUES = (('"', r'[^"\\\x00-\x1f]{0,64}', '"'), ("[0-9-]", "[0-9.eE+-]{0,30}"))
_LONG_VALUES = (
    (r'[^"0-9 \t\r\n-]',),
    ('"', r'[^"\\\x00-\x1f]{0,64}', r"[\\\x00-\x1f]"),
    ('"', r'[^"\\\x00-\x1f]{64}', r'[^"\\\x00-\x1f]'),
    ("[0-9-]", "[0-9.eE+-]{30}", "[0-9.eE+-]"),
)
_PLAIN = ('"', r'[^"\\\x00-\x1f]{1,64}', '"')


class Keys(NamedTuple):
    """The keys that are read; the first of each kind is written.

    id        the key of the call's id, or "" if the grammar has none
    nested    members that hold the call one level deeper
    single    the object's only key is the name itself: `{"ls": {"path": "."}}`
    wrapped   the call is written in a nested member
    id_first  the id is written before the name
    deep      a call is read in a nested member only
    """

    name: tuple[str, ...] = ("name",)
    input: tuple[str, ...] = ("arguments", "parameters")
    id: str = ""
    nested: tuple[str, ...] = ("function",)
    single: bool = False
    wrapped: bool = False
    id_first: bool = False
    deep: bool = False

    @property
    def known(self) -> tuple[str, ...]:
        """The keys with which a call object may begin."""
        flat = () if self.deep else (*self.name, *self.input)
        return (*flat, *self.nested, self.id, "type", "id")

    def beginnings(self, bracket: str = "{") -> tuple[tuple[str, ...], ...]:
        """Return the lookahead behind the bracket of unmarked calls, as rows of atoms.

        It covers the first key: an object with another first key is no call. A key with an escape
        may be any of them. `bracket` is a brace, or the bracket of an array.

        Many rows of data begin with an id or a type. Such a member must have another key of a call
        behind it, unless its value is none that is read at a glance.
        """
        before = (_WIDE_GAP, r"\{") if bracket == "[" else ()
        known = dict.fromkeys(self.known)
        letters = "".join(map(re.escape, sorted(set("".join(known)))))
        plain = rf"[{letters}]{{0,{max(map(len, known)) - 1}}}"
        keys = (*map(_quoted, known), ('"', plain, r"\\"))
        vague = dict.fromkeys(("id", "type", self.id or "id"))
        rows = [row for key, row in zip((*known, None), keys, strict=True) if key not in vague]
        for key in vague:
            colon = (*_quoted(key), _WIDE_GAP, ":", _WIDE_GAP)
            rows += [(*colon, *value) for value in _LONG_VALUES]
            rows += [
                (*colon, *value, _WIDE_GAP, ",", _WIDE_GAP, *then)
                for value in _SHORT_VALUES
                for then in keys
            ]
        return tuple((*before, _WIDE_GAP, *row) for row in rows)

    def said(self, name: str, value: object, id_: str, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object of a call."""
        if self.single:
            return {name: value, **extra}
        ids = {self.id: id_} if self.id else {}
        call = {self.name[0]: name, self.input[0]: value}
        if self.wrapped:
            return {**ids, "type": "function", self.nested[0]: call, **extra}
        return {**ids, **call, **extra} if self.id_first else {**call, **ids, **extra}

    def heads(self) -> Heads:
        """Return patterns for the usual beginnings; other objects are read member by member."""
        if self.single:
            return Heads(Markers(), Markers(), frozenset(), False, None)
        before, first = list[str](), list[str]()
        has_id = bool(self.id) and (self.id_first or self.wrapped)
        if has_id:
            first.append(self.id)
            before += (*_key(self.id), *_PLAIN, *_COMMA)
        if self.wrapped:
            function = (*_key("type"), *_quoted("function"), *_COMMA)
            first += ("type", self.nested[0])
            before += (*function, *_key(self.nested[0]), *_BRACE)
        return Heads(
            Markers(Shape((*_BRACE, *before, *_key(self.name[0]), *_PLAIN))),
            Markers(Shape((*_COMMA, *_key(self.input[0]), r'(?=[{"])'))),
            frozenset(((int(self.wrapped), self.name[0]), *((0, key) for key in first))),
            has_id,
            Markers(Shape((*_COMMA, *_key(self.id), *_PLAIN))) if self.id and not has_id else None,
        )


class Heads(NamedTuple):
    """Patterns for the usual beginning of a call: up to the end of its name, and to its arguments.

    `seen` are the keys in `begin` with their levels; `has_id` if one of them is the id's.
    `id_after` matches an id behind the arguments, if the grammar has one there.
    """

    begin: Markers
    then: Markers
    seen: frozenset[tuple[int, str]]
    has_id: bool
    id_after: Markers | None


class Parts(NamedTuple):
    """The parts of a call object; `place` is the span of its input."""

    name: str
    id: str | None
    input: Any
    place: Span | None
    extra: dict[str, Any]


def resolve(
    keys: Keys, value: object, at: int, places: Mapping[int, Mapping[str, Span]]
) -> Parts | None:
    """Return the parts of a complete call object, or None if it is no call.

    `places` maps the position of each object to the spans of its members.
    """
    if not isinstance(value, dict) or not value:
        return None
    members = cast("dict[str, Any]", value)
    inner = next((key for key in keys.nested if isinstance(members.get(key), dict)), None)
    if inner is not None and not keys.single:
        found = resolve(keys, members[inner], places[at][inner][0], places)
        others = {key: one for key, one in members.items() if key != inner}
        return found and found._replace(
            id=found.id or read_id(others.pop(keys.id, None)), extra=found.extra | extra_of(others)
        )
    named = next(iter(members)) if keys.single else next(filter(members.get, keys.name), "")
    name = named if keys.single else members.get(named)
    given = named if keys.single else next((key for key in keys.input if key in members), "")
    if not isinstance(name, str) or not name:
        return None
    others = {key: one for key, one in members.items() if key not in (named, given)}
    id_ = read_id(others.pop(keys.id, None))
    return Parts(name, id_, members.get(given), places[at].get(given), extra_of(others))


def _quoted(text: str) -> tuple[str, ...]:
    return ('"', *map(re.escape, text), '"')


def _key(text: str) -> tuple[str, ...]:
    return (*_quoted(text), _GAP, ":", _GAP)


def extra_of(others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members to keep beside the input: all but `"type": "function"`."""
    if not others:
        return {}
    return {key: one for key, one in others.items() if (key, one) != ("type", "function")}


def objects_in(extra: Mapping[str, Any]) -> list[str]:
    """The keys of the members that are objects, and not empty ones, or JSON of such."""
    return [key for key, one in extra.items() if _is_object(one)]


def _is_object(value: object) -> bool:
    if isinstance(value, str):
        return _OBJECT.match(value) is not None
    return bool(value) and isinstance(value, dict)
