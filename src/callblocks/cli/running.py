"""One run of `callblocks run`: the text is read to its end, then its calls run."""

from __future__ import annotations

import os
from collections.abc import Callable

from callblocks.cli.io import STDIN, pieces
from callblocks.cli.performing import open_runtime, perform
from callblocks.cli.quoted_calls import QuotedCalls
from callblocks.cli.reading import ReadingOptions, make_parser, read
from callblocks.cli.recording import Recording
from callblocks.cli.screen import Screen
from callblocks.cli.transcript import Transcript
from callblocks.model.outcomes import Failure, Outcome
from callblocks.runtime.files.root import Root
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.progress import Judged, Progress, Said
from callblocks.runtime.turn import Turn
from callblocks.session.tainting import taint_of
from callblocks.tools.registry import Registry

__all__ = ("Run",)


class Run:
    """What is read, judged and run; `judged` and `outcomes` are in the order it happened."""

    def __init__(
        self,
        registry: Registry,
        policy: Policy,
        root: Root,
        screen: Screen,
        *,
        tainted: bool,
        recording: Recording | None = None,
    ) -> None:
        self.transcript = Transcript()
        self.judged: list[Judged] = []
        self.outcomes: list[Outcome] = []
        self.screen = screen
        self._root = root
        self._registry = registry
        self._recording = recording
        self._turn = Turn(tainted=() if recording is None else recording.tainted(registry))
        if tainted:
            self._turn.taint("the text")
        settled = None if recording is None else recording.settled
        let_through = None if recording is None else recording.let_through
        self._open = lambda: open_runtime(
            self._registry,
            policy,
            root,
            screen.paper.width,
            screen.aside,
            settled,
            let_through,
        )

    @property
    def stopped(self) -> bool:
        """Whether the person stopped it."""
        return self._turn.stopped

    def read(self, file: str, options: ReadingOptions) -> QuotedCalls:
        """Read the text, and show it as it comes; given back is what may be told of it at last."""
        quoted = QuotedCalls(options)
        if why := _taint_of_file(file, self._root):
            self._turn.taint(why)
        for one in read(pieces(file), make_parser(options)):
            quoted.feed(one)
            self.transcript.add(one[1])
            self.screen.feed(one[1])
        for call in self.transcript.answered:
            if why := taint_of(call, self._registry):
                self._turn.taint(why)
        return quoted

    def plan(self) -> None:
        """Judge the calls that have no result, and run none."""
        with self._open() as runtime:
            self.judged += runtime.plan(self.transcript.waiting, self._turn)

    def perform(self, finished: Callable[[Outcome], None]) -> None:
        """Run the calls that have no result; each is written down before and after."""
        waiting, prose = self.transcript.waiting, self.transcript.prose()
        calls = {call.id: call for call in waiting}
        record = self._recording
        if record is not None and (waiting or prose.after or record.is_asked):
            self._registry = record.open_turn(prose, self._registry)

        def begin(judged: Judged) -> None:
            if record is not None:
                verdict = judged.verdict
                checked = None if isinstance(verdict, Failure) else verdict.checked
                record.begin(judged.call, checked)

        def finish(outcome: Outcome) -> None:
            self.outcomes.append(outcome)
            try:
                if record is not None:
                    record.end(calls[outcome.id], outcome, self._turn.take_new_taints())
            finally:
                # What was done is shown in any case.
                self.screen.feed(self.transcript.settle(outcome))
                finished(outcome)

        with self._open() as runtime:
            perform(runtime, waiting, self._turn, begin=begin, finished=finish, listen=self._listen)
        if record is not None and not self.stopped:
            record.conclude(prose, self._turn.take_new_taints())

    def _listen(self, progress: Progress) -> None:
        if isinstance(progress, Said):
            self.screen.say(progress.text)
        elif isinstance(progress, Judged):
            self.judged.append(progress)


def _taint_of_file(file: str, root: Root) -> str | None:
    """Return why the text itself is of others, where it lies in the workspace."""
    if file == STDIN:
        return None
    real = os.path.relpath(os.path.realpath(file), root.folder)
    return None if real.split("/")[0] == ".." else root.origins.of_file(real)
