"""Policy options. Without any, nothing runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from callblocks.cli.exits import Fault, say

if TYPE_CHECKING:
    from callblocks.policy.policy import Policy

__all__ = (
    "DecidingOptions",
    "PolicyOptions",
    "check_names",
    "deciding_options",
    "given_policy",
    "policy_options",
)

F = TypeVar("F", bound=Callable[..., Any])


class PolicyOptions(TypedDict):
    """Values that `policy_options` pass to a command."""

    ask: bool
    allow: tuple[str, ...]
    allow_trait: tuple[str, ...]
    policy: str | None


class DecidingOptions(PolicyOptions):
    """Values that `deciding_options` pass to a command."""

    tainted: bool


def deciding_options(command: F) -> F:
    """Add the options of deciding to a command that reads a text."""
    return policy_options(
        click.option(
            "--tainted", is_flag=True, help="The text, or what led to it, may be of others."
        )(command)
    )


def policy_options(command: F) -> F:
    """Add the options that make a policy to a command."""
    options = (
        click.option("--ask", is_flag=True, help="Ask before each call that no rule names."),
        click.option(
            "--allow",
            multiple=True,
            metavar="TOOL",
            help="Run this tool unasked; a pattern such as file_*; may be given again.",
        ),
        click.option(
            "--allow-trait",
            multiple=True,
            metavar="TRAIT",
            help="Run tools unasked that have this trait, as read_only; may be given again.",
        ),
        click.option(
            "--policy",
            type=click.Path(exists=True, dir_okay=False),
            metavar="FILE",
            help="Rules in a TOML file; --allow comes after them.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def given_policy(options: PolicyOptions) -> Policy:
    """The policy that the options make together; off where there is none of them."""
    from callblocks.core.errors import BadPolicy
    from callblocks.policy.policy import Policy
    from callblocks.policy.rules import Rule

    written = _written(options["policy"])
    try:
        added = [
            *(Rule(decide="allow", tool=(name,), because="--allow") for name in options["allow"]),
            *(
                Rule(decide="allow", trait=(trait,), because="--allow-trait")
                for trait in options["allow_trait"]
            ),
        ]
        off = options["policy"] is not None and not written.enabled
        on = not off and (written.enabled or bool(added) or options["ask"])
        return Policy((*written.rules, *added), name=written.name, autoexec=on)
    except BadPolicy as error:
        raise Fault(f"--allow: {error}") from error


def _written(file: str | None) -> Policy:
    from callblocks.core.errors import BadPolicy
    from callblocks.policy.policy import Policy, read_policy

    try:
        return read_policy(file) if file else Policy()
    except BadPolicy as error:
        raise Fault(str(error)) from error


def check_names(options: PolicyOptions, known: tuple[str, ...]) -> None:
    """Say which --allow and --only name no tool: it may be a slip."""
    from fnmatch import fnmatchcase

    from callblocks.core.text import close_to

    given = [("allow", one) for one in options["allow"]]
    given += [("only", one) for one in options.get("only", ())]
    for option, pattern in given:
        if not any(fnmatchcase(name, pattern) for name in known):
            near = close_to(pattern, known)
            way_out = near and f"; did you mean {near}?"
            say(f"--{option} {pattern}: no tool has such a name{way_out}")
