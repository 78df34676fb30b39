"""Which dialects were asked to read a marker, who refused it and why, and who took it.

    <tool_call> at 3:1: hermes expected `{` and found “<function=now>⏎”; qwen3_coder took it

Only markers that several know, or that nobody took, are worth a line; and none of one or two
characters, for a bracket in prose opens nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from callblocks.parsing.attempts import Attempt
from callblocks.views.rows import Bit, Row
from callblocks.views.safe import visible_line

__all__ = ("Asked",)

_SHORTEST = 3


class Asked:
    """Reads a list that grows: what a parser keeps of its attempts."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        self._trials = attempts
        self._told = 0

    def tell(self, said: int) -> Iterator[tuple[int, str, Row]]:
        """Of what is decided up to an offset: where the marker stands, itself, and who did what."""
        for offset, marker, asked in self.groups(said):
            yield offset, marker, tuple(_row(asked))

    def groups(self, said: int) -> Iterator[tuple[int, str, list[Attempt]]]:
        """Of what is decided up to an offset: a marker, where it stands, and who was asked."""
        ready = self._told
        while ready < len(self._trials) and self._trials[ready].offset < said:
            ready += 1
        attempts, self._told = self._trials[self._told : ready], ready
        for offset, group in groupby(attempts, key=lambda attempt: attempt.offset):
            asked = list(group)
            marker = max((attempt.marker.strip() for attempt in asked), key=len)
            if len(marker) >= _SHORTEST and any(one.refusal for one in asked):
                yield offset, marker, asked


def _row(asked: list[Attempt]) -> Iterator[Bit]:
    for number, attempt in enumerate(_once_each(asked)):
        yield "quiet", "; " if number else ""
        yield "plain", attempt.owner
        refusal = attempt.refusal
        if refusal is None:
            yield "quiet", " took it"
            continue
        yield "quiet", f" expected {visible_line(refusal.expected)} and found "
        if refusal.found:
            found = refusal.found.replace("\r", "").replace("\n", "⏎")
            yield "mark", f"“{visible_line(found)}”"
        else:
            yield "quiet", "the end of the text"
    if asked[-1].refusal:
        yield "quiet", ". It is text"


def _once_each(asked: list[Attempt]) -> Iterator[Attempt]:
    """Leave out that a dialect refused again: the first reason is about its own grammar."""
    refused: set[str] = set()
    for attempt in asked:
        if attempt.refusal is None or attempt.owner not in refused:
            yield attempt
        if attempt.refusal:
            refused.add(attempt.owner)
