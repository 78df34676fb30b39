"""What a row of call objects looks like: one object, an array, or lines, up to what closes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.shapes.keys import Heads, Keys

__all__ = ("Row",)

# What models put between calls and mean nothing by: a word, a comment, a mark of a list.
_STRAY = r"[^{}\[\]<]{1,40}"
_GAP = "[ \\t\\r\\n]{0,20}"
_IN_ARRAY = Markers(Shape((_STRAY, r"(?=[{\]])")))


@dataclass(frozen=True)
class Row:
    """What a row looks like.

    `closing` are the markers that end it, `opening` those that begin the next one. `separators`
    may stand between objects outside of an array; with `many`, nothing needs to. `trailing` are
    markers that may follow the row. `silent` are names that call nothing. `natural` are repairs
    that are none here, `repairs` those that every call of it needed. `as_text` says that
    arguments are strings that hold JSON. A row that is not `sure` is one only if its objects have
    a name and arguments; with `only_known`, the name of a tool, where tools are known. With
    `may_lack_input`, one without arguments is a call of a tool that requires none. With `early`,
    a call begins with its arguments, for whoever hears it can take it back. With
    `mends`, an object that is no JSON is repaired also where it is not sure. The codes of its
    problems are `general` where no dialect has it as its own.
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
        """How most objects begin."""
        return self.keys.heads()

    @cached_property
    def closers(self) -> Markers:
        """What ends the row."""
        return Markers(*self.closing)

    @cached_property
    def trailers(self) -> Markers:
        """What may follow the row."""
        return Markers(*self.trailing)

    def strays(self, *, in_array: bool) -> Markers:
        """Text between two calls; what follows it makes sure that it is."""
        if not self.sure or not (in_array or self.is_closed):
            return Markers()
        return _IN_ARRAY if in_array else self._between

    @cached_property
    def _between(self) -> Markers:
        return Markers(Shape((_STRAY, r"\{", _GAP, '"')))

    @cached_property
    def stray_ends(self) -> Markers:
        """Text between the last call and a marker that ends the row."""
        markers = self.closing if self.sure and self.is_closed else ()
        return Markers(*(Shape((_STRAY, *map(re.escape, one))) for one in markers))

    @cached_property
    def is_closed(self) -> bool:
        """Whether a marker closes it; a bracket is none, for it may stand anywhere."""
        return any(one.strip("}]") for one in self.closing)

    @cached_property
    def ends(self) -> Markers:
        """What ends a row that is no JSON."""
        tokens = (one for one in self.trailing if one.startswith("<|"))
        return Markers(*(self.closing if self.is_closed else ()), *self.opening, *tokens)
