"""`callblocks`: the group of all commands.

Only click is imported to list them: each command brings its own imports.
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, TextIO

import click

from callblocks import __version__
from callblocks.cli.exits import EXIT_CODES, INTERRUPTED, USAGE, Fault, reported, say
from callblocks.core.extras import needing

__all__ = (
    "LazyGroup",
    "cli",
    "completion",
    "main",
)

# --- A group of commands that are imported when they are called, not to list them ---
#
# The table gives each command its module and its one line of help. A test holds that line equal
# to the command's own. Each `--help` page works without any extra; a command that lacks its extra
# says so when it would begin.


class LazyGroup(click.Group):
    """`table` maps a name to `(place, short help)`; a place is `module` or `module:attribute`.

    `extras` maps a command, or a path such as `models test`, to the extra that it needs.
    """

    def __init__(
        self,
        *,
        table: Mapping[str, tuple[str, str]],
        extras: Mapping[str, str] | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(**attributes)
        self.table = table
        self.extras = extras or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        with needing("", f"{ctx.command_path} {cmd_name}"):
            module, _, attribute = self.table[cmd_name][0].partition(":")
            command: click.Command = getattr(import_module(module), attribute or "command")
        return _guarded(command, cmd_name, self.extras)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.table.items()])

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        # `--help` and `--version` write while the arguments are read.
        with reported():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with reported(), needing("", ctx.command_path):
            return super().invoke(ctx)


def _guarded(
    command: click.Command, path: str, extras: Mapping[str, str], inherited: str = ""
) -> click.Command:
    """Have a command, and each below it, check its extra before it begins."""
    extra = extras.get(path, inherited)
    if isinstance(command, LazyGroup):
        command.extras = {name: extras.get(f"{path} {name}", extra) for name in command.table}
    elif isinstance(command, click.Group):
        for name, below in command.commands.items():
            _guarded(below, f"{path} {name}", extras, extra)
    elif command.callback is not None and not hasattr(command.callback, _MARK):
        command.callback = _checked(command.callback, extra)
    return command


_MARK = "checks_extra"


def _checked(callback: Callable[..., Any], extra: str) -> Callable[..., Any]:
    @wraps(callback)
    def run(*args: Any, **kwargs: Any) -> Any:
        context = click.get_current_context(silent=True)
        with needing(extra, context.command_path if context else "callblocks"):
            return callback(*args, **kwargs)

    setattr(run, _MARK, True)
    return run


# --- `callblocks`: the group of all commands ---

COMMANDS = {
    "parse": (
        "callblocks.cli.commands.parse",
        "Find the calls in a text, and what is wrong with them.",
    ),
    "show": (
        "callblocks.cli.commands.parse:show",
        "Show a text as a chat: prose, and calls with results.",
    ),
    "run": ("callblocks.cli.commands.run", "Run the calls in a text, as far as a policy allows."),
    "chat": ("callblocks.cli.commands.chat", "Talk with a model that calls tools."),
    "chats": ("callblocks.cli.commands.chats", "List, search, show and continue chats."),
    "serve": ("callblocks.cli.commands.serve", "Serve chats and timelines over HTTP."),
    "proxy": (
        "callblocks.cli.commands.proxy",
        "Give any model native tool calls, for any client.",
    ),
    "demo": ("callblocks.cli.commands.demo", "Open a page with a sample to try, offline."),
    "models": (
        "callblocks.cli.commands.models",
        "List and test the models that you can talk with.",
    ),
    "convert": ("callblocks.cli.commands.convert", "Write a text in another dialect."),
    "audit": (
        "callblocks.cli.commands.bulk:audit",
        "Count the calls and problems of many transcripts.",
    ),
    "stats": (
        "callblocks.cli.commands.bulk:stats",
        "Say what callblocks would have saved in logs.",
    ),
    "eval": (
        "callblocks.cli.commands.eval",
        "Measure how well a model calls tools, in each dialect.",
    ),
    "workspace": (
        "callblocks.cli.commands.office",
        "Lay, show and connect mail, files, events and tasks.",
    ),
    "tools": ("callblocks.cli.commands.tools", "List the tools, or print all about one."),
    "mcp": ("callblocks.cli.commands.mcp", "Add, list and test MCP servers, or be one."),
    "policy": (
        "callblocks.cli.commands.policy",
        "Check a policy file, or print one to begin with.",
    ),
    "approvals": ("callblocks.cli.commands.approvals", "Show, answer and take back approvals."),
    "journal": (
        "callblocks.cli.commands.upkeep",
        "Show the changes that calls made or left open.",
    ),
    "timeline": ("callblocks.cli.commands.timeline", "Show, check and move what was kept of runs."),
    "sandbox": (
        "callblocks.cli.commands.policy:show_sandbox",
        "Say where commands run, and what holds there.",
    ),
    "dialects": ("callblocks.cli.commands.dialects", "List the dialects, or print all about one."),
    "completion": ("callblocks.cli.main:completion", "Print the completion script of a shell."),
}

# The extra of each command that needs one; a subcommand has that of its group unless it is here.
EXTRAS = {
    "run": "run",
    "tools": "run",
    "audit": "run",
    "eval": "eval",
    "stats": "run",
    "chat": "chat",
    "chats": "chat",
    "models list": "chat",
    "models test": "chat",
    "serve": "server",
    "proxy": "server",
    "demo": "office,server",
    "mcp": "mcp",
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


# --- `callblocks completion`: what a shell sources to complete commands, options and dialects ---


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash  source <(callblocks completion bash), in ~/.bashrc
    zsh   source <(callblocks completion zsh), in ~/.zshrc
    fish  callblocks completion fish > ~/.config/fish/completions/callblocks.fish
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None
    made = script(ctx.find_root().command, {}, "callblocks", "_CALLBLOCKS_COMPLETE")
    # Not `source()`: it would run the shell to ask for its version.
    click.echo(made.source_template % made.source_vars())
