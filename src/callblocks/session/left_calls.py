"""The calls of a turn that have no result, and what can still be done for them.

    ended in the journal           write its outcome to the timeline now
    begun, but no outcome          `indeterminate`: never run it again automatically
    not begun                      run it, if the timeline has its whole input

A call without side effects is not in the journal and counts as not begun. If the journal cannot be
read, every call counts as possibly begun.
"""

from __future__ import annotations

from collections.abc import Container

from msgspec.structs import replace

from callblocks.model.blocks import Block, Entry
from callblocks.model.calls import Call, CheckedCall
from callblocks.model.outcomes import Failure, Outcome
from callblocks.runtime.journal import Entry as Intended
from callblocks.runtime.journal import Journal, JournalUnavailable
from callblocks.session.interrupted import turn_key
from callblocks.session.tainting import taint_meta
from callblocks.timeline.emitting.call_blocks import checked_of, is_whole, params_of
from callblocks.timeline.recorder import Recorder

__all__ = ("LeftCalls",)

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
