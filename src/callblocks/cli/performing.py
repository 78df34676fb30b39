"""Running calls from the command line: with the person at the terminal, and Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from callblocks.cli.asking import TerminalAsker, open_terminal
from callblocks.cli.state import APPROVALS, ARTIFACTS, JOURNAL, state_folder
from callblocks.model.calls import Call
from callblocks.model.outcomes import Outcome
from callblocks.runtime.approvals.book import ApprovalBook
from callblocks.runtime.approving import Approving
from callblocks.runtime.asking import LetThrough, Settled
from callblocks.runtime.files.root import Root
from callblocks.runtime.journal import Journal
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.progress import Judged, Listener, Progress
from callblocks.runtime.runtime import Runtime
from callblocks.runtime.turn import Turn
from callblocks.timeline.keeping.artifacts import Artifacts
from callblocks.tools.registry import Registry

__all__ = ("open_runtime", "perform")

Aside = Callable[[], AbstractContextManager[object]]


@contextmanager
def open_runtime(
    registry: Registry,
    policy: Policy,
    root: Root,
    width: int,
    aside: Aside,
    settled: Settled | None = None,
    let_through: LetThrough | None = None,
) -> Generator[Runtime]:
    """A runtime that asks at the terminal, where there is one, and remembers in our folder.

    `settled` is told what came of each question, `let_through` of calls that a grant lets run.
    """
    state = state_folder()
    with ExitStack() as stack:
        book = stack.enter_context(ApprovalBook(state / APPROVALS))
        journal = Journal(state / JOURNAL)
        stack.callback(journal.close)
        terminal = open_terminal()
        if terminal is not None:
            stack.callback(terminal.close)
        asker = None if terminal is None else TerminalAsker(terminal, width, aside)
        yield Runtime(
            registry,
            policy,
            approving=Approving(book, asker, str(root.folder), settled, let_through=let_through),
            journal=journal,
            keep=Artifacts(state / ARTIFACTS),
            resolve=root.resolve,
            origins=root.origins,
        )


def perform(
    runtime: Runtime,
    calls: Sequence[Call],
    turn: Turn,
    *,
    begin: Callable[[Judged], None],
    finished: Callable[[Outcome], None],
    listen: Listener,
) -> None:
    """Run calls; the first Ctrl-C stops those that are left, a second one everything.

    `begin` is told of each call before anything is done with it.
    """

    async def run() -> None:
        loop = asyncio.get_running_loop()
        this = asyncio.current_task()
        assert this is not None
        loop.add_signal_handler(signal.SIGINT, lambda: interrupt(this))
        try:
            async for outcome in runtime.run(calls, turn, _in_loop(loop, begin, listen)):
                finished(outcome)
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def interrupt(task: asyncio.Task[None]) -> None:
        if turn.stopped:
            task.cancel()
        turn.stop()

    try:
        asyncio.run(run())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _in_loop(
    loop: asyncio.AbstractEventLoop, begin: Callable[[Judged], None], listen: Listener
) -> Listener:
    """What a tool says in its own thread is shown by the one that draws."""

    def pass_on(progress: Progress) -> None:
        if isinstance(progress, Judged):
            begin(progress)
        loop.call_soon_threadsafe(listen, progress)

    return pass_on
