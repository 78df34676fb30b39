"""`callblocks approvals`: what waits for an answer, what was answered, and taking it back."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from callblocks.approvals.approval import MINUTES, Approval, BadApproval
from callblocks.approvals.book import ApprovalBook
from callblocks.cli.exits import EXIT_CODES, Fault
from callblocks.cli.options.state_folder import APPROVALS, state_folder
from callblocks.cli.terminal.paint import Paper
from callblocks.views.terminal.tables import about_approval, approval_table

__all__ = ("command",)


@click.group(
    "approvals",
    short_help="Show, answer and take back approvals.",
    epilog=EXIT_CODES,
    invoke_without_command=True,
)
@click.option("--all", "every", is_flag=True, help="Those that are over, too.")
@click.pass_context
def command(ctx: click.Context, every: bool) -> None:
    """Show approvals: what waits for an answer, and what was approved and still counts.

    A call that nobody was there to approve waits here. It runs when it is approved and the same
    text is run again, with the same policy.
    """
    if ctx.invoked_subcommand is not None:
        return
    with ApprovalBook(state_folder() / APPROVALS) as book:
        known = book.list()
    shown = [one for one in known if every or one.state in ("pending", "approved")]
    paper = Paper()
    paper.print(approval_table(shown, time.time(), paper.width))


@command.command("show", short_help="Show all that an approval is for.")
@click.argument("id")
def show(id: str) -> None:
    """Show the whole call that waits, and what it would change."""
    with ApprovalBook(state_folder() / APPROVALS) as book:
        found = book.get(id)
    if found is None:
        raise Fault(f"no approval has the id {id}")
    paper = Paper()
    paper.print(about_approval(found, time.time(), paper.width))


@command.command("approve", short_help="Let a call run once, or its tool for a while.")
@click.argument("id")
@click.option(
    "--for",
    "minutes",
    type=click.Choice([str(number) for number in MINUTES]),
    help="Minutes in which the tool may run with any input.",
)
def approve(id: str, minutes: str | None) -> None:
    """Let a call run once, or its tool with any input for a while.

    A call that is covered as a secret in a part that could do something can only be approved where
    all of it is shown: at the terminal, by `callblocks run --ask`.
    """
    _answer(lambda book: book.approve_for(id, int(minutes)) if minutes else book.approve(id))


@command.command("deny", short_help="Refuse a call.")
@click.argument("id")
@click.option("--reason", default="", help="Why; the model is told.")
def deny(id: str, reason: str) -> None:
    """Refuse a call."""
    _answer(lambda book: book.deny(id, reason))


@command.command("revoke", short_help="Take back an approval.")
@click.argument("id")
def revoke(id: str) -> None:
    """Take back an approval that was not used yet, or a grant for a while."""
    _answer(lambda book: book.revoke(id))


def _answer(answer: Callable[[ApprovalBook], Approval]) -> None:
    with ApprovalBook(state_folder() / APPROVALS) as book:
        try:
            given = answer(book)
        except BadApproval as error:
            raise Fault(str(error)) from error
    paper = Paper()
    paper.print(approval_table([given], time.time(), paper.width))
