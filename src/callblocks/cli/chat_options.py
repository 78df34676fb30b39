"""Options that say how a chat takes place: with which model or team, tools, policy and store."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from callblocks.cli.deciding import PolicyOptions, policy_options
from callblocks.cli.dialect_name import MODEL_DIALECT
from callblocks.cli.timeline_store import store_option
from callblocks.cli.tools_file import Tools, tools_option
from callblocks.cli.workplace import WorkplaceOptions, workplace_options

__all__ = ("ChatOptions", "PlaceOptions", "chat_options", "check_team", "serving_options")

F = TypeVar("F", bound=Callable[..., Any])
_MODEL = "scripted"
_VARIABLE = "CALLBLOCKS_MODEL"
_FORMS = (
    "scripted, scripted:FOLDER, http://…/v1#NAME, completion:http://…/v1#NAME,"
    " smollm2 or llama:FILE"
)


class PlaceOptions(PolicyOptions, WorkplaceOptions):
    """All but the model; `dialect` is None for the one that suits it."""

    dialect: str | None
    team: str | None
    tools: Tools
    store: str | None
    skills: str | None


class ChatOptions(PlaceOptions):
    """What `chat_options` give."""

    model: str


def chat_options(command: F) -> F:
    """Add the options of a chat to a command."""
    model = click.option(
        "--model",
        "-m",
        metavar="SPEC",
        default=_MODEL,
        envvar=_VARIABLE,
        help=f"{_FORMS}.  [default: {_MODEL}; environment: {_VARIABLE}]",
    )
    return model(_place_options(command))


def serving_options(command: F) -> F:
    """The same, with a `model` that may be given again: a tuple of one or more."""
    model = click.option(
        "--model",
        "-m",
        metavar="SPEC",
        multiple=True,
        callback=_given_models,
        help=f"{_FORMS}; given again, turns may choose, and the first is for those that do not."
        f"  [default: {_MODEL}; environment: {_VARIABLE}]",
    )
    return model(_place_options(command))


def _given_models(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    # By itself, click would split the variable at blanks, which a path may have.
    return given or (os.environ.get(_VARIABLE) or _MODEL,)


def _place_options(command: F) -> F:
    options = (
        click.option(
            "--dialect",
            "-d",
            type=MODEL_DIALECT,
            help="How the model writes calls.  [default: tool-fence; for scripted auto, all]",
        ),
        click.option(
            "--team",
            type=click.Path(exists=True, dir_okay=False),
            metavar="FILE",
            help="Members who answer together, with models and tools of their own: a TOML file.",
        ),
        policy_options,
        workplace_options,
        tools_option("More tools."),
        store_option,
        click.option(
            "--skills",
            type=click.Path(exists=True, file_okay=False),
            metavar="FOLDER",
            help="Skills that react.read finds as sk:…: Markdown files.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def check_team(options: ChatOptions) -> None:
    """Refuse what the file of a team says itself; a variable of the environment is passed over."""
    context = click.get_current_context()
    for name in ("model", "dialect") if options["team"] else ():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words = "the file says it for each member"
            raise click.UsageError(f"--team and --{name} exclude each other: {words}")
