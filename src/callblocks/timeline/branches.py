"""Branches: a turn follows the one before it, or any earlier one.

    turn_1 ── turn_2 ── turn_3            the person edited the prompt of turn_2:
          └── turn_4 ── turn_5            turn_4 follows turn_1, and is shown instead of turn_2

A log only grows, so nothing is replaced: a prompt that was edited and an answer that was asked for
again stay. The prompt of a turn says in its meta which turn it follows (`after`, "" for none), and
whose prompt it repeats (`again`). Without it a turn follows the one written before it. The path of
a turn is that turn with all that it follows; a model is shown the path of its own turn alone, and
a page that of the newest one, or of any other.

May import: core. Start with `Branches`.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from callblocks.core.blocks import Block

__all__ = ("BRANCH", "Branch", "Branches", "Versions")

BRANCH = "branch"
"""The name of the branch in a prompt's meta."""


class Branch(msgspec.Struct, frozen=True):
    """The place of a turn: the turn that it follows, "" for none, and the one it asks again."""

    after: str
    again: str = ""


class Versions(msgspec.Struct, frozen=True, omit_defaults=True):
    """The versions of a prompt or an answer, oldest first, each by a turn; `at` counts from 1."""

    at: int
    turns: list[str]


class Branches:
    """The turns of a timeline by what they follow. Fed its blocks, in their order."""

    def __init__(self) -> None:
        # Each turn with the one it follows, and each with the first turn that had its prompt.
        self._parents: dict[str, str] = {}
        self._origins: dict[str, str] = {}
        self._is_plain = True

    def __contains__(self, turn: object) -> bool:
        return turn in self._parents

    @property
    def last(self) -> str:
        """Return the turn that was written last; "" where there is none."""
        return next(reversed(self._parents), "")

    def feed(self, block: Block) -> None:
        """Take a block; only prompts count."""
        turn = block.turn_id
        if block.type != "user.prompt" or turn in self._parents:
            return
        after, again = self.last, ""
        said: Any = block.meta.get(BRANCH)
        if isinstance(said, dict):
            fields = cast("dict[str, Any]", said)
            # A turn that this timeline does not have is followed by nothing: the part that was
            # kept of a timeline may begin in the middle.
            if fields.get("after") in ("", *self._parents):
                after = fields["after"]
            again = fields.get("again", "")
            self._is_plain = False
        self._parents[turn] = after
        self._origins[turn] = self._origins.get(again, turn)

    def path(self, turn: str = "") -> list[str]:
        """Return the turns that lead to a turn, and itself; without one, to the last."""
        found: list[str] = []
        at = turn if turn in self._parents else self.last
        while at:
            found.append(at)
            at = self._parents[at]
        return found[::-1]

    def hidden(self, turn: str = "") -> frozenset[str]:
        """Return the turns that are not on the path of a turn, nor written after it."""
        if self._is_plain and turn in ("", self.last):
            return frozenset()
        return frozenset(self._parents.keys() - set(self.path(turn)))

    def newest(self, turn: str) -> str:
        """Return the last turn that was written of those that follow a turn, or itself."""
        following = {turn}
        newest = turn
        for one, after in self._parents.items():
            if after in following:
                following.add(one)
                newest = one
        return newest

    def parent(self, turn: str) -> str:
        """Return the turn that a turn follows; "" for none."""
        return self._parents[turn]

    def answers(self, turn: str) -> Versions:
        """Return the turns that answer the same prompt at the same place."""
        turns = [one for one in self._siblings(turn) if self._same(one, turn)]
        return Versions(turns.index(turn) + 1, turns)

    def prompts(self, turn: str) -> Versions:
        """Return the prompts at the same place, each by the last of its answers."""
        last: dict[str, str] = {}
        for one in self._siblings(turn):
            last[self._origins[one]] = one
        origin = self._origins[turn]
        return Versions(list(last).index(origin) + 1, [*last.values()])

    def _siblings(self, turn: str) -> list[str]:
        after = self._parents[turn]
        return [one for one, of in self._parents.items() if of == after]

    def _same(self, one: str, other: str) -> bool:
        return self._origins[one] == self._origins[other]
