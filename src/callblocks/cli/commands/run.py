"""`callblocks run`: read calls, decide, ask, run, and show what came of them.

Without a policy nothing runs: what would run is shown, and how to allow it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, redirect_stdout
from functools import partial
from typing import Any, BinaryIO, Unpack

import click
import msgspec

from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import LetThrough, Settled
from callblocks.cli.chat.recording import (
    Recording,
    RecordingOptions,
    Transcript,
    open_recording,
    recording_options,
)
from callblocks.cli.exits import EXIT_CODES, INTERRUPTED, PROBLEMS, Refusal, say
from callblocks.cli.options.read_options import (
    ONE_DIALECT,
    QuotedCalls,
    ReadingOptions,
    make_parser,
    read,
    reading_options,
)
from callblocks.cli.options.state_folder import APPROVALS, ARTIFACTS, JOURNAL, state_folder
from callblocks.cli.options.tool_setup import (
    DecidingOptions,
    WorkplaceOptions,
    check_names,
    code_files,
    deciding_options,
    every_tool,
    given_office,
    given_policy,
    open_workspace,
    workplace_options,
)
from callblocks.cli.terminal.ask import TerminalAsker, open_terminal
from callblocks.cli.terminal.io import FILE, STDIN, pieces
from callblocks.cli.terminal.paint import Mute, Paper, Screen, open_screen
from callblocks.core.calls import Call, Item, Result
from callblocks.core.errors import Unwritable
from callblocks.core.events import CallTold
from callblocks.core.outcomes import Failure, Outcome
from callblocks.core.specs import ToolSpec, ToolSpecs
from callblocks.dialects import dialects
from callblocks.guard.files.root import Root
from callblocks.policy.policy import Policy
from callblocks.runtime.gate import Approving
from callblocks.runtime.journal import Journal
from callblocks.runtime.judgement import Judged, Listener, Progress, Turn
from callblocks.runtime.runtime import Runtime
from callblocks.session.taint import taint_of
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.tools.registry import Registry
from callblocks.views.rows import visible_line
from callblocks.views.terminal.tables import (
    cut_rows,
    explained_rows,
    how_to_allow,
    plan_rows,
    summary_rows,
)

__all__ = (
    "CallsRun",
    "check_reply",
    "command",
    "open_runtime",
    "perform",
    "write_reply",
)


class RunOptions(ReadingOptions, DecidingOptions, RecordingOptions, WorkplaceOptions):
    """Values of the options of reading, deciding, recording and the workplace."""


@click.command(
    "run", short_help="Run the calls in a text, as far as a policy allows.", epilog=EXIT_CODES
)
@click.argument("file", metavar="[FILE]", type=FILE, default=STDIN)
@deciding_options
@workplace_options
@click.option("--dry-run", is_flag=True, help="Decide, and run nothing.")
@click.option("--explain", is_flag=True, help="Say of each call which rule decides, and why.")
@click.option("--reply", is_flag=True, help="Print the text with the results written into it.")
@click.option(
    "--reply-in", type=ONE_DIALECT, help="The dialect of --reply.  [default: that of the calls]"
)
@click.option("--json", "as_json", is_flag=True, help="One outcome per line, as it comes.")
@click.option("--collapse", is_flag=True, help="Count the calls instead of showing each of them.")
@recording_options
@reading_options
def command(
    file: str,
    dry_run: bool,
    explain: bool,
    reply: bool,
    reply_in: str | None,
    as_json: bool,
    collapse: bool,
    **options: Unpack[RunOptions],
) -> None:
    """Run the calls in a text, as far as a policy allows.

    FILE is a path, or - for standard input, which is also the default. With none of --ask,
    --allow, --allow-trait and --policy nothing runs: what would run is shown. Calls that have a
    result in the text already are left alone.
    """
    shown = not (as_json or reply or reply_in)
    if as_json and (reply or reply_in):
        raise click.UsageError("--json and --reply exclude each other")
    if not shown and (explain or dry_run):
        raise click.UsageError("--explain and --dry-run are for people, not for --json and --reply")
    check_reply(reply_in)
    policy, paper = given_policy(options), Paper()
    steering = (options["policy"], options["skills"], *code_files(options["workspace"]))
    runs = policy.enabled and not dry_run
    with (
        open_workspace(options["workspace"], *steering) as root,
        open_recording(options, root) as recording,
    ):
        own = recording.tools if recording else None
        registry = every_tool(options["tools"], root, own, given_office(options["office"]))
        check_names(options, registry.names)
        if options["only"]:
            registry = registry.only(options["only"])
        options["tools"] = registry
        screen = (
            open_screen(file, paper, expanded=not (collapse and runs), live=runs)
            if shown
            else Mute(paper, expanded=False)
        )
        run = CallsRun(
            registry, policy, root, screen, tainted=options["tainted"], recording=recording
        )
        with screen:
            quoted = run.read(file, options)
            if runs or not shown:
                _perform(run, as_json)
            else:
                run.plan()
    if shown:
        _conclude(run, policy, paper, explain=explain, dry_run=dry_run)
        if not collapse:
            paper.print(cut_rows(run.outcomes, paper.width, options["timeline"] or ""))
    elif not as_json:
        write_reply(run.transcript.items(), reply_in, registry)
    if recording is not None and (runs or not shown):
        for words in _told(recording, len(run.transcript.answered)):
            _tell(words, paper, shown=shown)
    quoted.tell()
    if run.stopped:
        raise click.exceptions.Exit(INTERRUPTED)
    if run.transcript.broken or any(not outcome.ok for outcome in run.outcomes):
        raise click.exceptions.Exit(PROBLEMS)


def _perform(run: CallsRun, as_json: bool) -> None:
    """Run the calls; what a tool prints does not get among what we print for programs."""
    out = sys.stdout.buffer
    if isinstance(run.screen, Mute):
        with redirect_stdout(sys.stderr):
            run.perform(partial(_write_line, out) if as_json else _nothing)
        for event in run.transcript.broken if as_json else ():
            failure = {"code": event.code, "message": event.detail or "this is no call"}
            _write(out, {"id": None, "name": None, "ok": False, "error": failure})
    else:
        run.perform(_nothing)


def _conclude(run: CallsRun, policy: Policy, paper: Paper, *, explain: bool, dry_run: bool) -> None:
    """Below the chat: what was decided and why, the count, and what to do next."""
    if not run.judged:
        paper.print([(), (("quiet", "No call waits for a result."),)])
    elif not policy.enabled:
        count = len(run.judged)
        said = "This call waits" if count == 1 else f"These {count} calls wait"
        why = f"the policy {policy.name} is off" if policy.name else "no policy was given"
        paper.print([(), (("strong", "Nothing ran"), ("plain", f": {why}. {said}:"))])
        paper.print(plan_rows(run.judged, paper.width))
        paper.print([(), *how_to_allow(run.judged)])
    elif dry_run and not explain:
        paper.print([(), *plan_rows(run.judged, paper.width)])
    if explain:
        paper.print([(), *explained_rows(run.judged, policy, paper.width)])
    paper.print(summary_rows(run.outcomes, str(state_folder() / ARTIFACTS), paper.width))


def _told(recording: Recording, answered: int) -> Iterator[str]:
    """Yield a line about the place of the recording, and one about calls left out of it."""
    if recording.written:
        yield f"recorded in {recording.place}"
    if answered:
        calls = "1 call, which has its" if answered == 1 else f"{answered} calls, which have their"
        yield f"not recorded: {calls} result in the text already"


def _tell(words: str, paper: Paper, *, shown: bool) -> None:
    """Say it apart from what is printed for programs."""
    if shown:
        paper.print([(("mark", "ⓘ "), ("quiet", visible_line(words)))])
    else:
        sys.stdout.flush()
        say(words)


def _write_line(out: BinaryIO, outcome: Outcome) -> None:
    line = {**msgspec.to_builtins(outcome), "ok": outcome.ok}
    if outcome.error is not None:
        line["error"] = outcome.error.payload()
    _write(out, line)


def _write(out: BinaryIO, line: dict[str, Any]) -> None:
    out.write(_encode(line) + b"\n")
    out.flush()


def _encode(line: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(line)
    except UnicodeEncodeError:
        # Half a character, as a call's id may be, can only be written as an escape.
        return json.dumps(line).encode()


def _nothing(outcome: Outcome) -> None:
    pass


# --- One run of `callblocks run`: the text is read to its end, then its calls run ---


# --- Running calls from the command line: with the person at the terminal, and Ctrl-C ---

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
            async for outcome in runtime.run(calls, turn, _in_loop(loop, listen), begin):
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


def _in_loop(loop: asyncio.AbstractEventLoop, listen: Listener) -> Listener:
    """Return a listener that passes progress from a tool's thread to the event loop."""

    def pass_on(progress: Progress) -> None:
        loop.call_soon_threadsafe(listen, progress)

    return pass_on


# --- The text with the results in it, written for the model in a dialect that can say them ---

_CAN_SAY_RESULTS = "tool-fence"
_SAMPLE = [Call(id="c", name="name"), Result(id="c", output="text")]
_SAMPLE_TOOL = ToolSpec("name", "", {"type": "object", "properties": {}})


def check_reply(dialect: str | None) -> None:
    """Refuse a dialect that has no way to say results, before anything runs."""
    if dialect is None:
        return
    try:
        dialects[dialect].write(_SAMPLE, (_SAMPLE_TOOL,))
    except Unwritable as error:
        raise click.BadParameter(str(error), param_hint="--reply-in") from error


def write_reply(items: Sequence[Item], dialect: str | None, tools: ToolSpecs) -> None:
    """Write items to standard output, in the dialect of the calls where none is named.

    What was done is told in any case: in another dialect where that one cannot say results, and
    without the prose where prose cannot be said beside them.
    """
    spoken = next((item.dialect for item in items if isinstance(item, Call)), "")
    names = [dialect] if dialect else [spoken or _CAN_SAY_RESULTS]
    bare = [item for item in items if not isinstance(item, str)]
    problems: list[str] = []
    for name in dict.fromkeys((*names, _CAN_SAY_RESULTS)):
        for some, what in ((items, ""), (bare, ", without the prose")):
            try:
                text = dialects[name].write(some, tools)
            except Unwritable as error:
                problems.append(str(error))
                continue
            if problems:
                say(f"{problems[0]}; replied in {name}{what}")
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            return
    raise Refusal("; ".join(problems))


# --- One run of `callblocks run`: the text is read to its end, then its calls run ---


class CallsRun:
    """One run: reads, judges and runs calls; `judged` and `outcomes` are in order of time."""

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
        """True if the person stopped the run."""
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
            self.judged.append(judged)
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
        if isinstance(progress, CallTold):
            self.screen.say(progress.text)


def _taint_of_file(file: str, root: Root) -> str | None:
    """Return why the text itself is of others, where it lies in the workspace."""
    if file == STDIN:
        return None
    real = os.path.relpath(os.path.realpath(file), root.folder)
    return None if real.split("/")[0] == ".." else root.origins.of_file(real)
