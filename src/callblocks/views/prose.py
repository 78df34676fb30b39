"""Prose as rows: Markdown keeps its marks and gets its weight.

    # Heading          strong
    **bold** `code`    strong, code
    ``` … ```          code, as it stands

Nothing is taken away, so prose that is copied from a terminal is what the model wrote.
"""

from __future__ import annotations

import re

from callblocks.views.rows import Bit, Kind, Row, wrap
from callblocks.views.safe import visible

__all__ = ("Prose",)

LONGEST = 2000
"""A longer line is no prose that anybody set in bold."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6} ")
_INDENT = re.compile(r" *(?:[-*+] |\d{1,3}[.)] |> )?")
_SPAN = re.compile(r"(`+)(?!`)[^\n]+?(?<!`)\1(?!`)|\*\*(?=\S)[^*\n]+\*\*")


class Prose:
    """Draws prose line by line; it remembers whether it is inside a code fence."""

    def __init__(self) -> None:
        self._fence = ""

    @property
    def in_fence(self) -> bool:
        """Whether the next line stands in a code fence, where blank lines count."""
        return bool(self._fence)

    def copy(self) -> Prose:
        """One that goes on from here, without moving this one."""
        twin = Prose()
        twin._fence = self._fence
        return twin

    def draw(self, line: str, width: int, kind: Kind = "plain") -> list[Row]:
        """Draw one line, without its end."""
        safe = visible(line)
        opened = _FENCE.match(safe)
        if self._fence or opened:
            self._follow(safe, opened)
            return [(("code", safe),)] if safe else [()]
        indent = _INDENT.match(safe)
        hang = " " * (indent.end() if indent else 0)
        return wrap(_styled(safe, kind), width, (("plain", hang),) if hang else ())

    def _follow(self, line: str, opened: re.Match[str] | None) -> None:
        if not self._fence:
            self._fence = opened[1] if opened else ""
        elif line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self._fence = ""


def _styled(line: str, kind: Kind) -> Row:
    if kind != "plain" or len(line) > LONGEST:
        return ((kind, line),)
    if _HEADING.match(line):
        return (("heading", line),)
    bits: list[Bit] = []
    at = 0
    for found in _SPAN.finditer(line):
        bits.append(("plain", line[at : found.start()]))
        bits.append(("code" if found[1] else "strong", found[0]))
        at = found.end()
    bits.append(("plain", line[at:]))
    return tuple(bit for bit in bits if bit[1])
