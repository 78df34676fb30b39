"""The recorder: writes a session as it happens, each step whole or not at all.

    turn = recorder.begin_turn(text, files)      one that nobody else has, with what starts it
    turn = recorder.new_turn()                   the same in steps: prompt(turn, text), attach(…)
    recorder.notes(turn, call, text)             what the model says before a call
    recorder.started(turn, call, checked)        before it runs; runtime.check(call) has `checked`
    recorder.ended(turn, call, outcome)          after it ran, or was refused
    recorder.completion(turn, text)              the answer
    recorder.end_turn(turn, status="answered")   how it ended

    with recorder.together():                    several steps as one
        ...

Strategy: a step is a function from the state to blocks. The writer runs it and appends the blocks
on the condition that the timeline still ends where the state does (optimistic concurrency). If
another writer was first, the new entries are read and the step runs again. So steps must have no
effect of their own, and must be idempotent: a call that is on the timeline already is not written
twice. All state comes from the timeline, and a recorder can be made anew at any time, which is how
a session resumes.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, TypeAlias

import msgspec

from callblocks.core.blocks import Block, Entry
from callblocks.core.calls import Call, CheckedCall
from callblocks.core.errors import TimelineError
from callblocks.core.json_values import json_text, plain
from callblocks.core.outcomes import Notice, Outcome
from callblocks.core.paths import file_path
from callblocks.timeline.artifacts.artifacts import ArtifactStore
from callblocks.timeline.call_steps import (
    CallSteps,
    Check,
    moment,
    seconds_since,
    stamp_of,
    stamp_of_next,
    stamp_of_running,
)
from callblocks.timeline.codec.call_blocks import JSON, Shape, Stamp, notice_blocks, with_meta
from callblocks.timeline.codec.ended_call import Holdings, attachment_blocks, message_block
from callblocks.timeline.recall.skills import Skills
from callblocks.timeline.timeline import (
    CacheSettings,
    SourcesPool,
    State,
    Timeline,
    Tokens,
    TurnFiles,
    call_key,
)

__all__ = (
    "CallRecord",
    "GivenFile",
    "Recorder",
    "Step",
    "Writer",
    "next_turn",
    "settings_block",
    "settings_text",
)

# --- Numbered turns: `turn_1`, `turn_2`, … ---
#
# A program may name its turns freely. Numbered ones continue after the highest number in use, so
# that no number ever means two turns.

_TURN = re.compile(r"turn_([1-9][0-9]{0,17})")


def next_turn(taken: Iterable[str]) -> str:
    """Return the turn after all that are taken."""
    numbers = (_TURN.fullmatch(turn) for turn in taken)
    return f"turn_{1 + max((int(number[1]) for number in numbers if number), default=0)}"


# --- The settings of a timeline, as a record: token counting, and caching ---
#
#     {"tokens":"chars/4","cache":{"editable_tail_size_in_tokens":2000,…}}
#
# The first append writes the record, and any later one with other settings. One more is written
# where a turn is taken: it makes the turn unavailable to other writers, and `meta.owner` names the
# program that has it.


def settings_text(tokens: Tokens, cache: CacheSettings) -> str:
    """Return the settings as the text of the record."""
    return json_text({"tokens": tokens.name, "cache": msgspec.structs.asdict(cache)})


def settings_block(turn: str, ts: str, text: str, owner: str = "") -> Block:
    """Return the record, which stands before the first block that it applies to."""
    # A record, not a file beside the store: whoever has the timeline has the settings by which its
    # counts and cache points were made.
    return Block(
        type="timeline.settings",
        author="timeline",
        turn_id=turn,
        ts=ts,
        mime=JSON,
        text=text,
        meta={"owner": owner} if owner else {},
    )


# --- The writer: appends to one timeline at the end that it knows, and maintains its state ---
#
# A step is a function that makes blocks. Where another writer was first, its entries are read, and
# the blocks are made anew (optimistic concurrency: the append is conditional on the known end).

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
        self._said: tuple[CacheSettings, str] | None = None
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
        cache = self._cache or self.known.settings
        if self._said is None or self._said[0] != cache:
            self._said = cache, settings_text(self._tokens, cache)
        return self._said[1]

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


# --- The recorder: writes a session as it happens, each step whole or not at all ---


class GivenFile(NamedTuple):
    """A file that a person gives with a prompt; `meta` goes into its blocks."""

    name: str
    content: bytes
    meta: Mapping[str, Any] = {}


class CallRecord(NamedTuple):
    """A call of a reply: the text before it, and its outcome where the reply itself has it."""

    call: Call
    before: str
    checked: CheckedCall | None
    outcome: Outcome | None
    meta: Mapping[str, Any]


class Recorder:
    """The writer of a timeline. Every method may be called from any thread.

    `lock` is held while it writes; a reader of the state in another thread must hold it too.
    """

    def __init__(
        self,
        timeline: Timeline,
        files: TurnFiles,
        artifacts: ArtifactStore,
        *,
        tokens: Tokens | None = None,
        shapes: Mapping[str, Shape] | None = None,
        skills: Skills | None = None,
        cache: CacheSettings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.timeline = timeline
        self.skills = skills or Skills()
        counted = tokens or Tokens()
        self._writer = Writer(timeline, counted, cache)
        self._state = self._writer.known
        self.lock = self._writer.lock
        self.holdings = Holdings(
            files=files, artifacts=artifacts, pool=self._state.pool, tokens=counted
        )
        self._steps = CallSteps(self._state, self.holdings, shapes, clock)
        self._append = self._writer.append
        self._clock = clock

    @property
    def state(self) -> State:
        """Return the current state of the timeline."""
        return self._writer.state

    @property
    def pool(self) -> SourcesPool:
        """Return the current sources of the timeline."""
        return self.state.pool

    def silence(self) -> float:
        """Return the seconds since the last block that is no record, by the clocks of writer and
        reader.
        """
        with self.lock:
            last = next(iter(self.state.backwards()), None)
        return seconds_since(last.block.ts, self._clock()) if last is not None else 0.0

    def stamp(self, turn: str, call_id: str, tool: str) -> Stamp:
        """Return the stamp of a running call, for its tool."""
        with self.lock:
            return stamp_of_running(self.state, turn, call_id, tool, self._clock())

    @property
    def coming_turn(self) -> str:
        """Return the turn that `new_turn` takes, unless another writer is first."""
        with self.lock:
            return next_turn((*self.state.turns, *self.holdings.files.turns()))

    def together(self) -> AbstractContextManager[None]:
        """Write all steps inside as one, at the end; none of them where something is raised.

        A step inside returns no entries, and does not see the others.
        """
        return self._writer.together()

    def new_turn(self, owner: str = "", check: Callable[[State], None] | None = None) -> str:
        """Take a turn that nobody has: `turn_1`, `turn_2`, …

        It is taken on the timeline itself, by a record, so two machines never take the same one.
        `owner` is the program that takes it. `check` may raise, at the state in which the turn is
        taken: so of two writers one sees the other.
        """
        return self._take_turn(lambda: self.coming_turn, owner, check)

    def begin_turn(
        self,
        prompt: str,
        files: Iterable[GivenFile] = (),
        *,
        turn: str = "",
        owner: str = "",
        check: Callable[[State], None] | None = None,
        **meta: Any,
    ) -> str:
        """Take a turn together with its prompt and its attachments, in one append.

        So a turn that a program took and left can always be resumed: its message is there. `turn`
        is one that nobody else can take, such as a team member's; otherwise it is the next free
        one. Raise `ToolError` where a file cannot be written: then nothing is on the timeline.
        """
        # Files are written before the append that names them, because a block must never name a
        # file that a crash prevented. Another writer may compute the same number meanwhile, so the
        # folder of the turn is claimed first; a claim that was not used is given back.
        given, claimed = list(files), list[str]()

        # Runs again after a conflict, so it recomputes the turn from the new state. Writing the
        # attachments again is idempotent: the claimed folder is ours.
        def begun() -> list[Block]:
            if check is not None:
                check(self.state)
            name = turn or self._free_turn(claimed if given else None)
            stamp = self._stamp(name)
            taken = settings_block(name, stamp.ts, self._writer.settings, owner)
            attached = [block for file in given for block in self._attachment(stamp, file)]
            said = message_block(stamp, "user.prompt", prompt, self.holdings)
            return [taken, *attached, with_meta(said, meta)]

        taken = ""
        try:
            taken = self._append(begun)[0].block.turn_id
        finally:
            for name in claimed:
                if name != taken:
                    self.holdings.files.give_back(name)
        return taken

    def take_over(
        self, turn: str, owner: str, check: Callable[[State], None] | None = None
    ) -> None:
        """Continue a turn that another program left."""
        self._take_turn(lambda: turn, owner, check)

    def end_turn(self, turn: str, **meta: Any) -> list[Entry]:
        """Record the end of a turn: `status`, and further facts; once."""
        return self._append(
            lambda: [] if turn in self._state.ended else [self._turn_block(turn, meta)]
        )

    def tell(self, turn: str, id: str, notice: Notice) -> list[Entry]:
        """Write a notice for the model that belongs to no call on the timeline, under a free id."""
        return self._append(
            lambda: notice_blocks(stamp_of_next(self._state, turn, id, self._clock()), [notice])
        )

    def prompt(self, turn: str, text: str, **meta: Any) -> list[Entry]:
        """Write the person's message; `meta` is not for the model."""
        return self._append(
            lambda: [
                with_meta(
                    message_block(self._stamp(turn), "user.prompt", text, self.holdings), meta
                )
            ]
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
        """Put a person's file into the turn; raise `ToolError` if it cannot be written."""
        blocks = self._attachment(self._stamp(turn), GivenFile(name, content, meta))
        return self._append(lambda: blocks)

    def notes(self, turn: str, call: Call | str, text: str, **meta: Any) -> list[Entry]:
        """Write the model's text before a call, once; by an id, before the next call that
        has it.
        """
        return self._append(lambda: self._steps.notes(turn, call, text, meta))

    def calls(self, turn: str, calls: Iterable[CallRecord]) -> None:
        """Write the calls of a reply, each with the text before it."""
        for one in calls:
            if one.before:
                self.notes(turn, one.call, one.before)
            if one.outcome is None:
                self.started(turn, one.call, one.checked, **one.meta)
            else:
                self.ended(turn, one.call, one.outcome, **one.meta)

    def started(
        self, turn: str, call: Call, checked: CheckedCall | None = None, **meta: Any
    ) -> list[Entry]:
        """Write a call before it runs; nothing where that was done already.

        `checked` is the call as its tool gets it, where that is known by now: `ended` uses it.
        """
        return self._append(lambda: self._steps.started(turn, call, meta, checked))

    def ended(
        self,
        turn: str,
        call: Call,
        outcome: Outcome,
        checked: CheckedCall | Check | None = None,
        *,
        origins: Mapping[str, Any] | None = None,
        **meta: Any,
    ) -> list[Entry]:
        """Write the outcome of a call; the call too, with `meta`, where it was not written before.

        Results are of the call as it was checked: `checked`, else the value given to `started`. A
        function is called where neither is known, as for a call that another program started. The
        first result has `origins` in its meta: where its text came from.
        """
        known = _said(dict(origins or {}))
        with self.lock:
            entries = self._append(
                lambda: self._steps.ended(turn, call, outcome, meta, checked, known)
            )
            # Only once the result is on the timeline: after a conflict or a fault, a repeated
            # `ended` still needs what `started` was told.
            for entry in entries[-1:]:
                self._steps.forget(call_key(entry.block), call.id)
            return entries

    def answered(self, turn: str, call_id: str, tool: str, **meta: Any) -> list[Entry]:
        """Record that a person was asked about a call: `approval`, `approved`, and their words."""
        return self._append(
            lambda: [
                stamp_of_running(self._state, turn, call_id, tool, self._clock()).block(
                    "timeline.approval", meta=plain(_said(meta)), author="timeline"
                )
            ]
        )

    def settle(
        self,
        entry: Entry,
        outcome: Outcome,
        checked: CheckedCall | None = None,
        *,
        origins: Mapping[str, Any] | None = None,
    ) -> list[Entry]:
        """Write the outcome of a call that another program left without a result, by its block.

        `checked` is the call as it ran; without it, as its block says. `origins` are as in `ended`.
        """
        known = _said(dict(origins or {}))
        return self._append(lambda: self._steps.settled(entry.block, outcome, checked, known))

    def bring(self, stamp: Stamp, blocks: Iterable[Block]) -> None:
        """Hold blocks that a running call brings; `ended` writes them after its status."""
        with self.lock:
            self._steps.brought.setdefault((stamp.turn, stamp.call), []).extend(blocks)

    def lay(self, stamp: Stamp, record: Block) -> None:
        """Hold a record of a running call; `ended` writes it before the results."""
        self.bring(stamp, (record,))

    def _take_turn(
        self, turn: Callable[[], str], owner: str, check: Callable[[State], None] | None
    ) -> str:
        def taken() -> list[Block]:
            if check is not None:
                check(self.state)
            return [settings_block(turn(), moment(self._clock()), self._writer.settings, owner)]

        (entry,) = self._append(taken)
        return entry.block.turn_id

    def _free_turn(self, claimed: list[str] | None) -> str:
        """Return the next free turn; with `claimed`, one whose folder is ours, the last there."""
        if claimed is None:
            return self.coming_turn
        if claimed and claimed[-1] not in self._state.turns:
            return claimed[-1]
        turn = self.coming_turn
        # A claimed folder without a turn on the timeline belongs to a writer that is about to
        # append, or to one that died; either way the next number is tried.
        while not self.holdings.files.claim(turn):
            turn = next_turn((turn, self.coming_turn))
        claimed.append(turn)
        return turn

    def _attachment(self, stamp: Stamp, file: GivenFile) -> list[Block]:
        """Write a file into its turn, and return its blocks."""
        path = file_path(stamp.turn, file.name, "attachments")
        self.holdings.files.write(path, file.content)
        blocks = attachment_blocks(stamp, path, file.content, self.holdings)
        return [with_meta(block, file.meta) for block in blocks]

    def _turn_block(self, turn: str, meta: dict[str, Any]) -> Block:
        return self._stamp(turn).block("timeline.turn", meta=_said(meta), author="timeline")

    def _stamp(self, turn: str) -> Stamp:
        return stamp_of(turn, self._clock())


def _said(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are not empty."""
    return {name: value for name, value in meta.items() if value}
