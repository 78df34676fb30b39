"""Options that say how a model is asked, for every command that opens one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

import click

from callblocks.cli.exits import Fault
from callblocks.models.model import CALL_MODES, CallMode

if TYPE_CHECKING:
    from callblocks.models.config import Overrides

__all__ = (
    "SETTINGS",
    "ModelOptions",
    "model_options",
    "overrides_of",
    "read_setting",
    "shown_setting",
)

F = TypeVar("F", bound=Callable[..., Any])


class ModelOptions(TypedDict):
    """What `model_options` give; None is what the config file says, or the server."""

    system: str | None
    temperature: float | None
    max_tokens: int | None
    mode: CallMode | None


SETTINGS: dict[str, Any] = {
    "system": click.STRING,
    "temperature": click.FloatRange(0),
    "max-tokens": click.IntRange(1),
    "mode": click.Choice(CALL_MODES),
}
"""Each option by its name, with what may follow it: on the command line, and in a chat."""

_HELP = {
    "system": ("TEXT", "What the model is told first.  [default: that of the config file]"),
    "temperature": ("NUMBER", "How freely the model chooses its words; 0: as little as it can."),
    "max-tokens": ("N", "The most tokens of a reply."),
    "mode": (
        None,
        "How calls go to and fro: as text in a dialect, natively by the server, or mixed."
        "  [default: auto]",
    ),
}


def model_options(command: F) -> F:
    """Add the options to a command."""
    for name, kind in reversed(SETTINGS.items()):
        metavar, words = _HELP[name]
        command = click.option(f"--{name}", type=kind, metavar=metavar, help=words)(command)
    return command


def read_setting(name: str, text: str) -> tuple[str, Any]:
    """An option and its value as they are typed in a chat; no value is None, as at the start."""
    if name not in SETTINGS:
        raise Fault(f"nothing is named {name!r:.40}; there are: {', '.join(SETTINGS)}")
    return _key(name), SETTINGS[name](text) if text else None


def shown_setting(name: str, options: ModelOptions) -> str:
    """An option and its value, as they are typed."""
    value = cast("dict[str, Any]", options)[_key(name)]
    return f"{name}: {'not set' if value is None else value}"


def _key(name: str) -> str:
    return name.replace("-", "_")


def overrides_of(options: ModelOptions) -> Overrides:
    """What the options say to the server of a model."""
    from callblocks.models.config import Overrides

    return Overrides(
        mode=options["mode"],
        temperature=options["temperature"],
        max_tokens=options["max_tokens"],
    )
