"""Owners of lower rank: they are asked where every dialect that is read has refused a block.

A `Sibling` is a dialect of the same family, or one that shares an opening marker: models write
the spelling of an older version, or of another family that they have seen. `ForeignBodies` reads
what stands between the markers of a dialect in another notation than its own. What they read has
a problem that says so, and what they need to be sure of, they must still be sure of: they count
as guesses, also where one dialect is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, cast

from callblocks.model.events import Problem
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.markers import Shape
from callblocks.parsing.openers import Owner, Setting
from callblocks.parsing.shapes.foreign_body import Bodies, read_foreign_body
from callblocks.parsing.stage import Reading
from callblocks.parsing.thinking import Pairs

__all__ = ("Fallback", "ForeignBodies", "Sibling")


class Fallback:
    """What owners of lower rank share: they think nothing and end no turn.

    Each is a class of its own, for the name of an owner is one of its class.
    """

    name: ClassVar[str]
    follows_fences: ClassVar[bool] = False
    in_fence_bodies: ClassVar[bool] = True
    reasoning: ClassVar[Pairs] = ()
    calls_end_reasoning: ClassVar[bool] = False
    turn_ends: ClassVar[tuple[str, ...]] = ()


class Sibling(Fallback):
    """Reads what a dialect reads where it is only guessed, and names it in a problem."""

    calls_end_reasoning: ClassVar[bool] = True

    def __init__(self, dialect: Owner) -> None:
        self._dialect = dialect

    @staticmethod
    def of(dialect: Owner) -> Sibling:
        """Return a dialect as a sibling."""
        made = type(Sibling.__name__, (Sibling,), {"name": dialect.name})
        return cast("type[Sibling]", made)(dialect)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """The markers that open a block whoever the writer is."""
        return self._dialect.openers(setting._replace(alone=False))

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read a block of the dialect, and add the problem to each of its calls."""
        stage, before = block.stage, len(block.stage.ready)
        refused = yield from self._dialect.read(block)
        end, place = (stage.said, stage.said), (block.start, stage.said)
        for _, index in stage.ready[before:]:
            stage.say(Problem("sibling-dialect", f"written as {self.name}", end, place, index))
        return refused


class _HasBodies(Owner, Protocol):
    @property
    def bodies_between(self) -> Bodies | None: ...


class ForeignBodies(Fallback):
    """Reads the bodies of a dialect's blocks in another notation.

    `is_named` says that the dialect is not guessed: where no tools are declared, any name may be
    that of one.
    """

    def __init__(self, bodies: Bodies, *, is_named: bool) -> None:
        self._bodies = bodies
        self._is_named = is_named

    @staticmethod
    def of(dialect: _HasBodies, *, is_named: bool) -> ForeignBodies | None:
        """Return who reads the foreign bodies of a dialect, if its markers can hold any."""
        bodies = dialect.bodies_between
        if bodies is None:
            return None
        made = type(ForeignBodies.__name__, (ForeignBodies,), {"name": dialect.name})
        return cast("type[ForeignBodies]", made)(bodies, is_named=is_named)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """The markers behind which a body stands."""
        return (*self._bodies.section, *self._bodies.opening)

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read a body, or refuse it."""
        block.stage.alone = self._is_named
        return read_foreign_body(block, self._bodies)
