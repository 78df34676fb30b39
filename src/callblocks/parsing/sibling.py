"""A dialect that the parser of another one reads too, with a problem that says so.

Models write the spelling of an older version of their family, or of another family that shares
their opening marker. A named dialect has such dialects as owners of lower rank: the named one is
asked first, and what a sibling needs to be sure of, it must still be sure of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from callblocks.model.events import Problem
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.markers import Shape
from callblocks.parsing.openers import Owner, Setting
from callblocks.parsing.stage import Reading
from callblocks.parsing.thinking import Pairs

__all__ = ("Sibling",)


class Sibling:
    """Reads what a dialect reads where it is only guessed, and names it in a problem."""

    name: ClassVar[str]
    follows_fences: ClassVar[bool] = False
    in_fence_bodies: ClassVar[bool] = True
    reasoning: ClassVar[Pairs] = ()
    calls_end_reasoning: ClassVar[bool] = True
    turn_ends: ClassVar[tuple[str, ...]] = ()

    def __init__(self, dialect: Owner) -> None:
        self._dialect = dialect

    @staticmethod
    def of(dialect: Owner) -> Sibling:
        """Return a dialect as a sibling; each is a class, for the name is one of a class."""
        made = type(Sibling.__name__, (Sibling,), {"name": dialect.name})
        return cast("type[Sibling]", made)(dialect)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """The markers that open a block whoever the writer is."""
        return self._dialect.openers(setting._replace(alone=False))

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read a block of the dialect, and add the problem to each of its calls."""
        stage, before = block.stage, len(block.stage.ready)
        refused = yield from self._dialect.read(block)
        for _, index in stage.ready[before:]:
            end = (stage.said, stage.said)
            place = (block.start, stage.said)
            stage.say(Problem("sibling-dialect", f"written as {self.name}", end, place, index))
        return refused
