"""Where brackets that are open close again, in text that is not quite JSON.

It knows strings in either quotes, comments and brackets, nothing else, and it reads as a
`JsonScan` does: in pieces, each character once. A quote that should have been escaped can lead it
astray; then it does not find the end, or what it finds cannot be repaired.
"""

from __future__ import annotations

import re

from callblocks.parsing.json_scan import Halt, ScanState

__all__ = ("Brackets",)

# What may end each state: plain text, a string in either quotes, a comment of either kind.
_SPECIAL = {
    "": re.compile(r"[\"'\[\]{}/]"),
    '"': re.compile(r"[\\\"]"),
    "'": re.compile(r"[\\']"),
    "//": re.compile(r"\n"),
    "/*": re.compile(r"\*"),
}


class Brackets:
    """Fed text, stops after the bracket that closes the first one, or `depth` that came before."""

    def __init__(self, depth: int = 0) -> None:
        self.state = ScanState.OPEN
        self.halt = 0
        self._depth = depth
        # The string or comment that is open, and a character whose meaning the next one tells.
        self._inside = ""
        self._half = ""

    def search(self, hurry: object) -> Brackets:
        """What settles the next pieces; none is quicker."""
        return self

    def __call__(self, text: str) -> Halt | None:
        end = self.feed(text)
        if self.state is ScanState.OPEN:
            return None
        self.halt = end
        return Halt(end)

    def feed(self, text: str, at: int = 0) -> int:
        """Take text from `at` and say up to where: its end, or right after the last bracket."""
        while at < len(text) and self.state is ScanState.OPEN:
            if self._half:
                at += self._second(text[at])
                continue
            found = _SPECIAL[self._inside].search(text, at)
            if found is None:
                return len(text)
            at = found.end()
            self._heed(found[0])
        return at

    def _second(self, char: str) -> bool:
        """Whether a character makes one thing with the half before it."""
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
        elif char in "[{":
            self._depth += 1
        else:
            self._depth -= 1
            self.state = ScanState.OPEN if self._depth > 0 else ScanState.STOPPED
