"""Taking a turn on a timeline, so that only one runs there at a time, and giving it back.

A turn that nobody has any more is interrupted: its calls get their outcomes, and it ends, before
another is taken.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from callblocks.model.calls import Call
from callblocks.model.errors import TurnRunning
from callblocks.model.outcomes import Outcome
from callblocks.models.model import Usage
from callblocks.runtime.journal import Journal
from callblocks.session.ending import INTERRUPTED, Ending
from callblocks.session.interrupted import (
    having_turn,
    interrupted_turn,
    new_owner,
    open_turn,
    owner_lives,
)
from callblocks.session.left_calls import LeftCalls
from callblocks.timeline.recorder import GivenFile, Recorder
from callblocks.timeline.state import State

__all__ = ("TurnTaking",)


class TurnTaking:
    """The turns of one session; `journal` knows which of its calls had begun."""

    def __init__(self, recorder: Recorder, journal: Journal | None) -> None:
        self._recorder = recorder
        self._journal = journal
        self._owner = new_owner()

    def having(self) -> AbstractContextManager[None]:
        """Have a turn: until the end of this no other session takes it for left."""
        return having_turn(self._owner)

    def left(self) -> str | None:
        """The last turn, if it is not over and nobody has it any more."""
        state = self._recorder.state
        turn = open_turn(state)
        return None if turn is None or self._is_elsewhere(state, turn) else turn

    def interrupted(self) -> str | None:
        """The last turn, if it was left, or marked as such; `TurnRunning` where it runs."""
        state = self._recorder.state
        self._check(state)
        return open_turn(state) or interrupted_turn(state)

    def take(self, prompt: str, files: Iterable[GivenFile], chosen: Mapping[str, Any]) -> str:
        """Take the next turn with its prompt; one that was left is ended first.

        `TurnRunning` where one runs, `ToolError` where a file cannot be written.
        """
        self.give_up()
        if left := self.left():
            self.settle(left)
            self.end(left, INTERRUPTED, Usage())
        return self._recorder.begin_turn(
            prompt, files, owner=self._owner, check=self._check, chosen=chosen
        )

    def take_over(self, turn: str) -> tuple[list[Outcome], list[Call]]:
        """Go on with a turn that was left: what came of its calls, and those that can still run."""
        self._recorder.take_over(turn, self._owner, self._check)
        return self.pause(turn)

    def pause(self, turn: str, begun: Container[str] = ()) -> tuple[list[Outcome], list[Call]]:
        """Give each call an outcome that cannot run any more; those that still can wait."""
        return LeftCalls(self._recorder, self._journal, turn).settle(keep=True, begun=begun)

    def give_up(self) -> None:
        """Give calls an outcome that wait for an interrupted turn to go on: it does not."""
        if turn := interrupted_turn(self._recorder.state):
            self.settle(turn)

    def settle(self, turn: str) -> list[Outcome]:
        """Give each call of a turn an outcome, where it has none."""
        return LeftCalls(self._recorder, self._journal, turn).settle()[0]

    def end(self, turn: str, ending: Ending, usage: Usage, tainted: Sequence[str] = ()) -> None:
        """Write that a turn is over."""
        self._recorder.end_turn(turn, **ending.record(usage, tainted))

    def _check(self, state: State) -> None:
        turn = open_turn(state)
        if turn is not None and self._is_elsewhere(state, turn):
            name = self._recorder.timeline.name
            raise TurnRunning(f"{turn} of {name} runs elsewhere; wait for its end")

    def _is_elsewhere(self, state: State, turn: str) -> bool:
        owner = state.owners[turn]
        return owner != self._owner and owner_lives(owner, self._recorder.silence())
