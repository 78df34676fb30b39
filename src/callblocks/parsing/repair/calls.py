"""Call objects in a text that is over and is not quite JSON: each with what was wrong in it.

One element that cannot be read costs no other. The place where the next one begins is found in
one of two ways (`_next_object`, `_next_clean`); what stands before it is `Broken`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from callblocks.model.calls import Span
from callblocks.parsing.json_value import read_json, read_json_at
from callblocks.parsing.repair.tolerant import Tolerant, Unrepairable

__all__ = ("Broken", "Mended", "mend", "mend_value", "read_mended")

_FENCE = re.compile(r"`{3,}\w{0,20}")
_TOKEN = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|(?<=[\[{,:\s])'(?:[^'\\\n]|\\.){0,2000}'(?=\s*[:,}\]])"
    r"|//[^\n]*|/\*.*?\*/|[{}\[\],\"]",
    re.DOTALL,
)
_BLANKS = r"[ \t\r\n]{0,200}"
_HEAD = re.compile(rf"[}}\]]{_BLANKS},?{_BLANKS}(?=\{{{_BLANKS}\"[^\"\\\n]{{1,40}}\"{_BLANKS}:)")
_SEPARATOR = re.compile(r"[ \t\r\n]*(,?)[ \t\r\n]*")


class Mended(NamedTuple):
    """A value, its place, where the members of its objects stand, and what was repaired.

    `after` is where what belongs to it ends: the bracket of a row, a fence, the next object.
    """

    value: object
    start: int
    end: int
    after: int
    places: dict[int, dict[str, Span]]
    repairs: tuple[str, ...]


class Broken(NamedTuple):
    """What stands up to `after` is no object that can be read, and why."""

    after: int
    reason: str


def mend(text: str, *, ended: bool, depth: int, in_array: bool) -> Iterator[Mended | Broken]:
    """Read the objects of a row, one by one; a broken one that none follows goes to the end."""
    row = _Row(text, ended=ended, depth=depth, in_array=in_array)
    while row.more:
        yield row.read()


class _Row:
    """The reading of a row: `at` is where its next element stands.

    Until something is broken, elements are read as far as they go. After that each is read only up
    to where the next one begins, so that no text is looked through for every element before it.
    """

    def __init__(self, text: str, *, ended: bool, depth: int, in_array: bool) -> None:
        self.text = text
        self.more = True
        self._inside = "[" if in_array else ""
        self._depth = depth + len(self._inside)
        self._ended = ended
        self._tolerant = tolerant = self._reader()
        self._careful = False
        self.at = tolerant.solid(0)
        self._fence = _FENCE.match(text, self.at)
        if self._fence:
            tolerant.note("repaired-fence")
            self.at = tolerant.solid(self._fence.end())
        if not in_array and text[self.at : self.at + 1] == "[":
            self._inside, self.at = "[", tolerant.solid(self.at + 1)
            tolerant.enter("[")

    def read(self) -> Mended | Broken:
        """Read the next element."""
        follows = _next_object(self.text, self.at) if self._careful else None
        try:
            return self._read(follows)
        except ValueError as error:
            return self._resume(str(error), follows)

    def _read(self, follows: int | None) -> Mended:
        if self.text[self.at : self.at + 1] != "{":
            raise Unrepairable("an object was expected")
        if follows is not None:
            return self._read_part(follows)
        tolerant, start = self._tolerant, self.at
        value, end = tolerant.read(start)
        after, self.more = self._next(end)
        closing = None if self.more or not self._fence else tolerant.solid(after)
        if closing is not None and (fence := _FENCE.match(self.text, closing)):
            after = fence.end()
        repairs = tuple(tolerant.repairs)
        tolerant.repairs.clear()
        self.at = after
        return Mended(value, start, end, after, tolerant.members, repairs)

    def _read_part(self, follows: int) -> Mended:
        """Read an element that must end before the next one."""
        start = self.at
        part = self.text[start:follows].rstrip(" \t\r\n,;")
        tolerant = Tolerant(part, ended=True, max_depth=self._depth)
        value, end = tolerant.read(0)
        if tolerant.solid(end) < len(part):
            raise Unrepairable(f"{part[end:].strip()!r:.60} stands after it")
        if self._inside and not self.text[start + end : follows].strip():
            tolerant.note("repaired-commas")
        places = {
            at + start: {key: (one + start, stop + start) for key, (one, stop) in each.items()}
            for at, each in tolerant.members.items()
        }
        self.at = follows
        return Mended(value, start, start + end, follows, places, tuple(tolerant.repairs))

    def _resume(self, reason: str, follows: int | None) -> Mended | Broken:
        """Go on after an element that cannot be read, which may only lack its end."""
        if follows is None and not self._careful:
            follows, self._careful = _next_object(self.text, self.at), True
            if follows is not None:
                try:
                    return self._read(follows)
                except ValueError:
                    pass
        if follows is None:
            follows = _next_clean(self.text, self.at, in_array=bool(self._inside))
        self.more = follows is not None
        self.at = len(self.text) if follows is None else follows
        self._tolerant = self._reader()
        return Broken(self.at, reason)

    def _reader(self) -> Tolerant:
        return Tolerant(self.text, ended=self._ended, max_depth=self._depth, inside=self._inside)

    def _next(self, end: int) -> tuple[int, bool]:
        """Where the next element stands, or where the row ends if there is none."""
        tolerant, text = self._tolerant, self.text
        at, commas = tolerant.solid(end), 0
        while self._inside and text[at : at + 1] == "}":
            tolerant.note("repaired-braces")
            at, end = tolerant.solid(at + 1), at + 1
        while text[at : at + 1] in (",", ";"):
            at, commas, end = tolerant.solid(at + 1), commas + 1, at + 1
        char = text[at : at + 1]
        if char == "{":
            if commas > 1 or (self._inside and not commas):
                tolerant.note("repaired-commas")
            return at, True
        if commas:
            tolerant.note("repaired-commas")
        if not self._inside:
            return end, False
        if char == "]":
            return at + 1, False
        if char and _next_object(text, at) is not None:
            self._careful = True
            return at, True
        tolerant.note("repaired-closing")
        return end, False


def _next_object(text: str, at: int) -> int | None:
    """Where the element after the one here begins, as far as brackets and strings tell.

    That is the first brace after all that is open has closed, or one that stands where an object
    can hold none: right behind a member or a comma. A row that is over has none.
    """
    open_: list[str] = []
    last = ""
    for token in _TOKEN.finditer(text, at):
        char = token[0]
        if char == "{" and token.start() > at:
            if not open_ or (open_[-1] == "{" and last in (",", "}")):
                return token.start()
            open_.append(char)
        elif char in ("{", "["):
            open_.append(char)
        elif char in ("}", "]"):
            if not open_ and char == "]":
                return None
            del open_[-1:]
        elif char == '"':
            return None
        last = char if char[0] != "/" else last
    return None


def _next_clean(text: str, at: int, *, in_array: bool) -> int | None:
    """Where elements begin that are JSON without a fault up to the end of the row.

    A string that is not closed hides where its element ends. What follows it counts only if
    nothing at all is wrong with it: else it may be what the string says.
    """
    for head in _HEAD.finditer(text, at):
        if head.end() >= at:
            at, is_clean = _read_clean(text, head.end(), in_array=in_array)
            if is_clean:
                return head.end()
    return None


def _read_clean(text: str, at: int, *, in_array: bool) -> tuple[int, bool]:
    """Read objects with commas between them; give where that ends, and if the row ends there."""
    comma = ","
    while comma and text[at : at + 1] == "{":
        try:
            _, at = read_json_at(text, at)
        except ValueError as error:
            return getattr(error, "pos", at) + 1, False
        separator = _SEPARATOR.match(text, at)
        assert separator is not None
        comma, at = separator[1], separator.end()
    if in_array:
        return at + 1, not comma and text[at : at + 1] == "]" and not text[at + 1 :].strip()
    return at + 1, not comma and at == len(text)


def mend_value(text: str, *, ended: bool, depth: int) -> Mended:
    """Read the value that a text begins with, also in a fence, or raise `Unrepairable`."""
    tolerant = Tolerant(text, ended=ended, max_depth=depth)
    at = tolerant.solid(0)
    fence = _FENCE.match(text, at)
    if fence:
        tolerant.note("repaired-fence")
        at = tolerant.solid(fence.end())
    value, end = tolerant.read(at)
    closing = fence and _FENCE.match(text, tolerant.solid(end))
    after = closing.end() if closing else end
    return Mended(value, at, end, after, tolerant.members, tuple(tolerant.repairs))


def read_mended(text: str, *, strict: bool, depth: int) -> tuple[Any, tuple[str, ...]]:
    """The value that all of a text is, and the codes of what was repaired; or `ValueError`."""
    try:
        return read_json(text, depth), ()
    except ValueError:
        if strict:
            raise
    tolerant = Tolerant(text, ended=True, max_depth=depth)
    value, end = tolerant.read(tolerant.solid(0))
    if tolerant.solid(end) < len(text):
        raise Unrepairable(f"{text[end:].strip()!r:.60} stands after it")
    return value, tuple(tolerant.repairs)
