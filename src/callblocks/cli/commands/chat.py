"""`callblocks chat`: talk with a model that calls tools, in the terminal or in one prompt.

Without --ask, --allow, --allow-trait or --policy no call runs: the model is told so, and the
person how to allow it.
"""

from __future__ import annotations

import sys
from typing import Unpack

import click

from callblocks.cli.exits import EXIT_CODES, Fault
from callblocks.cli.options.chat_options import ChatOptions, asked, chat_options, check_team
from callblocks.cli.terminal.io import STDIN, name_of, pieces

__all__ = ("command",)


@click.command("chat", short_help="Talk with a model that calls tools.", epilog=EXIT_CODES)
@click.argument("name", required=False)
@click.option("--last", is_flag=True, help="Go on with the chat that was written to last.")
@chat_options
@click.option(
    "--attach",
    type=click.Path(exists=True, dir_okay=False, readable=True),
    multiple=True,
    metavar="FILE",
    help="Give a file with the first prompt; may be given again.",
)
@click.option("--prompt", metavar="TEXT", help="Ask this, show the answer, and leave.")
@click.option("--json", "as_json", is_flag=True, help="One event of the turn per line.")
def command(
    name: str | None,
    last: bool,
    attach: tuple[str, ...],
    prompt: str | None,
    as_json: bool,
    **options: Unpack[ChatOptions],
) -> None:
    """Talk with a model that calls tools.

    NAME is the chat, which is a timeline: one that is there goes on, and without NAME a new one
    begins. Where standard input is no terminal, all of it is the prompt. With none of --ask,
    --allow, --allow-trait and --policy no call runs.
    """
    if name and last:
        raise click.UsageError("NAME and --last exclude each other")
    check_team(options)
    if prompt is None:
        prompt = _piped()
    if prompt is None and as_json:
        raise click.UsageError("--json goes with --prompt, or a prompt on standard input")
    given = asked(prompt, attach)
    if prompt is not None and not given.prompt:
        raise Fault("the prompt is empty; --prompt, or standard input, says what to ask")
    from callblocks.cli.chat.chat_loop import ask, talk

    if prompt is None:
        talk(name, given.files, options, last=last)
    else:
        ask(name, given, options, last=last, as_json=as_json)


def _piped() -> str | None:
    """All of standard input; None where a person is there to type."""
    if sys.stdin is not None and sys.stdin.isatty():
        return None
    text = ""
    for piece in pieces(STDIN):
        if not isinstance(piece, str):
            where = f"byte {piece.value:#04x} at offset {piece.offset}"
            raise Fault(f"{name_of(STDIN)}: the prompt is not UTF-8: {where}")
        text += piece
    return text
