"""Repairs of calls that are not quite JSON or Python: brackets, rows of objects, arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from callblocks.core.calls import Span
from callblocks.parsing.values.strict_json import Halt, ScanState, read_json, read_json_at
from callblocks.parsing.values.tolerant_json import Tolerant, Unrepairable

__all__ = (
    "Brackets",
    "Broken",
    "Mended",
    "PythonBrackets",
    "escape_quotes",
    "mend",
    "mend_value",
    "read_keywords",
    "read_mended",
)

# --- A scan for the bracket that closes a value, in text that is not quite JSON ---
#
# It knows strings in either quotes, comments and brackets, nothing else, and has the interface of
# `JsonScan`: it reads pieces, each character once. A quote that should have been escaped can
# mislead it; then it finds no end, or the text that it delimits cannot be repaired.
#
# States: `_inside` is the open string or comment, `""` in plain text. `_half` is a character whose
# meaning depends on the next one, which may be in the next piece: `\`, `/` or `*`.


# The characters that may end each state: plain text, a string in either quotes, either comment.
_SPECIAL = {
    "": re.compile(r"[\"'\[\]{}/]"),
    '"': re.compile(r"[\\\"]"),
    "'": re.compile(r"[\\']"),
    "//": re.compile(r"\n"),
    "/*": re.compile(r"\*"),
}


class Brackets:
    """A scan that stops behind the bracket that closes the first one, or `depth` earlier ones."""

    _special: ClassVar = _SPECIAL

    def __init__(self, depth: int = 0) -> None:
        self.state = ScanState.OPEN
        self.halt = 0
        self._depth = depth
        # The open string or comment, and a character whose meaning depends on the next one.
        self._inside = ""
        self._half = ""

    @property
    def is_closed(self) -> bool:
        """True once the last bracket was consumed."""
        return self.state is ScanState.STOPPED

    def search(self, hurry: object) -> Brackets:
        """Return the search for the next pieces: the scan itself, there is no faster one."""
        return self

    def __call__(self, text: str) -> Halt | None:
        end = self.feed(text)
        if self.state is ScanState.OPEN:
            return None
        self.halt = end
        return Halt(end)

    def feed(self, text: str, at: int = 0) -> int:
        """Consume text from `at`; return its end, or the position behind the last bracket."""
        while at < len(text) and self.state is ScanState.OPEN:
            if self._half:
                at += self._second(text[at])
                continue
            found = self._special[self._inside].search(text, at)
            if found is None:
                return len(text)
            at = found.end()
            self._heed(found[0])
        return at

    def _second(self, char: str) -> bool:
        """Combine a character with the half before it; return whether that consumed it."""
        half, self._half = self._half, ""
        if half == "/" and char in "/*":
            self._inside = half + char
        elif half == "*" and char == "/":
            self._inside = ""
        elif half != "\\":
            return False
        return True

    def _heed(self, char: str) -> None:
        if char in "\\/*":
            self._half = char
        elif char in "\"'\n":
            self._inside = "" if self._inside else char
        elif char in "([{":
            self._depth += 1
        else:
            self._depth -= 1
            self.state = ScanState.OPEN if self._depth > 0 else ScanState.STOPPED


class PythonBrackets(Brackets):
    """The same scan for Python: with parentheses, and without comments.

    It consumes at most `most` characters: a caller that rewinds must not read the whole text again.
    """

    _special: ClassVar = _SPECIAL | {"": re.compile(r"[\"'()\[\]{}]")}

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def feed(self, text: str, at: int = 0) -> int:
        """Consume text from `at`; the state is BROKEN once that is more than `most`."""
        end = super().feed(text[: at + self._left], at)
        self._left -= end - at
        if self.state is ScanState.OPEN and self._left <= 0:
            self.state = ScanState.BROKEN
        return end


# --- A row of call objects in text that is over and is not quite JSON ---
#
# An element that cannot be read must not cost the others. Strategy:
#
#     1. Read each element tolerantly, as far as it goes.
#     2. After the first fault the row is read carefully: the start of the next element is found
#        first, and the element must end before it. `_next_object` finds it by counting brackets
#        outside of strings.
#     3. Where an open string hides the brackets, `_next_clean` accepts only elements that are
#        strict JSON up to the end of the row: anything less may be the contents of the string.
#     4. The text before the next element that was found is `Broken`.
#
# Why not search for the next `{"name"` from the start: a file that a call writes may contain calls.


_FENCE = re.compile(r"`{3,}\w{0,20}")
# The tokens by which brackets are counted: whole strings and comments, which hide brackets, then
# the brackets, commas, and a quote that opens no whole string. A string in single quotes counts
# only between JSON's own signs, since an apostrophe in text would open one.
_TOKEN = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|(?<=[\[{,:\s])'(?:[^'\\\n]|\\.){0,2000}'(?=\s*[:,}\]])"
    r"|//[^\n]*|/\*.*?\*/|[{}\[\],\"]",
    re.DOTALL,
)
_BLANKS = r"[ \t\r\n]{0,200}"
# The end of an object and the start of the next one with a quoted first key.
_HEAD = re.compile(rf"[}}\]]{_BLANKS},?{_BLANKS}(?=\{{{_BLANKS}\"[^\"\\\n]{{1,40}}\"{_BLANKS}:)")
_SEPARATOR = re.compile(r"[ \t\r\n]*(,?)[ \t\r\n]*")


class Mended(NamedTuple):
    """A value, its span, the spans of the members of its objects, and the codes of repairs.

    `after` is the position behind everything that belongs to it: its comma, the bracket of the
    row, a closing fence.
    """

    value: object
    start: int
    end: int
    after: int
    places: dict[int, dict[str, Span]]
    repairs: tuple[str, ...]


class Broken(NamedTuple):
    """A stretch up to `after` that holds no readable object, and the reason."""

    after: int
    reason: str


def mend(text: str, *, ended: bool, depth: int, in_array: bool) -> Iterator[Mended | Broken]:
    """Read the objects of a row one by one; a broken one without a successor ends the row."""
    row = _Row(text, ended=ended, depth=depth, in_array=in_array)
    while row.more:
        yield row.read()


class _Row:
    """A reader of a row; `at` is the position of its next element.

    Until something is broken, elements are read as far as they go. After that (`_careful`) each is
    read only up to the start of the next one: otherwise a fault in each element would make each
    read run to the end of the text, which is quadratic.
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
        """Resume behind an element that cannot be read.

        The element may only lack its end, and have run into the next one: at the first fault it is
        read once more, up to the start of that.
        """
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
        """Return the position of the next element and True, or the end of the row and False."""
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
    """Return where the next element begins, judged by brackets and strings; None if there is none.

    That is the first brace behind the closed current element, or a brace in a place where an object
    cannot hold one: right behind a member or a comma. (`{"a": 1, {"name"` lacks a brace.)
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
    """Return where elements begin that are strict JSON up to the end of the row, or None.

    An open string hides where its element ends. Text behind it counts only if it has no fault at
    all: otherwise it may be the contents of the string.
    """
    for head in _HEAD.finditer(text, at):
        if head.end() >= at:
            at, is_clean = _read_clean(text, head.end(), in_array=in_array)
            if is_clean:
                return head.end()
    return None


def _read_clean(text: str, at: int, *, in_array: bool) -> tuple[int, bool]:
    """Read objects separated by commas; return where they end, and whether the row ends there."""
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
    """Read the value at the start of a text, also in a fence, or raise `Unrepairable`."""
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
    """Return the value of a whole text and the codes of repairs, or raise `ValueError`."""
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


# --- The arguments of a call that is written as code: `query="tides", limit=3)` ---


_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*")
_NEXT = re.compile(r"\s*(,\s*\)|,|\))")
_CLOSED = re.compile(r"\s*\)")


def read_keywords(text: str, depth: int) -> tuple[dict[str, Any], int]:
    """Read arguments up to the closing parenthesis; return them, and the position behind it."""
    # Values are read tolerantly, as JSON or Python literals. `_NEXT` also takes a comma right
    # before the closing parenthesis, which ends the loop.
    value: dict[str, Any] = {}
    tolerant = Tolerant(text, ended=True, max_depth=depth)
    if closed := _CLOSED.match(text):
        return value, closed.end()
    at, after = 0, ","
    while after == ",":
        keyword = _KEYWORD.match(text, at)
        if keyword is None or keyword[1] in value:
            raise Unrepairable(f"no keyword at character {at + 1}")
        value[keyword[1]], end = tolerant.read(keyword.end())
        found = _NEXT.match(text, end)
        if found is None:
            raise Unrepairable(f"no comma or parenthesis at character {end + 1}")
        at, after = found.end(), found[1]
    return value, at


# --- A repair for unescaped quotes inside of the strings of a Python call ---
#
#     (command='sed -n '1,5p' a.txt')      is      (command='sed -n \'1,5p\' a.txt')
#
# A quote ends an argument if the next argument (`, name=`) or the end of the call follows it. Any
# other quote of the same kind belongs to the string.

# Blanks and names are bounded: an unbounded run would be scanned again for each quote before it,
# which is quadratic.
_ARGUMENT_BLANKS = r"[ \t\r\n]{0,100}"
_NAME = r"[A-Za-z_][\w.-]{0,100}"
_START = re.compile(rf"[(,]{_ARGUMENT_BLANKS}{_NAME}{_ARGUMENT_BLANKS}={_ARGUMENT_BLANKS}(['\"])")
_END = {
    quote: re.compile(
        rf"{quote}(?={_ARGUMENT_BLANKS}(?:,{_ARGUMENT_BLANKS}{_NAME}{_ARGUMENT_BLANKS}=|\){_ARGUMENT_BLANKS}(?:[\],]|\Z)))"
    )
    for quote in "'\""
}
_BARE = {quote: re.compile(rf"(\\.)|{quote}", re.DOTALL) for quote in "'\""}


def escape_quotes(text: str) -> str:
    """Return the arguments with the quotes inside of their strings escaped."""
    parts: list[str] = []
    at = 0
    while start := _START.search(text, at):
        quote = start[1]
        end = _END[quote].search(text, start.end())
        if end is None:
            break
        inside = text[start.end() : end.start()]
        parts += [
            text[at : start.end()],
            _BARE[quote].sub(lambda found, mark=quote: found[1] or f"\\{mark}", inside),
            quote,
        ]
        at = end.end()
    return "".join([*parts, text[at:]])
