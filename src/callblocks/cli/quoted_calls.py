"""A hint where a text has calls in code fences only, which are examples by default.

callblocks: 2 calls are quoted in code fences; --in-code-fences reads them
"""

from __future__ import annotations

from callblocks.cli.dialect_name import AUTO
from callblocks.cli.exits import say
from callblocks.cli.reading import Read, ReadingOptions, make_parser
from callblocks.model.events import CallReady, Malformed, Problem

__all__ = ("QuotedCalls",)

_LONGEST = 1_000_000
"""Characters of a text that are looked through a second time."""


class QuotedCalls:
    """Watches a text as it is read; at its end it is looked through again, if no call was found."""

    def __init__(self, options: ReadingOptions) -> None:
        self._options = options
        self._pieces: list[str] = []
        self._room = _LONGEST
        self._over = options["in_code_fences"] is not None or AUTO not in options["dialect"]

    def feed(self, read: Read) -> None:
        """Take a piece and its events."""
        piece, events = read
        self._room -= len(piece)
        found = any(isinstance(event, CallReady | Malformed | Problem) for event in events)
        self._over = self._over or found or self._room < 0
        if self._over:
            self._pieces.clear()
        else:
            self._pieces.append(piece)

    def tell(self) -> None:
        """Say how many calls are in code fences, where there are any."""
        if self._over:
            return
        parser = make_parser({**self._options, "in_code_fences": True})
        events = [*parser.feed("".join(self._pieces)), *parser.close()]
        count = sum(isinstance(event, CallReady) for event in events)
        if count == 1:
            say("a call is quoted in a code fence; --in-code-fences reads it")
        elif count:
            say(f"{count} calls are quoted in code fences; --in-code-fences reads them")
