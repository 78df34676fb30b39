"""`callblocks policy` and `callblocks sandbox`: what calls may do, and where commands run."""

from __future__ import annotations

import asyncio

import click
import msgspec

from callblocks.cli.exits import EXIT_CODES, PROBLEMS, Fault, Refusal
from callblocks.cli.options.tool_setup import (
    Tools,
    every_tool,
    open_workspace,
    tools_option,
    workspace_option,
)
from callblocks.cli.terminal.paint import Paper
from callblocks.core.errors import BadPolicy
from callblocks.guard.sandbox.sandbox import MIB, Limits, Missing, find_sandbox
from callblocks.policy.lint import findings
from callblocks.policy.policy import read_policy
from callblocks.views.rows import Row, wrap
from callblocks.views.terminal.tables import finding_rows, policy_rows

__all__ = (
    "EXAMPLE",
    "command",
    "show_sandbox",
)

EXAMPLE = """\
# What a model's calls may do. The first rule that matches decides.
# What no rule names is asked if a person is there, and refused if not.

[[rule]]
decide = "deny"
path = ["**/.env", "**/*.pem"]
because = "secrets stay where they are"

[[rule]]
decide = "allow"
tool = ["file_read", "file_list"]
because = "looking changes nothing"

[[rule]]
decide = "allow"
tool = "file_write"
path = "notes/**"
because = "notes are for writing"

[[rule]]
decide = "allow"
tool = "terminal_execute"
argument.command = ["ls", "ls *", "wc *", "grep *"]
because = "they only look, and in the sandbox"

[[rule]]
decide = "ask"
tool = "api_call"
host = "*.example.org"
because = "our own services, with somebody watching"

[[rule]]
decide = "deny"
tool = "api_call"
because = "nothing else on the network"
"""


@click.group(
    "policy", short_help="Check a policy file, or print one to begin with.", epilog=EXIT_CODES
)
def command() -> None:
    """Check a policy file, or print one to begin with."""


@command.command("check", short_help="Read a policy, and say what is odd about it.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@tools_option("More tools that the rules may name.")
@workspace_option
def check(file: str, tools: Tools, workspace: str) -> None:
    """Read a policy as `run` would, show its rules, and say what is odd about them.

    Odd are rules that can never match, that name no tool, or that allow more than they seem to.
    There is exit code 1 if there is such a rule.
    """
    try:
        policy = read_policy(file)
    except BadPolicy as error:
        raise Fault(str(error)) from error
    with open_workspace(workspace) as root:
        found = findings(policy, every_tool(tools, root).tools)
    paper = Paper()
    paper.print(policy_rows(policy, paper.width))
    paper.print(finding_rows(found, paper.width))
    if any(finding.severity != "note" for finding in found):
        raise click.exceptions.Exit(PROBLEMS)


@command.command("example", short_help="Print a policy to begin with.")
def example() -> None:
    """Print a policy to begin with."""
    click.echo(EXAMPLE, nl=False)


# --- `callblocks sandbox`: where commands of a model run on this machine ---

HELD = ("filesystem", "network", "syscalls", "processes", "uid", "memory", "disk")


@click.command(
    "sandbox", short_help="Say where commands run, and what holds there.", epilog=EXIT_CODES
)
def show_sandbox() -> None:
    """Say where commands run on this machine, what is kept apart there, and the limits.

    It is found out by running something small. There is exit code 1 where there is none.
    """
    sandbox = asyncio.run(find_sandbox())
    if isinstance(sandbox, Missing):
        raise Refusal(sandbox.reason)
    paper = Paper()
    marks: list[Row] = [_mark(name, name in sandbox.holds) for name in HELD]
    limits = ", ".join(f"{name} {_say(value)}" for name, value in _limits())
    paper.print([(("name", sandbox.name),), *marks])
    paper.print(wrap((("quiet", f"  limits: {limits}"),), paper.width, (("plain", "    "),)))


def _mark(name: str, holds: bool) -> Row:
    return (("code", "  ✓ "), ("plain", name)) if holds else (("error", "  ✗ "), ("plain", name))


def _limits() -> list[tuple[str, float]]:
    return list(msgspec.structs.asdict(Limits()).items())


def _say(value: float) -> str:
    return f"{value / MIB:g} MiB" if value >= MIB else f"{value:g}"
