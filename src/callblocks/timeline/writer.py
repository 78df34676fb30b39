"""The writer: appends to one timeline at the end that it knows, and maintains its state.

A step is a function that makes blocks. Where another writer was first, its entries are read, and
the blocks are made anew (optimistic concurrency: the append is conditional on the known end).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TypeAlias

from callblocks.model.blocks import Block, Entry
from callblocks.model.errors import TimelineError
from callblocks.timeline.rounds import CacheSettings
from callblocks.timeline.settings import settings_block, settings_text
from callblocks.timeline.state import State
from callblocks.timeline.timeline import Timeline
from callblocks.timeline.tokens import Tokens

__all__ = ("Step", "Writer")

Step: TypeAlias = Callable[[], list[Block]]

# The most times that a step is repeated because another writer was first.
_TRIES = 20


class Writer:
    """The end of a timeline; `lock` is held while it writes, and by every reader of `known`.

    `tokens` and `cache` are settings that the timeline records before the blocks that they apply
    to.
    """

    def __init__(self, timeline: Timeline, tokens: Tokens, cache: CacheSettings | None) -> None:
        self.timeline = timeline
        self.lock = threading.RLock()
        # The timeline as far as it was read.
        self.known = State(cache)
        self._tokens = tokens
        self._cache = cache
        self._recorded = ""
        self._steps: list[Step] | None = None

    @property
    def state(self) -> State:
        """Return the current state of the timeline."""
        with self.lock:
            self._look()
            return self.known

    @property
    def settings(self) -> str:
        """Return the settings of this writer."""
        return settings_text(self._tokens, self._cache or self.known.settings)

    @contextmanager
    def together(self) -> Generator[None, None, None]:
        """Write all steps inside as one, at the end; none of them where something is raised."""
        with self.lock:
            steps: list[Step] = []
            # Steps are only collected inside the block. They run at its end as one step, so a
            # conflict repeats all of them, on the same new state.
            self._steps = steps
            try:
                yield
            finally:
                self._steps = None
            self.append(lambda: [block for make in steps for block in make()])

    def append(self, make: Step) -> list[Entry]:
        """Append the blocks of `make`; run it again if the end that it saw is not the end
        any more.
        """
        with self.lock:
            if self._steps is not None:
                self._steps.append(make)
                return []
            if not self.known.last:
                self._look()
            for _ in range(_TRIES - 1):
                try:
                    return self._try(make)
                except TimelineError as error:
                    if error.code != "conflict":
                        raise
                self._look()
            return self._try(make)

    def _try(self, make: Step) -> list[Entry]:
        try:
            entries = self._write(make())
            self._feed(entries)
            return entries
        finally:
            # Planned sources that were not written must not keep their numbers.
            self.known.pool.forget()

    def _write(self, blocks: list[Block]) -> list[Entry]:
        if not blocks:
            return []
        said, first = self.settings, blocks[0]
        # The settings precede the first block that depends on them, in the same append, so no
        # reader ever sees such a block without its settings.
        if said != self._recorded and first.type != "timeline.settings":
            blocks = [settings_block(first.turn_id, first.ts, said), *blocks]
        # Conditional on the known end: this is what makes the optimistic loop in `append` correct.
        return self.timeline.append(blocks, self.known.last)

    def _look(self) -> None:
        """Read what others wrote meanwhile."""
        self._feed(self.timeline.entries(after=self.known.last))

    def _feed(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.known.feed((entry,))
            if entry.block.type == "timeline.settings":
                self._recorded = entry.block.text or ""
