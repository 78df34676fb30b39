"""The description of a row of call objects: one object, an array, or lines, up to a closing marker.

`Row` is data only; `RowReader` reads it. A dialect sets the fields that differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.shapes.keys import Heads, Keys

__all__ = ("Row",)

# Text without meaning that models put between calls: a word, a comment, a list mark.
_STRAY = r"[^{}\[\]<]{1,40}"
_GAP = "[ \\t\\r\\n]{0,20}"
_IN_ARRAY = Markers(Shape((_STRAY, r"(?=[{\]])")))


@dataclass(frozen=True)
class Row:
    """The syntax of a row.

    keys            the keys of a call object
    opening         markers that begin the next row
    closing         markers that end the row
    separators      characters that may stand between objects outside of an array
    many            objects may follow each other without a separator
    trailing        markers that may follow the row and belong to it
    silent          names that call nothing
    natural         repairs that are not reported, because the grammar is not quite JSON
    repairs         repairs that each call of the row needed
    as_text         arguments are strings that hold JSON
    sure            the markers alone make it a row; otherwise its objects need a name and arguments
    only_known      if tools are declared, the name must be one of them
    may_lack_input  an object without arguments calls a tool that requires none
    early           a call starts with its arguments; the caller can still discard its events
    mends           an object that is no JSON is repaired even if the row is not `sure`
    general         codes of problems are general ones, because no dialect owns the row
    """

    keys: Keys
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    separators: str = ",;"
    many: bool = True
    trailing: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    natural: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    as_text: bool = False
    sure: bool = True
    only_known: bool = False
    may_lack_input: bool = False
    early: bool = False
    mends: bool = False
    general: bool = False

    @cached_property
    def heads(self) -> Heads:
        """Patterns for the usual beginnings of objects."""
        return self.keys.heads()

    @cached_property
    def closers(self) -> Markers:
        """The markers that end the row."""
        return Markers(*self.closing)

    @cached_property
    def trailers(self) -> Markers:
        """The markers that may follow the row."""
        return Markers(*self.trailing)

    def strays(self, *, in_array: bool) -> Markers:
        """Return markers for stray text between two calls; the next call confirms it."""
        if not self.sure or not (in_array or self.is_closed):
            return Markers()
        return _IN_ARRAY if in_array else self._between

    @cached_property
    def _between(self) -> Markers:
        return Markers(Shape((_STRAY, r"\{", _GAP, '"')))

    @cached_property
    def stray_ends(self) -> Markers:
        """Markers for stray text between the last call and the marker that ends the row."""
        markers = self.closing if self.sure and self.is_closed else ()
        return Markers(*(Shape((_STRAY, *map(re.escape, one))) for one in markers))

    @cached_property
    def is_closed(self) -> bool:
        """True if a marker closes the row; a bracket is none, since it may stand anywhere."""
        return any(one.strip("}]") for one in self.closing)

    @cached_property
    def ends(self) -> Markers:
        """The markers that end a row with broken JSON."""
        tokens = (one for one in self.trailing if one.startswith("<|"))
        return Markers(*(self.closing if self.is_closed else ()), *self.opening, *tokens)
