"""`callblocks policy`: check a policy file, or print one to begin with."""

from __future__ import annotations

import click

from callblocks.cli.exits import EXIT_CODES, PROBLEMS, Fault
from callblocks.cli.options.tool_setup import (
    Tools,
    every_tool,
    open_workspace,
    tools_option,
    workspace_option,
)
from callblocks.cli.terminal.paint import Paper
from callblocks.core.errors import BadPolicy
from callblocks.policy.lint import findings
from callblocks.policy.policy import read_policy
from callblocks.views.terminal.tables import finding_rows, policy_rows

__all__ = ("EXAMPLE", "command")

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
