"""`callblocks models`: those of the config file, what their servers have, and a test of one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack, cast

import click
import msgspec

from callblocks.cli.exits import EXIT_CODES, PROBLEMS
from callblocks.cli.options.chat_options import MODEL_SPEC, ModelOptions, model_options
from callblocks.cli.options.read_options import MODEL_DIALECT
from callblocks.cli.terminal.paint import Paper
from callblocks.views.rows import Bit, Row, visible_line, wrap

if TYPE_CHECKING:
    from callblocks.models.model_config import Config
    from callblocks.session.session import Trial

__all__ = ("command",)

_SAID = 200
_EXAMPLE = """\
default = "local"

[models.local]
address = "ollama:qwen3"
"""


class Listed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model as it is listed; `models` are those of its server, `error` why they are not known."""

    name: str
    address: str
    default: bool = False
    url: str = ""
    model: str = ""
    settings: dict[str, object] = {}
    missing: tuple[str, ...] = ()
    models: tuple[str, ...] | None = None
    error: str = ""


@click.group(
    "models",
    short_help="List and test the models that you can talk with.",
    invoke_without_command=True,
    epilog=EXIT_CODES,
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List and test the models that you can talk with; alone, as `callblocks models list`.

    They stand in the config file: $CALLBLOCKS_CONFIG, or callblocks/config.toml in
    $XDG_CONFIG_HOME or ~/.config.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_models, spec=(), as_json=False)


@command.command("list", short_help="List models, and what their servers have.")
@click.argument("spec", nargs=-1, type=MODEL_SPEC)
@click.option("--json", "as_json", is_flag=True, help="One object for each model, one per line.")
def list_models(spec: tuple[str, ...], as_json: bool) -> None:
    """List the models of the config file, or each SPEC, and what their servers have.

    SPEC is a name of the config file, or any form of --model: ollama, llama.cpp,
    http://127.0.0.1:8080/v1. A server that does not answer is no failure.
    """
    from callblocks.models.model_config import read_config

    config = read_config()
    names = spec or tuple(config.models)
    listed = asyncio.run(_ask_all(config, names))
    if as_json:
        sys.stdout.buffer.write(b"".join(msgspec.json.encode(one) + b"\n" for one in listed))
        return
    paper = Paper()
    if not listed:
        paper.print(_none_rows(config, paper.width))
    for one in listed:
        paper.print(_rows(one, paper.width))


@command.command("test", short_help="Have a model make one call, and say how it came.")
@click.argument("spec", required=False, type=MODEL_SPEC)
@click.option(
    "--dialect", "-d", type=MODEL_DIALECT, help="How the model writes calls.  [default: its own]"
)
@model_options
@click.option("--json", "as_json", is_flag=True, help="One object with all that was found out.")
def test_model(
    spec: str | None, dialect: str | None, as_json: bool, **options: Unpack[ModelOptions]
) -> None:
    """Have a model call a tiny tool in one turn, and say how the call came, and how soon.

    SPEC is as for `callblocks models list`; without it, the default of the config file is asked.
    The turn is that of a chat, and nothing of it is kept. There is exit code 1 unless a call
    came and ran.
    """
    trial = asyncio.run(_try(spec, dialect, options))
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(trial) + b"\n")
    else:
        paper = Paper()
        paper.print(_trial_rows(trial, paper.width))
    if not trial.ok:
        raise click.exceptions.Exit(PROBLEMS)


async def _try(spec: str | None, dialect: str | None, options: ModelOptions) -> Trial:
    from callblocks.cli.chat.chat_setup import ChatModels, session_settings
    from callblocks.session.session import try_model

    models = ChatModels({"dialect": dialect, "office": "", "workspace": ".", **options})
    offered = models.open(spec or models.default)
    try:
        return await try_model(offered, session_settings(options, offered))
    finally:
        await offered.model.close()


async def _ask_all(config: Config, names: Sequence[str]) -> list[Listed]:
    return list(await asyncio.gather(*(_ask(config, name) for name in names)))


async def _ask(config: Config, name: str) -> Listed:
    """A model with what its server has; one whose key is missing is not asked."""
    from callblocks.core.errors import CallerError, ModelError
    from callblocks.models.model_config import ModelEntry
    from callblocks.models.open_model import (
        is_endpoint,
        is_form,
        locate,
        unknown_model,
        without_login,
    )
    from callblocks.models.openai.http_client import list_models as ask_server

    entry = config.models.get(name)
    if entry is None and not is_form(name):
        raise unknown_model(name, config.models)
    own = entry or ModelEntry(address=name)
    known = msgspec.to_builtins(own)
    shown = Listed(
        name=without_login(name),
        address=without_login(known.pop("address")),
        default=name == config.default,
        settings=known,
        missing=tuple(own.missing()),
    )
    if shown.missing or not is_endpoint(own.address):
        return shown
    try:
        settings = locate(own.address, own.settings())
        shown = msgspec.structs.replace(shown, url=settings.shown_url, model=settings.model)
        return msgspec.structs.replace(shown, models=await ask_server(settings))
    except (CallerError, ModelError) as error:
        return msgspec.structs.replace(shown, error=str(error))


def _rows(one: Listed, width: int) -> list[Row]:
    head: list[Bit] = [("name", one.name)]
    if one.default:
        head.append(("quiet", " (default)"))
    if one.address != one.name:
        head.append(("plain", f"  {one.address}"))
    # Long texts and tables are named; what is in them is for the file.
    said = (f"{key} {_short(value)}" for key, value in one.settings.items())
    if facts := ", ".join(said):
        head.append(("quiet", f"  {facts}"))
    rows = _wrapped(head, width)
    for kind, words in _state(one):
        rows += _wrapped([("plain", "  "), (kind, words)], width)
    return rows


def _state(one: Listed) -> list[Bit]:
    """Return the state of a model's server: its models, or why they are unknown."""
    from callblocks.core.text import close_to, listed

    if one.missing:
        return [("warning", f"not asked: {', '.join(one.missing)} is not set in the environment")]
    if one.error:
        return [("warning", one.error)]
    if one.models is None:
        return [("quiet", "on this machine")]
    rows: list[Bit] = [("quiet", f"{one.url} has {listed(one.models) or 'no model'}")]
    if one.model and one.model not in one.models and f"{one.model}:latest" not in one.models:
        near = close_to(one.model, one.models)
        meant = f"; did you mean {near}?" if near else ""
        rows.append(("warning", f"{one.model} is none of them{meant}"))
    return rows


def _none_rows(config: Config, width: int) -> list[Row]:
    from callblocks.models.model_config import config_path
    from callblocks.models.open_model import MODEL_FORMS

    path = config.path or config_path() or "a file, and name it in CALLBLOCKS_CONFIG"
    # A path and an example are to be copied: neither is broken.
    head: Row = (("plain", "No model is configured. Write for example, to"),)
    place: Row = (("key", f"  {visible_line(str(path))}"),)
    example: list[Row] = [(("code", f"  {line}"),) for line in _EXAMPLE.splitlines()]
    forms = f"--model also takes: {', '.join(MODEL_FORMS)}"
    return [head, place, (), *example, (), *_wrapped([("quiet", forms)], width)]


def _trial_rows(trial: Trial, width: int) -> list[Row]:
    rows = _wrapped([("name", trial.model), ("plain", f": {_verdict(trial)}")], width)
    notes: list[Bit] = []
    if trial.code:
        notes.append(("warning", f"{trial.code}: {trial.message}"))
    if trial.broken:
        notes.append(("warning", f"calls that could not be read: {', '.join(trial.broken)}"))
    if trial.ok and not trial.used:
        notes.append(("warning", "its answer does not have the result"))
    if not trial.ok and trial.said:
        notes.append(("quiet", f"it said: {trial.said[:_SAID]}"))
    if not trial.dialect and not trial.code:
        notes.append(("plain", "try another --mode (text, native), or --dialect"))
    for kind, words in notes:
        rows += _wrapped([("plain", "  "), (kind, words)], width)
    return rows


def _verdict(trial: Trial) -> str:
    from callblocks.models.model import NATIVE

    mode = f"mode {trial.mode}"
    times = f"{trial.first_seconds:.1f} s to the first, {trial.seconds:.1f} s in all"
    if not trial.dialect:
        none = f"no call came ({mode}; {times})"
        return none if trial.said else f"nothing came ({mode}; {trial.seconds:.1f} s)"
    came = "a native call" if trial.dialect == NATIVE else f"a call as text, in {trial.dialect},"
    return f"{came} came and {'ran' if trial.ran else 'did not run'} ({mode}; {times})"


def _short(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(cast("dict[str, object]", value))
    text = str(value)
    return f"{text[:40]}…" if len(text) > 40 else text


def _wrapped(bits: list[Bit], width: int) -> list[Row]:
    row: Row = tuple((kind, visible_line(text)) for kind, text in bits)
    return wrap(row, width, (("plain", "    "),))
