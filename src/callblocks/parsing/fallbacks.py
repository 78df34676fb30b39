"""Fallback readers, which are asked if all dialects have refused a block.

    Sibling         a dialect of the same family, or one that shares an opening marker: models write
                    the spelling of an older version, or of another family that they have seen
    Respelled       the dialect itself with other bars or blanks in its markers
    Doubled         the dialect itself with its opening marker twice
    ForeignBodies   the dialect's markers around another notation than its own

Each call that they read gets a problem that says so. Fallbacks count as guesses even if the caller
named a single dialect: their ambiguous openers need confirmation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, cast

from callblocks.core.events import Problem
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Shape, is_barred, with_lf
from callblocks.parsing.engine.openers import Owner, Setting
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.engine.reasoning import Pairs
from callblocks.parsing.readers.foreign_body import Bodies, read_foreign_body
from callblocks.parsing.readers.tags import BLANKS, begun

__all__ = ("Doubled", "Fallback", "ForeignBodies", "Respelled", "Sibling")


class Fallback:
    """The base of fallbacks: they have no reasoning and end no turn.

    Each instance has a class of its own (`of`), because the name of an owner is a class attribute.
    """

    name: ClassVar[str]
    follows_fences: ClassVar[bool] = False
    in_fence_bodies: ClassVar[bool] = True
    reasoning: ClassVar[Pairs] = ()
    calls_end_reasoning: ClassVar[bool] = False
    reasoning_breaks: ClassVar[tuple[str, ...]] = ()
    turn_ends: ClassVar[tuple[str, ...]] = ()
    closers: tuple[str, ...] = ()


class Sibling(Fallback):
    """A dialect as a guess, which adds a problem with its name to each call."""

    def __init__(self, dialect: Owner) -> None:
        self.dialect = dialect
        self.closers = dialect.closers

    @staticmethod
    def of(dialect: Owner) -> Sibling:
        """Return a dialect as a sibling."""
        made = type(Sibling.__name__, (Sibling,), {"name": dialect.name})
        return cast("type[Sibling]", made)(dialect)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """Return the unambiguous openers of the dialect."""
        return self.dialect.openers(setting._replace(alone=False))

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read a block of the dialect, and add the problem to each of its calls."""
        return _read_with_problem(block, self.dialect, "sibling-dialect", f"written as {self.name}")


class Respelled(Fallback):
    """A dialect with other bars or blanks in its markers."""

    def __init__(self, dialect: Owner, *, is_named: bool) -> None:
        self._dialect = dialect
        self.closers = dialect.closers
        self._is_named = is_named

    @staticmethod
    def of(dialect: Owner, *, is_named: bool) -> Respelled:
        """Return the reader of a dialect whose markers were respelled."""
        made = type(Respelled.__name__, (Respelled,), {"name": dialect.name})
        return cast("type[Respelled]", made)(dialect, is_named=is_named)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """Return the openers that have bars; the others have no second spelling."""
        openers = self._dialect.openers(setting._replace(alone=False))
        return tuple(one for one in openers if is_barred(begun(one)))

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read a block of the dialect, and add the problem to each of its calls."""
        block.stage.alone = self._is_named
        detail = "its markers have other bars or blanks than they should"
        return _read_with_problem(block, self._dialect, "misspelt-tag", detail)


class Doubled(Fallback):
    """A dialect behind its own opening marker, which models repeat: `<tool_call><tool_call>{`."""

    def __init__(self, dialect: Owner) -> None:
        self._dialect = dialect
        self.closers = dialect.closers

    @staticmethod
    def of(dialect: Owner) -> Doubled:
        """Return the reader of a dialect whose opening marker stands twice."""
        made = type(Doubled.__name__, (Doubled,), {"name": dialect.name})
        return cast("type[Doubled]", made)(dialect)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """Return the openers that are unambiguous, each behind its own beginning."""
        sure = self._dialect.openers(setting._replace(alone=False))
        return tuple(_twice(one, first) for one in sure if (first := _first(one)))

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read a block of the dialect, and add the problem to each of its calls."""
        sure = self._dialect.openers(Setting(alone=False))
        firsts = [first for one in sure if block.marker.startswith(first := _first(one))]
        second = block.opening[max(map(len, firsts)) :].lstrip()
        block.taken[:] = [block.opening.removesuffix(second), second]
        block.opening, block.marker = second, with_lf(second)
        detail = "its opening marker stands twice"
        return (yield from _read_with_problem(block, self._dialect, "misspelt-tag", detail))


# Shorter markers are tags that HTML has, too: `<code>`.
_LEAST_MARKER = 7


def _first(opener: str | Shape) -> str:
    """Return the marker that an opener begins with, or "" if it begins with none."""
    first = begun(opener)
    at_line_start = isinstance(opener, Shape) and opener.at_line_start
    is_marker = first.endswith(("]", ">")) and len(first) >= _LEAST_MARKER
    return first if is_marker and not at_line_start else ""


def _twice(opener: str | Shape, first: str) -> Shape:
    """Return an opener behind its own beginning."""
    start = (*map(re.escape, first), BLANKS)
    if isinstance(opener, str):
        return Shape((*start, *map(re.escape, opener)))
    return opener._replace(atoms=(*start, *opener.atoms))


def _read_with_problem(
    block: Block, dialect: Owner, code: str, detail: str
) -> Reading[Refused | None]:
    # The problems come behind all calls of the block: which calls it has is known only then.
    stage, before = block.stage, len(block.stage.ready)
    refused = yield from dialect.read(block)
    end, place = (stage.said, stage.said), (block.start, stage.said)
    for _, index in stage.ready[before:]:
        stage.say(Problem(code, detail, end, place, index))
    return refused


class ForeignBodies(Fallback):
    """A reader of a dialect's blocks whose bodies are in another notation.

    `is_named`: the dialect is not guessed, so if no tools are declared any name may be a tool's.
    """

    def __init__(self, bodies: Bodies, *, is_named: bool) -> None:
        self._bodies = bodies
        self._is_named = is_named

    @staticmethod
    def of(name: str, bodies: Bodies, *, is_named: bool) -> ForeignBodies:
        """Return the reader of such bodies for the dialect of this name."""
        made = type(ForeignBodies.__name__, (ForeignBodies,), {"name": name})
        return cast("type[ForeignBodies]", made)(bodies, is_named=is_named)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """Return the markers behind which a body stands."""
        return (*self._bodies.section, *self._bodies.opening)

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read a body, or refuse it."""
        block.stage.alone = self._is_named
        return read_foreign_body(block, self._bodies)
