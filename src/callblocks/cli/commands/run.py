"""`callblocks run`: read calls, decide, ask, run, and show what came of them.

Without a policy nothing runs: what would run is shown, and how to allow it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial
from typing import Any, BinaryIO, Unpack

import click
import msgspec

from callblocks.cli.chat.recording import (
    Recording,
    RecordingOptions,
    open_recording,
    recording_options,
)
from callblocks.cli.commands.run_calls import CallsRun, check_reply, write_reply
from callblocks.cli.exits import EXIT_CODES, INTERRUPTED, PROBLEMS, say
from callblocks.cli.options.policy_options import (
    DecidingOptions,
    check_names,
    deciding_options,
    given_policy,
)
from callblocks.cli.options.read_options import ONE_DIALECT, ReadingOptions, reading_options
from callblocks.cli.options.state_folder import ARTIFACTS, state_folder
from callblocks.cli.options.tool_setup import (
    WorkplaceOptions,
    code_files,
    every_tool,
    given_office,
    open_workspace,
    workplace_options,
)
from callblocks.cli.terminal.io import FILE, STDIN
from callblocks.cli.terminal.live import Mute, open_screen
from callblocks.cli.terminal.paint import Paper
from callblocks.core.outcomes import Outcome
from callblocks.policy.policy import Policy
from callblocks.views.rows import visible_line
from callblocks.views.terminal.summary import (
    cut_rows,
    explained_rows,
    how_to_allow,
    plan_rows,
    summary_rows,
)

__all__ = ("command",)


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
