"""`callblocks`: the group of all commands.

Only click is imported to list them: each command brings its own imports.
"""

from __future__ import annotations

import signal
import sys
import warnings
from typing import TextIO

import click

from callblocks import __version__
from callblocks.cli.exits import EXIT_CODES, INTERRUPTED, USAGE, Fault, say
from callblocks.cli.lazy import LazyGroup

__all__ = ("cli", "main")

COMMANDS = {
    "parse": ("callblocks.cli.parse", "Find the calls in a text, and what is wrong with them."),
    "show": ("callblocks.cli.show", "Show a text as a chat: prose, and calls with results."),
    "run": ("callblocks.cli.run", "Run the calls in a text, as far as a policy allows."),
    "chat": ("callblocks.cli.chat", "Talk with a model that calls tools."),
    "serve": ("callblocks.cli.serve", "Serve chats and timelines over HTTP."),
    "demo": ("callblocks.cli.demo", "Open a page with a sample to try, offline."),
    "models": ("callblocks.cli.models", "List and test the models that you can talk with."),
    "convert": ("callblocks.cli.convert", "Write a text in another dialect."),
    "workspace": (
        "callblocks.cli.workspace",
        "Lay, show and connect mail, files, events and tasks.",
    ),
    "tools": ("callblocks.cli.tools", "List the tools, or print all about one."),
    "policy": ("callblocks.cli.policy", "Check a policy file, or print one to begin with."),
    "approvals": ("callblocks.cli.approvals", "Show, answer and take back approvals."),
    "journal": ("callblocks.cli.journal", "Show the changes that calls made or left open."),
    "timeline": ("callblocks.cli.timeline", "Show, check and move what was kept of runs."),
    "sandbox": ("callblocks.cli.sandbox", "Say where commands run, and what holds there."),
    "dialects": ("callblocks.cli.dialects", "List the dialects, or print all about one."),
    "completion": ("callblocks.cli.completion", "Print the completion script of a shell."),
}

# The extra of each command that needs one; a subcommand has that of its group unless it is here.
EXTRAS = {
    "run": "run",
    "tools": "run",
    "chat": "chat",
    "models list": "chat",
    "models test": "chat",
    "serve": "server",
    "demo": "office,server",
    "workspace": "office",
    "workspace connect": "google",
    "workspace forget": "google",
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    extras=EXTRAS,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Tool calls in what a language model writes: find, show, convert and run them.

    Text comes from files or standard input, and is read as it arrives.
    """


def main() -> None:
    """Run the command, and end the process with its exit code."""
    _heed_interrupts()
    if sys.stdout is None:  # so it is where the shell closed it
        say("standard output is closed")
        sys.exit(USAGE)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot write a character shows a `?`; that is no reason to stop.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue] asked right above
    warnings.showwarning = _show_warning
    sys.exit(_run())


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Say a warning of ours in one line; show others as Python does."""
    if issubclass(category, UserWarning) and filename == "callblocks":
        say(str(message))
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def _heed_interrupts() -> None:
    """Let Ctrl-C end every command.

    A shell without job control, and so a script, `make` or a CI job, starts what it puts into the
    background with SIGINT ignored. Python leaves it so, while asyncio and uvicorn handle the signal
    all the same: `run`, `chat` and `serve` would end, and `parse` and `timeline follow` would not.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _run() -> int:
    """Run the command; whatever is wrong with how it was called is one line."""
    try:
        code = cli.main(prog_name="callblocks", standalone_mode=False)
    except (click.exceptions.NoArgsIsHelpError, Fault) as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        say(" ".join(error.format_message().split()))
        return error.exit_code
    except click.Abort:
        say("interrupted")
        return INTERRUPTED
    return code if isinstance(code, int) else 0
