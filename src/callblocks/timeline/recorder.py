"""Writes a session down as it happens, each step whole or not at all.

    turn = recorder.new_turn()                   one that nobody else has
    recorder.prompt(turn, text)                  what the person says, and attach() what they give
    recorder.notes(turn, call, text)             what the model says before a call
    recorder.started(turn, call)                 before it runs
    recorder.ended(turn, call, outcome)          after it ran, or was refused
    recorder.completion(turn, text)              the answer
    recorder.end_turn(turn, status="answered")   how it ended

    with recorder.together():                    several steps as one
        ...

All that it knows comes from the timeline, so it can be made anew at any time: a call that was
started before is not written twice, and where another writer was first, it looks again. An id
that a turn uses for a second call, of other tool or input or after the first has ended, is
`<id>-2` there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

from callblocks.model.blocks import Block, Entry
from callblocks.model.calls import Call
from callblocks.model.errors import TimelineError
from callblocks.model.outcomes import Notice, Outcome
from callblocks.model.paths import file_path
from callblocks.timeline.emitting.call_blocks import call_blocks, params_of
from callblocks.timeline.emitting.emit import emit, result_blocks
from callblocks.timeline.emitting.holdings import Holdings
from callblocks.timeline.emitting.messages import attachment_blocks, message_block, notes_block
from callblocks.timeline.emitting.notices import notice_blocks
from callblocks.timeline.emitting.shapes import Shape, shape_of
from callblocks.timeline.files import TurnFiles
from callblocks.timeline.keeping.artifacts import Artifacts
from callblocks.timeline.pool import SourcesPool
from callblocks.timeline.reading.skills import Skills
from callblocks.timeline.rounds import CacheSettings, CallKey, call_key
from callblocks.timeline.settings import settings_block, settings_text
from callblocks.timeline.stamp import Stamp, with_meta
from callblocks.timeline.stamping import (
    is_written,
    moment,
    seconds_since,
    stamp_of,
    stamp_of_call,
    stamp_of_next,
    stamp_of_running,
)
from callblocks.timeline.state import State
from callblocks.timeline.timeline import Timeline
from callblocks.timeline.tokens import Tokens
from callblocks.timeline.turns import next_turn

__all__ = ("Recorder",)

_TRIES = 20
"""How often a step is made anew because another writer was first."""


class Recorder:
    """The one who writes to a timeline. Every method may be called from any thread.

    `lock` is held while it writes: whoever reads the state in another thread holds it too.
    """

    def __init__(
        self,
        timeline: Timeline,
        files: TurnFiles,
        artifacts: Artifacts,
        *,
        tokens: Tokens | None = None,
        shapes: Mapping[str, Shape] | None = None,
        skills: Skills | None = None,
        cache: CacheSettings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.timeline = timeline
        self.skills = skills or Skills()
        self.lock = threading.RLock()
        self._state = State(cache)
        self.holdings = Holdings(
            files=files, artifacts=artifacts, pool=self._state.pool, tokens=tokens or Tokens()
        )
        self._shapes = shapes
        self._cache = cache
        self._clock = clock
        self._settings = ""
        self._brought: dict[CallKey, list[Block]] = {}
        self._steps: list[Callable[[], list[Block]]] | None = None

    @property
    def state(self) -> State:
        """The timeline as it is now."""
        with self.lock:
            self._look()
            return self._state

    @property
    def pool(self) -> SourcesPool:
        """The sources of the timeline as it is now."""
        return self.state.pool

    def silence(self) -> float:
        """Seconds since the last block that is no record, by the clocks of who wrote and reads."""
        with self.lock:
            last = next(iter(self.state.backwards()), None)
        return seconds_since(last.block.ts, self._clock()) if last is not None else 0.0

    def stamp(self, turn: str, call_id: str, tool: str) -> Stamp:
        """What the blocks of a running call have in common, for its tool."""
        with self.lock:
            return stamp_of_running(self.state, turn, call_id, tool, self._clock())

    @property
    def coming_turn(self) -> str:
        """The turn that `new_turn` takes, unless another writer is first."""
        with self.lock:
            return next_turn((*self.state.turns, *self.holdings.files.turns()))

    @contextmanager
    def together(self) -> Generator[None, None, None]:
        """Write all steps inside as one, at the end; none of them where something is raised.

        A step inside gives no entries, and sees nothing of the others.
        """
        with self.lock:
            steps: list[Callable[[], list[Block]]] = []
            self._steps = steps
            try:
                yield
            finally:
                self._steps = None
            self._append(lambda: [block for make in steps for block in make()])

    def new_turn(self, owner: str = "", check: Callable[[State], None] | None = None) -> str:
        """Take a turn that nobody has: `turn_1`, `turn_2`, …

        It is taken on the timeline itself, by a record, so two machines never have the same one.
        `owner` is the program that has it. `check` may raise, at the state that the turn is taken
        at: so of two writers one sees the other.
        """
        return self._take_turn(lambda: self.coming_turn, owner, check)

    def take_over(
        self, turn: str, owner: str, check: Callable[[State], None] | None = None
    ) -> None:
        """Go on with a turn that another program left."""
        self._take_turn(lambda: turn, owner, check)

    def end_turn(self, turn: str, **meta: Any) -> list[Entry]:
        """Write that a turn is over: `status`, and what else is to be known; once."""
        return self._append(
            lambda: [] if turn in self._state.ended else [self._turn_block(turn, meta)]
        )

    def tell(self, turn: str, id: str, notice: Notice) -> list[Entry]:
        """Write a notice for the model that belongs to no call on the timeline, under a free id."""
        return self._append(
            lambda: notice_blocks(stamp_of_next(self._state, turn, id, self._clock()), [notice])
        )

    def prompt(self, turn: str, text: str) -> list[Entry]:
        """Write what the person says."""
        return self._append(
            lambda: [message_block(self._stamp(turn), "user.prompt", text, self.holdings)]
        )

    def completion(self, turn: str, text: str, **meta: Any) -> list[Entry]:
        """Write the answer that ends the turn; `meta` is not for the model."""
        return self._append(
            lambda: [
                with_meta(
                    message_block(self._stamp(turn), "assistant.completion", text, self.holdings),
                    meta,
                )
            ]
        )

    def attach(self, turn: str, name: str, content: bytes, **meta: Any) -> list[Entry]:
        """Put a file that the person gives into the turn; `ToolError` if it cannot be written."""
        stamp = self._stamp(turn)
        path = file_path(turn, name, "attachments")
        self.holdings.files.write(path, content)
        return self._append(
            lambda: [
                with_meta(block, meta)
                for block in attachment_blocks(stamp, path, content, self.holdings)
            ]
        )

    def notes(self, turn: str, call: Call | str, text: str, **meta: Any) -> list[Entry]:
        """Write what the model says before a call, once; by an id, before the next that has it."""
        return self._append(lambda: self._notes(turn, call, text, meta))

    def started(self, turn: str, call: Call, **meta: Any) -> list[Entry]:
        """Write a call before it runs; nothing where that was done already."""
        return self._append(lambda: self._call(turn, call, meta))

    def ended(self, turn: str, call: Call, outcome: Outcome, **meta: Any) -> list[Entry]:
        """Write what came of a call; the call too, with `meta`, where it was not written before."""
        with self.lock:
            entries = self._append(lambda: self._outcome(turn, call, outcome, meta))
            for entry in entries[-1:]:
                self._brought.pop(call_key(entry.block), None)
            return entries

    def settle(self, entry: Entry, outcome: Outcome) -> list[Entry]:
        """Write what came of a call that another program left without a result, by its block."""
        block = entry.block
        call = Call(id=block.call_id, name=block.tool_id, input=params_of(block))
        return self._append(lambda: self._settled(block, call, outcome))

    def bring(self, stamp: Stamp, blocks: Iterable[Block]) -> None:
        """Leave blocks that a running call brings; `ended` writes them after its status."""
        with self.lock:
            self._brought.setdefault((stamp.turn, stamp.call), []).extend(blocks)

    def lay(self, stamp: Stamp, record: Block) -> None:
        """Leave a record of a running call; `ended` writes it before the results."""
        self.bring(stamp, (record,))

    def _notes(
        self, turn: str, call: Call | str, text: str, meta: Mapping[str, Any]
    ) -> list[Block]:
        if isinstance(call, Call):
            stamp = self._stamp(turn, call)
        else:
            stamp = stamp_of_next(self._state, turn, call, self._clock())
        block = with_meta(notes_block(stamp, text, self.holdings), meta)
        written = self._state.at(block.path)
        return [] if written and written[-1].block.text == block.text else [block]

    def _settled(self, block: Block, call: Call, outcome: Outcome) -> list[Block]:
        turn, moment_now = block.turn_id, moment(self._clock())
        stamp = Stamp(turn, block.call_id, block.tool_id, moment_now, self._state.turns)
        if self._state.has(stamp.path("result")):
            return []
        shape = self._shape(call)
        return result_blocks(call, outcome, stamp=stamp, shape=shape, holdings=self.holdings)

    def _call(self, turn: str, call: Call, meta: Mapping[str, Any]) -> list[Block]:
        stamp = self._stamp(turn, call)
        # What an earlier run of the call left is not of this one.
        self._brought.pop((stamp.turn, stamp.call), None)
        if is_written(self._state, stamp):
            return []
        return _marked(call_blocks(stamp, call, self._shape(call), self.holdings.artifacts), meta)

    def _outcome(
        self, turn: str, call: Call, outcome: Outcome, meta: Mapping[str, Any]
    ) -> list[Block]:
        stamp = self._stamp(turn, call)
        write = result_blocks if is_written(self._state, stamp) else emit
        blocks = write(
            call,
            outcome,
            stamp=stamp,
            shape=self._shape(call),
            holdings=self.holdings,
            brought=self._brought.get((stamp.turn, stamp.call), []),
        )
        return _marked(blocks, meta)

    def _take_turn(
        self, turn: Callable[[], str], owner: str, check: Callable[[State], None] | None
    ) -> str:
        def taken() -> list[Block]:
            if check is not None:
                check(self.state)
            return [settings_block(turn(), moment(self._clock()), self._said(), owner)]

        (entry,) = self._append(taken)
        return entry.block.turn_id

    def _turn_block(self, turn: str, meta: dict[str, Any]) -> Block:
        said = {name: value for name, value in meta.items() if value}
        return self._stamp(turn).block("timeline.turn", meta=said, author="timeline")

    def _shape(self, call: Call) -> Shape:
        return shape_of(call.name, self._shapes)

    def _stamp(self, turn: str, call: Call | None = None) -> Stamp:
        """The stamp at the end that is known: a step looks at the timeline once."""
        if call is None:
            return stamp_of(turn, self._clock())
        return stamp_of_call(self._state, turn, call, self._clock())

    def _append(self, make: Callable[[], list[Block]]) -> list[Entry]:
        """Append what `make` gives, at the end that is known; made anew if that is not the end."""
        tries = 1
        with self.lock:
            if self._steps is not None:
                self._steps.append(make)
                return []
            if not self._state.last:
                self._look()
            while True:
                try:
                    entries = self._write(make(), self._state.last)
                    self._feed(entries)
                    return entries
                except TimelineError as error:
                    if error.code != "conflict" or tries == _TRIES:
                        raise
                    tries += 1
                finally:
                    # What the timeline does not have is in no pool.
                    self._state.pool.forget()
                self._look()

    def _write(self, blocks: list[Block], expected: int) -> list[Entry]:
        if not blocks:
            return []
        said, first = self._said(), blocks[0]
        if said != self._settings and first.type != "timeline.settings":
            blocks = [settings_block(first.turn_id, first.ts, said), *blocks]
        return self.timeline.append(blocks, expected)

    def _said(self) -> str:
        """The settings that this one goes by."""
        return settings_text(self.holdings.tokens, self._cache or self._state.settings)

    def _look(self) -> None:
        """Take what others wrote meanwhile."""
        self._feed(self.timeline.entries(after=self._state.last))

    def _feed(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._state.feed((entry,))
            if entry.block.type == "timeline.settings":
                self._settings = entry.block.text or ""


def _marked(blocks: Iterable[Block], meta: Mapping[str, Any]) -> list[Block]:
    """The blocks of a call, with more in the meta of the call itself."""
    is_call = "react.tool.call"
    return [with_meta(block, meta) if block.type == is_call else block for block in blocks]
