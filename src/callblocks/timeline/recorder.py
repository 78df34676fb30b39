"""Writes a session down as it happens, each step whole or not at all.

    recorder.prompt(turn, text)                  what the person says, and attach() what they give
    recorder.notes(turn, call.id, text)          what the model says before a call
    recorder.started(turn, call)                 before it runs
    recorder.ended(turn, call, outcome)          after it ran, or was refused
    recorder.completion(turn, text)              the answer

All that it knows comes from the timeline, so it can be made anew at any time: a call that was
started before is not written twice, and where another writer was first, it looks again. A turn
in which an id is used for a second call, after the first has ended, has it as `<id>-2`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from callblocks.model.blocks import Block, Entry
from callblocks.model.calls import Call
from callblocks.model.errors import TimelineError
from callblocks.model.outcomes import Outcome
from callblocks.model.paths import file_path
from callblocks.timeline.emitting.call_blocks import call_blocks
from callblocks.timeline.emitting.emit import emit, result_blocks
from callblocks.timeline.emitting.holdings import Holdings
from callblocks.timeline.emitting.messages import attachment_blocks, message_block, notes_block
from callblocks.timeline.emitting.shapes import Shape, shape_of
from callblocks.timeline.files import TurnFiles
from callblocks.timeline.keeping.artifacts import Artifacts
from callblocks.timeline.pool import SourcesPool
from callblocks.timeline.reading.skills import Skills
from callblocks.timeline.rounds import CacheSettings
from callblocks.timeline.settings import settings_block, settings_text
from callblocks.timeline.stamp import Stamp
from callblocks.timeline.stamping import stamp_of
from callblocks.timeline.state import State
from callblocks.timeline.timeline import Timeline
from callblocks.timeline.tokens import Tokens

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
        self._brought: dict[str, list[Block]] = {}

    @property
    def state(self) -> State:
        """The timeline as it is now."""
        with self.lock:
            self._feed(self.timeline.entries(after=self._state.last))
            return self._state

    @property
    def pool(self) -> SourcesPool:
        """The sources of the timeline as it is now."""
        return self.state.pool

    def stamp(self, turn: str, call_id: str | None = None, tool: str = "") -> Stamp:
        """What the blocks of a call have in common, now."""
        with self.lock:
            return stamp_of(self.state, turn, call_id, tool, self._clock())

    def prompt(self, turn: str, text: str) -> list[Entry]:
        """Write what the person says."""
        return self._append(
            lambda: [message_block(self._stamp(turn), "user.prompt", text, self.holdings)]
        )

    def completion(self, turn: str, text: str) -> list[Entry]:
        """Write the answer that ends the turn."""
        return self._append(
            lambda: [message_block(self._stamp(turn), "assistant.completion", text, self.holdings)]
        )

    def attach(self, turn: str, name: str, content: bytes) -> list[Entry]:
        """Put a file that the person gives into the turn; `ToolError` if it cannot be written."""
        stamp = self.stamp(turn)
        path = file_path(turn, name, "attachments")
        self.holdings.files.write(path, content)
        return self._append(lambda: attachment_blocks(stamp, path, content, self.holdings))

    def notes(self, turn: str, call_id: str, text: str) -> list[Entry]:
        """Write what the model says before a call."""
        return self._append(lambda: [notes_block(self._stamp(turn, call_id), text, self.holdings)])

    def started(self, turn: str, call: Call) -> list[Entry]:
        """Write a call before it runs; nothing where that was done already."""
        with self.lock:
            self._brought.pop(call.id, None)
        return self._append(lambda: self._call(self._stamp(turn, call.id, call.name), call))

    def ended(self, turn: str, call: Call, outcome: Outcome) -> list[Entry]:
        """Write what came of a call; the call too, where it was not written before."""
        with self.lock:
            brought = self._brought.get(call.id, [])
            entries = self._append(lambda: self._outcome(turn, call, outcome, brought))
            self._brought.pop(call.id, None)
            return entries

    def bring(self, call_id: str, blocks: Iterable[Block]) -> None:
        """Leave blocks that a running call brings; `ended` writes them after its status."""
        with self.lock:
            self._brought.setdefault(call_id, []).extend(blocks)

    def lay(self, call_id: str, record: Block) -> None:
        """Leave a record of a running call; `ended` writes it after the results."""
        self.bring(call_id, (record,))

    def _call(self, stamp: Stamp, call: Call) -> list[Block]:
        if self._state.at(stamp.path("call")):
            return []
        return call_blocks(stamp, call, self._shape(call), self.holdings.artifacts)

    def _outcome(
        self, turn: str, call: Call, outcome: Outcome, brought: list[Block]
    ) -> list[Block]:
        stamp = self._stamp(turn, call.id, call.name)
        write = result_blocks if self._state.at(stamp.path("call")) else emit
        return write(
            call,
            outcome,
            stamp=stamp,
            shape=self._shape(call),
            holdings=self.holdings,
            brought=brought,
        )

    def _shape(self, call: Call) -> Shape:
        return shape_of(call.name, self._shapes)

    def _stamp(self, turn: str, call_id: str | None = None, tool: str = "") -> Stamp:
        """The same at the end that is known: a step looks at the timeline once."""
        return stamp_of(self._state, turn, call_id, tool, self._clock())

    def _append(self, make: Callable[[], list[Block]]) -> list[Entry]:
        """Append what `make` gives, at the end that it saw; made anew if that is no longer it."""
        tries = 1
        with self.lock:
            while True:
                state = self.state
                try:
                    entries = self._write(make(), state.last)
                    self._feed(entries)
                    return entries
                except TimelineError as error:
                    if error.code != "conflict" or tries == _TRIES:
                        raise
                    tries += 1
                finally:
                    # What the timeline does not have is in no pool.
                    state.pool.forget()

    def _write(self, blocks: list[Block], expected: int) -> list[Entry]:
        if not blocks:
            return []
        said = settings_text(self.holdings.tokens, self._cache or self._state.settings)
        if said != self._settings:
            blocks = [settings_block(blocks[0], said), *blocks]
        return self.timeline.append(blocks, expected)

    def _feed(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._state.feed((entry,))
            if entry.block.type == "timeline.settings":
                self._settings = entry.block.text or ""
