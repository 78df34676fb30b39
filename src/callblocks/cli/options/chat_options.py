"""Options that say how a chat takes place: with which model or team, tools, policy and store."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

import click
import msgspec
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from callblocks.cli.exits import Fault
from callblocks.cli.options.read_options import MODEL_DIALECT
from callblocks.cli.options.state_folder import artifacts_option, store_option
from callblocks.cli.options.tool_setup import (
    PolicyOptions,
    Tools,
    WorkplaceOptions,
    policy_options,
    tools_option,
    workplace_options,
)
from callblocks.models.model import CALL_MODES, CallMode

if TYPE_CHECKING:
    from callblocks.models.model_config import Overrides

__all__ = (
    "MODEL_SPEC",
    "SETTINGS",
    "AttachedFile",
    "ChatOptions",
    "ModelOptions",
    "PlaceOptions",
    "PromptInput",
    "asked",
    "attached",
    "chat_options",
    "check_team",
    "model_of_environment",
    "model_options",
    "model_words",
    "overrides_of",
    "read_setting",
    "serving_options",
    "shown_setting",
)

# --- What a person asked, to be written down with a run: a text, and files ---
#
# All of it is read and checked before anything runs.


class AttachedFile(msgspec.Struct, frozen=True):
    """A file that the person gave, by its name alone."""

    name: str
    content: bytes


class PromptInput(msgspec.Struct, frozen=True):
    """The prompt, or "", and the files."""

    prompt: str
    files: tuple[AttachedFile, ...]


def asked(prompt: str | None, paths: Iterable[str]) -> PromptInput:
    """Return the prompt and its files; duplicate names and unusable files raise `Fault`."""
    files: dict[str, AttachedFile] = {}
    for path in paths:
        file = _option(path)
        if file.name in files:
            raise Fault(f"--attach {path}: another file has the name {file.name}; rename one")
        files[file.name] = file
    return PromptInput((prompt or "").strip(), tuple(files.values()))


def _option(path: str) -> AttachedFile:
    try:
        return attached(path)
    except Fault as fault:
        raise Fault(f"--attach {fault.message}") from fault


def attached(path: str) -> AttachedFile:
    """A file that is to be attached; one that cannot be is a `Fault`."""
    from callblocks.core.errors import BadPath
    from callblocks.core.paths import file_path
    from callblocks.toolkits.turn_files import MAX_FILE

    try:
        name = file_path("turn_1", os.path.basename(path), "attachments").name
        with open(path, "rb") as file:
            content = file.read(MAX_FILE + 1)
    except BadPath as error:
        raise Fault(f"{path}: {error}") from error
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from error
    if len(content) > MAX_FILE:
        raise Fault(f"{path}: it has more than {MAX_FILE:,} bytes")
    return AttachedFile(name, content)


# --- Options that say how a model is asked, for every command that opens one ---


class ModelOptions(TypedDict):
    """Values of `model_options`; None leaves a setting to the config file or the server."""

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
    """Return the settings of a model that the options override."""
    from callblocks.models.model_config import Overrides

    return Overrides(
        mode=options["mode"],
        temperature=options["temperature"],
        max_tokens=options["max_tokens"],
    )


# --- The model of a chat as an argument: what a shell and the chat complete it to ---


def model_words() -> list[str]:
    """The names of the config file, and how each form begins."""
    from callblocks.core.errors import CallerError
    from callblocks.models.model_config import NO_CONFIG, read_config
    from callblocks.models.open_model import MODEL_FORMS

    try:
        config = read_config()
    except CallerError:
        # Who completes a word is not told about the file.
        config = NO_CONFIG
    # What is written large is to be filled in.
    begun = (re.split("[A-Z]", form)[0] for form in MODEL_FORMS)
    return list(dict.fromkeys((*config.models, *begun)))


class ModelSpec(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """A name of the config file, or a form; what is neither is told where it is opened."""

    name = "spec"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the completions of a word."""
        return [CompletionItem(word) for word in model_words() if word.startswith(incomplete)]


MODEL_SPEC = ModelSpec()


# --- Options that say how a chat takes place: with which model or team, tools, policy and store
# ---

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
    artifacts: str | None
    skills: str | None


class ChatOptions(PlaceOptions):
    """Values of `chat_options`; `model` is None if none was named."""

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
        artifacts_option,
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
