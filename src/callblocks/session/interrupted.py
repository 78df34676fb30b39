"""A turn whose program died: who had it, what of its calls is known, and what is left to do.

    ended in the journal           its outcome is written now
    begun, and nobody knows more   `indeterminate`: it is not done again by itself
    not begun                      it may still run, if the timeline has all of its input

A call that changes nothing is not in the journal: it counts as not begun.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

from callblocks.model.blocks import Entry
from callblocks.model.calls import Call
from callblocks.model.outcomes import Failure, Outcome
from callblocks.runtime.journal import Entry as Intended
from callblocks.runtime.journal import Journal
from callblocks.runtime.processes import lives, this_process
from callblocks.timeline.emitting.call_blocks import is_whole, params_of
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.state import State

__all__ = ("Left", "interrupted_turn", "open_turn", "owner_lives", "this_owner", "turn_key")

_UNKNOWN = (
    "the program ended while this call of {name} ran, and nobody knows whether it was done;"
    " look before it is done again"
)
_NOT_RUN = "the program ended before this call of {name} did"


def this_owner() -> str:
    """This program, on this machine."""
    return f"{socket.gethostname()}/{this_process()}"


def owner_lives(owner: str) -> bool:
    """Whether a program is still there; of another machine nobody knows, so it counts as such."""
    host, _, process = owner.rpartition("/")
    try:
        return host != socket.gethostname() or lives(process)
    except ValueError:
        return False


def open_turn(state: State) -> str | None:
    """The turn that was taken last by a program that said so, if it is not over."""
    turn = next(reversed(state.owners), None)
    return None if turn in state.ended else turn


def interrupted_turn(state: State) -> str | None:
    """The turn that was taken last, if it was marked as interrupted."""
    turn = next(reversed(state.owners), "")
    return turn if state.ended.get(turn) == "interrupted" else None


def turn_key(timeline: str, turn: str) -> str:
    """The turn as the journal knows it: there, many timelines meet."""
    return f"{timeline}.{turn}"


class Left:
    """The calls of a turn that have no result, and what became of them."""

    def __init__(self, recorder: Recorder, journal: Journal | None, turn: str) -> None:
        self._recorder = recorder
        key = turn_key(recorder.timeline.name, turn)
        intents = journal.of_turn(key) if journal is not None else []
        self._intents = {one.intent.call: one for one in intents}
        self._turn = turn

    def settle(self, *, keep: bool = False) -> tuple[list[Outcome], list[Call]]:
        """Give each call its outcome; with `keep`, those that may still run are left out of it."""
        outcomes: list[Outcome] = []
        runnable: list[Call] = []
        for entry in list(self._open()):
            block = entry.block
            intended = self._intents.get(block.call_id)
            if keep and intended is None and is_whole(block):
                call = Call(id=block.call_id, name=block.tool_id, input=params_of(block))
                runnable.append(call)
                continue
            outcome = _outcome(entry, intended)
            self._recorder.settle(entry, outcome)
            outcomes.append(outcome)
        return outcomes, runnable

    def _open(self) -> Iterator[Entry]:
        with self._recorder.lock:
            state = self._recorder.state
            entries = [one for one in state.backwards() if one.block.turn_id == self._turn]
            for entry in reversed(entries):
                block = entry.block
                if block.type == "react.tool.call" and not state.has(_result_path(entry)):
                    yield entry


def _result_path(entry: Entry) -> str:
    return f"tc:{entry.block.turn_id}.{entry.block.call_id}.result"


def _outcome(entry: Entry, intended: Intended | None) -> Outcome:
    block = entry.block
    if intended is not None and intended.outcome is not None:
        return intended.outcome
    code, words = ("cancelled", _NOT_RUN) if intended is None else ("indeterminate", _UNKNOWN)
    failure = Failure(code=code, message=words.format(name=block.tool_id))
    return Outcome(id=block.call_id, name=block.tool_id, error=failure)
