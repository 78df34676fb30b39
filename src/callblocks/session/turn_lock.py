"""Taking a turn on a timeline, so that only one runs there at a time, and giving it back.

A turn that nobody has any more is interrupted: its calls get their outcomes, and it ends, before
another is taken.
"""

from __future__ import annotations

import socket
from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from callblocks.core.blocks import Block, Entry
from callblocks.core.calls import Call, CheckedCall
from callblocks.core.errors import TurnRunning
from callblocks.core.outcomes import Failure, Outcome
from callblocks.guard.workers.worker_process import lives, this_process
from callblocks.models.model import Usage
from callblocks.runtime.journal import Journal, JournalUnavailable
from callblocks.runtime.journal import JournalEntry as Intended
from callblocks.session.event_gate import INTERRUPTED, Ending
from callblocks.session.taint import taint_meta
from callblocks.timeline.branches import BRANCH, Branch
from callblocks.timeline.codec.call_blocks import checked_of, is_whole, params_of
from callblocks.timeline.recorder import GivenFile, Recorder
from callblocks.timeline.timeline import State

__all__ = (
    "LeftCalls",
    "TurnTaking",
    "cluster_owner",
    "having_turn",
    "interrupted_turn",
    "new_owner",
    "open_turn",
    "owner_lives",
    "this_owner",
    "turn_key",
)

# --- Ownership of turns, and detection of turns whose owner is gone ---
#
#     host/4711:88123        a process: host name, process id and start time
#     host/4711:88123#3      one session of that process
#
# A turn is owned from the block that begins it to the block that ends it. It counts as left if its
# process is dead, or if the process lives but this session does not run it (`_HERE`). The start
# time tells a process from a later one with the same id. Liveness on another machine cannot be
# observed: there the silence of the timeline decides.
#
#     cluster/17             turn 17 of a cluster, whichever worker runs it
#
# A cluster gives a turn to one worker at a time, and asks its own table who has it before it asks
# here. So for whoever comes here nobody has such a turn.

# Seconds without a block after which a process on another machine loses its turn.
_SILENT = 3600.0
_NUMBERS = count(1)
# The sessions of this process that own a turn.
_HERE: set[str] = set()


_CLUSTER = "cluster/"


def cluster_owner(id: int) -> str:
    """Return the owner that names a turn of a cluster."""
    return f"{_CLUSTER}{id}"


def this_owner() -> str:
    """Return the owner that names this process on this machine."""
    return f"{socket.gethostname()}/{this_process()}"


def new_owner() -> str:
    """Return a new owner that names one session of this process."""
    return f"{this_owner()}#{next(_NUMBERS)}"


@contextmanager
def having_turn(owner: str) -> Generator[None, None, None]:
    """Register a session as the owner of a turn for the duration of the block."""
    _HERE.add(owner)
    try:
        yield
    finally:
        _HERE.discard(owner)


def owner_lives(owner: str, silent: float = 0.0) -> bool:
    """Return whether the owner still has its turn; `silent` is the seconds since its last block.

    Another machine, or a container that had another name, cannot be checked: its owner counts as
    alive until the timeline was silent for an hour.
    """
    if owner.startswith(_CLUSTER):
        return False
    host, _, process = owner.partition("#")[0].rpartition("/")
    if host != socket.gethostname():
        return silent < _SILENT
    if process == this_process():
        return owner in _HERE
    try:
        return lives(process)
    except ValueError:
        return False


def open_turn(state: State) -> str | None:
    """Return the turn that was begun last and names an owner, if it is not over."""
    turn = next(reversed(state.owners), None)
    return None if turn in state.ended else turn


def interrupted_turn(state: State) -> str | None:
    """Return the turn that was begun last, if it is marked as interrupted."""
    turn = next(reversed(state.owners), "")
    return turn if state.ended.get(turn) == "interrupted" else None


def turn_key(recorder: Recorder, turn: str) -> str:
    """Return the key of a turn in the journal, which many timelines share.

    The hash tells apart timelines of the same name in different stores.
    """
    first = recorder.state.turns[turn]
    (entry,) = recorder.timeline.entries(after=first - 1, limit=1)
    return f"{recorder.timeline.name}.{turn}.{entry.hash[:16]}"


# --- The calls of a turn that have no result, and what can still be done for them ---
#
#     ended in the journal           write its outcome to the timeline now
#     begun, but no outcome          `indeterminate`: never run it again automatically
#     not begun                      run it, if the timeline has its whole input
#
# A call without side effects is not in the journal and counts as not begun. If the journal cannot
# be read, every call counts as possibly begun.

_UNKNOWN = (
    "the program ended while this call of {name} ran, and nobody knows whether it was done;"
    " look before it is done again"
)
_NOT_RUN = "the program ended before this call of {name} was done"


class LeftCalls:
    """The calls that a turn has left open on its timeline."""

    def __init__(self, recorder: Recorder, journal: Journal | None, turn: str) -> None:
        self._recorder = recorder
        self._turn = turn
        self._calls = self._open()
        self._intents = self._begun(journal) if self._calls else {}

    def settle(
        self, *, keep: bool = False, begun: Container[str] = ()
    ) -> tuple[list[Outcome], list[Call]]:
        """Give each call its outcome; return the outcomes and, with `keep`, the calls that may
        still run.

        `begun` are calls that are known to have begun, whatever the journal says.
        """
        outcomes: list[Outcome] = []
        runnable: list[Call] = []
        for entry in self._calls:
            block = entry.block
            # `begun` matters in a process that still lives: a call without side effects has no
            # intent in the journal, yet it runs. Resuming the turn must not run it a second time
            # beside itself.
            if keep and block.call_id not in begun and self._may_run(block):
                call = Call(id=block.call_id, name=block.tool_id, input=params_of(block))
                runnable.append(call)
            else:
                outcome, ran = self._outcome(block)
                # The journal does not record taint, so its outcome counts as text of others.
                why = [] if ran is None else [f"the result of {ran.name} in the journal"]
                self._recorder.settle(entry, outcome, ran, origins=taint_meta(why))
                outcomes.append(outcome)
        return outcomes, runnable

    def _open(self) -> list[Entry]:
        with self._recorder.lock:
            state, open_calls = self._recorder.state, list[Entry]()
            first = state.turns.get(self._turn, 0)
            # Read backwards: the open calls are near the end, and timelines grow long.
            for entry in state.backwards():
                if entry.seq < first:
                    break
                if _is_call(entry.block, self._turn) and not state.has(_result_path(entry.block)):
                    open_calls.append(entry)
        return open_calls[::-1]

    def _begun(self, journal: Journal | None) -> dict[str, Intended] | None:
        """Return the journal's intents by call; `None` if the journal cannot be read."""
        if journal is None:
            return {}
        try:
            intents = journal.of_turn(turn_key(self._recorder, self._turn))
        except JournalUnavailable:
            return None
        return {one.intent.call: one for one in intents}

    def _may_run(self, block: Block) -> bool:
        return self._intents is not None and block.call_id not in self._intents and is_whole(block)

    def _outcome(self, block: Block) -> tuple[Outcome, CheckedCall | None]:
        """Return the outcome of a call, and the call as it ran, if the journal has it."""
        known = self._intents or {}
        intended = known.get(block.call_id)
        if intended is not None and intended.outcome is not None:
            # The intent has the tool and the input that ran, the block what the model wrote.
            intent = intended.intent
            ran = replace(checked_of(block), name=intent.tool, input=intent.input)
            return intended.outcome, ran
        is_unknown = self._intents is None or intended is not None
        code, words = ("indeterminate", _UNKNOWN) if is_unknown else ("cancelled", _NOT_RUN)
        failure = Failure(code=code, message=words.format(name=block.tool_id))
        return Outcome(id=block.call_id, name=block.tool_id, error=failure), None


def _is_call(block: Block, turn: str) -> bool:
    return block.type == "react.tool.call" and block.turn_id == turn


def _result_path(block: Block) -> str:
    return f"tc:{block.turn_id}.{block.call_id}.result"


# --- Taking a turn on a timeline, so that only one runs there at a time, and giving it back ---


class TurnTaking:
    """The turns of one session; `journal` knows which of its calls had begun.

    `owner` is the one that turns are taken for, if that is not this session of this process.
    """

    def __init__(self, recorder: Recorder, journal: Journal | None, owner: str = "") -> None:
        self._recorder = recorder
        self._journal = journal
        self._owner = owner or new_owner()

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

    def take(
        self,
        prompt: str,
        files: Iterable[GivenFile],
        chosen: Mapping[str, Any],
        branch: Branch | None = None,
    ) -> str:
        """Take the next turn with its prompt; one that was left is ended first.

        `TurnRunning` where one runs, `ToolError` where a file cannot be written.
        """
        self.give_up()
        if left := self.left():
            self.settle(left)
            self.end(left, INTERRUPTED, Usage())
        more = {} if branch is None else {BRANCH: to_builtins(branch)}
        return self._recorder.begin_turn(
            prompt, files, owner=self._owner, check=self._check, chosen=chosen, **more
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
