"""Owners of lower rank: they are asked where every dialect that is read has refused a block.

A `Sibling` is a dialect of the same family, or one that shares an opening marker: models write
the spelling of an older version, or of another family that they have seen. `Respelled` is the
dialect itself with other bars in its markers. `ForeignBodies` reads what stands between the
markers of a dialect in another notation than its own.

What they read has a problem that says so, and what they need to be sure of, they must still be
sure of: they count as guesses, also where one dialect is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from callblocks.model.events import Problem
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.markers import Shape
from callblocks.parsing.openers import Owner, Setting
from callblocks.parsing.shapes.foreign_body import Bodies, read_foreign_body
from callblocks.parsing.shapes.tags import begun
from callblocks.parsing.spelling import is_barred
from callblocks.parsing.stage import Reading
from callblocks.parsing.thinking import Pairs

__all__ = ("Fallback", "ForeignBodies", "Respelled", "Sibling")


class Fallback:
    """What owners of lower rank share: they think nothing and end no turn.

    Each is a class of its own, for the name of an owner is one of its class.
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
    """Reads what a dialect reads where it is only guessed, and names it in a problem."""

    def __init__(self, dialect: Owner) -> None:
        self.dialect = dialect
        self.closers = dialect.closers

    @staticmethod
    def of(dialect: Owner) -> Sibling:
        """Return a dialect as a sibling."""
        made = type(Sibling.__name__, (Sibling,), {"name": dialect.name})
        return cast("type[Sibling]", made)(dialect)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """The markers that open a block whoever the writer is."""
        return self.dialect.openers(setting._replace(alone=False))

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read a block of the dialect, and add the problem to each of its calls."""
        return _read_with_problem(block, self.dialect, "sibling-dialect", f"written as {self.name}")


class Respelled(Fallback):
    """Reads a dialect whose markers are spelt with other bars or blanks than its own."""

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
        """The markers that have bars; what else opens a block has no other spelling."""
        openers = self._dialect.openers(setting._replace(alone=False))
        return tuple(one for one in openers if is_barred(begun(one)))

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read a block of the dialect, and add the problem to each of its calls."""
        block.stage.alone = self._is_named
        detail = "its markers have other bars or blanks than they should"
        return _read_with_problem(block, self._dialect, "misspelt-tag", detail)


def _read_with_problem(
    block: Block, dialect: Owner, code: str, detail: str
) -> Reading[Refused | None]:
    stage, before = block.stage, len(block.stage.ready)
    refused = yield from dialect.read(block)
    end, place = (stage.said, stage.said), (block.start, stage.said)
    for _, index in stage.ready[before:]:
        stage.say(Problem(code, detail, end, place, index))
    return refused


class ForeignBodies(Fallback):
    """Reads the bodies of a dialect's blocks in another notation.

    `is_named` says that the dialect is not guessed: where no tools are declared, any name may be
    that of one.
    """

    def __init__(self, bodies: Bodies, *, is_named: bool) -> None:
        self._bodies = bodies
        self._is_named = is_named

    @staticmethod
    def of(name: str, bodies: Bodies, *, is_named: bool) -> ForeignBodies:
        """Return who reads such bodies of the dialect with this name."""
        made = type(ForeignBodies.__name__, (ForeignBodies,), {"name": name})
        return cast("type[ForeignBodies]", made)(bodies, is_named=is_named)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """The markers behind which a body stands."""
        return (*self._bodies.section, *self._bodies.opening)

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read a body, or refuse it."""
        block.stage.alone = self._is_named
        return read_foreign_body(block, self._bodies)
