"""Options that say how a chat takes place: with which model or team, tools, policy and store."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from callblocks.cli.deciding import PolicyOptions, policy_options
from callblocks.cli.dialect_name import MODEL_DIALECT
from callblocks.cli.model_options import ModelOptions, model_options
from callblocks.cli.model_words import MODEL_SPEC
from callblocks.cli.timeline_store import store_option
from callblocks.cli.tools_file import Tools, tools_option
from callblocks.cli.workplace import WorkplaceOptions, workplace_options

__all__ = (
    "ChatOptions",
    "PlaceOptions",
    "chat_options",
    "check_team",
    "model_of_environment",
    "serving_options",
)

F = TypeVar("F", bound=Callable[..., Any])
_VARIABLE = "CALLBLOCKS_MODEL"
_FORMS = (
    "A name of the config file, ollama:NAME, llama.cpp, openai:NAME, http://…/v1#NAME, scripted"
    " or another form (callblocks models)"
)
_DEFAULT = f"[default: that of the config file, or scripted; environment: {_VARIABLE}]"


class PlaceOptions(PolicyOptions, WorkplaceOptions, ModelOptions):
    """All but the model; `dialect` is None for the one that suits it."""

    dialect: str | None
    team: str | None
    tools: Tools
    store: str | None
    skills: str | None


class ChatOptions(PlaceOptions):
    """What `chat_options` give; `model` is None where none was named."""

    model: str | None


def chat_options(command: F) -> F:
    """Add the options of a chat to a command."""
    model = click.option(
        "--model",
        "-m",
        type=MODEL_SPEC,
        metavar="SPEC",
        envvar=_VARIABLE,
        help=f"{_FORMS}.  {_DEFAULT}",
    )
    return model(_place_options(command))


def serving_options(command: F) -> F:
    """The same, with a `model` that may be given again: a tuple."""
    model = click.option(
        "--model",
        "-m",
        type=MODEL_SPEC,
        metavar="SPEC",
        multiple=True,
        help=f"{_FORMS}; given again, turns may choose, and the first is for those that do not;"
        f" without it, from all of the config file.  {_DEFAULT}",
    )
    return model(_place_options(command))


def model_of_environment() -> str | None:
    """The model that the environment names."""
    # By itself, click would split the variable at blanks, which a path may have.
    return os.environ.get(_VARIABLE) or None


def _place_options(command: F) -> F:
    options = (
        click.option(
            "--dialect",
            "-d",
            type=MODEL_DIALECT,
            help="The dialect that the model is taught.  [default: that of its family]",
        ),
        click.option(
            "--team",
            type=click.Path(exists=True, dir_okay=False),
            metavar="FILE",
            help="Members who answer together, with models and tools of their own: a TOML file.",
        ),
        model_options,
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
