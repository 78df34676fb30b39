"""Where brackets that are open close again, in text that is not quite JSON.

It knows strings in either quotes and brackets, nothing else, and it reads as a `JsonScan` does:
in pieces, each character once. A quote that should have been escaped can lead it astray; then it
does not find the end, or what it finds cannot be repaired.
"""

from __future__ import annotations

import re

from callblocks.parsing.json_scan import Halt, ScanState

__all__ = ("Brackets",)

_PLAIN = re.compile(r"[\"'\[\]{}]")
_QUOTED = {quote: re.compile(rf"[\\{quote}]") for quote in "\"'"}


class Brackets:
    """Fed text, stops after the bracket that closes the first one, or `depth` that came before."""

    def __init__(self, depth: int = 0) -> None:
        self.state = ScanState.OPEN
        self.halt = 0
        self._depth = depth
        self._quote = ""
        self._escaped = False

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
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            found = (_QUOTED[self._quote] if self._quote else _PLAIN).search(text, at)
            if found is None:
                return len(text)
            at = found.end()
            self._heed(found[0])
        return at

    def _heed(self, char: str) -> None:
        if char == "\\":
            self._escaped = True
        elif char in ('"', "'"):
            self._quote = "" if self._quote else char
        elif char in ("[", "{"):
            self._depth += 1
        else:
            self._depth -= 1
            self.state = ScanState.OPEN if self._depth > 0 else ScanState.STOPPED
