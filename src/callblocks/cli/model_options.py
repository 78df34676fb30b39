"""Options that say how a model is asked, for every command that opens one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from callblocks.models.model import CALL_MODES, CallMode

if TYPE_CHECKING:
    from callblocks.models.config import Overrides

__all__ = ("ModelOptions", "model_options", "overrides_of")

F = TypeVar("F", bound=Callable[..., Any])


class ModelOptions(TypedDict):
    """What `model_options` give; None is what the config file says, or the server."""

    system: str | None
    temperature: float | None
    max_tokens: int | None
    mode: CallMode | None


def model_options(command: F) -> F:
    """Add the options to a command."""
    options = (
        click.option(
            "--system", metavar="TEXT", help="What the model is told first; before the config file."
        ),
        click.option(
            "--temperature",
            type=click.FloatRange(0),
            metavar="NUMBER",
            help="How freely the model chooses its words; 0: as little as it can.",
        ),
        click.option(
            "--max-tokens",
            type=click.IntRange(1),
            metavar="N",
            help="The most tokens of a reply.",
        ),
        click.option(
            "--mode",
            type=click.Choice(CALL_MODES),
            help="How calls go to and fro: as text in a dialect, natively by the server, or both."
            "  [default: auto]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def overrides_of(options: ModelOptions) -> Overrides:
    """What the options say to the server of a model."""
    from callblocks.models.config import Overrides

    return Overrides(
        mode=options["mode"],
        temperature=options["temperature"],
        max_tokens=options["max_tokens"],
    )
