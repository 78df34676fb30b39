"""A scan for the bracket that closes a value, in text that is not quite JSON.

It knows strings in either quotes, comments and brackets, nothing else, and has the interface of
`JsonScan`: it reads pieces, each character once. A quote that should have been escaped can mislead
it; then it finds no end, or the text that it delimits cannot be repaired.

States: `_inside` is the open string or comment, `""` in plain text. `_half` is a character whose
meaning depends on the next one, which may be in the next piece: `\\`, `/` or `*`.
"""

from __future__ import annotations

import re
from typing import ClassVar

from callblocks.parsing.values.json_scan import Halt, ScanState

__all__ = ("Brackets", "PythonBrackets")

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
