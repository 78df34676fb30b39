"""`callblocks proxy`: a gateway that gives any model native tool calls, on every wire."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from callblocks.cli.exits import EXIT_CODES, PROBLEMS, Fault, say
from callblocks.cli.options.chat_options import MODEL_SPEC

if TYPE_CHECKING:
    from callblocks.gateway.config import GatewayConfig
    from callblocks.gateway.operation import Operation
    from callblocks.gateway.server import Found

__all__ = ("command",)

_PORT = 8787
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    "proxy", short_help="Give any model native tool calls, for any client.", epilog=EXIT_CODES
)
@click.option(
    "--model",
    "-m",
    type=MODEL_SPEC,
    metavar="SPEC",
    multiple=True,
    help="Offer this model: a name of the file, ollama:NAME, http://…/v1#NAME, scripted or another"
    " form; given again, the first is for names that no model has.  [default: those of the file, or"
    " what runs on this machine]",
)
@click.option(
    "--config",
    type=_FILE,
    help="The gateway's file.  [default: $CALLBLOCKS_GATEWAY, or gateway.toml beside the config"
    " file]",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to bind.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="The port; 0 for one that is free.",
)
@click.option(
    "--key-env",
    default="",
    metavar="NAME",
    help="The variable with a key that clients send; without one, this machine alone may ask.",
)
@click.option("--quiet", "-q", is_flag=True, help="Log faults alone, and not each request.")
@click.option("--check", is_flag=True, help="Check the file, ask each upstream, and end.")
@click.option(
    "--explain",
    type=_FILE,
    metavar="FILE",
    help="Print what a model is asked for a recorded request, and end.",
)
@click.option(
    "--reply",
    type=_FILE,
    metavar="FILE",
    help="With --explain: a reply as the model wrote it; print how it is read, too.",
)
def command(
    model: tuple[str, ...],
    config: Path | None,
    host: str,
    port: int,
    key_env: str,
    *,
    quiet: bool,
    check: bool,
    explain: Path | None,
    reply: Path | None,
) -> None:
    """Serve the APIs of OpenAI, Anthropic and Ollama, with tool calls, in front of any model.

    Codex, Claude Code, opencode, Cline and every SDK of these APIs can ask it. Models write calls
    as text, in their own way; clients get native calls, as they stream. With no model given and
    none in the file, it finds what runs on this machine: Ollama, llama.cpp, LM Studio, vLLM.
    """
    from callblocks.gateway.operation import Operation

    if reply and not explain:
        raise click.UsageError("--reply needs --explain")
    source = _Source(model, config)
    operation = Operation(source.load, files=source.files, key=_key(key_env))
    if check:
        raise click.exceptions.Exit(_check(operation))
    if explain:
        _explain(operation, explain, reply)
        return
    _log_to_terminal(quiet=quiet)
    _say_unset_clients(operation.config)
    _say_unset_models(operation.config)
    _serve(operation, source, host, port, has_key=bool(key_env))


class _Source:
    """Where the config comes from: the file, with the models of the command over it."""

    def __init__(self, models: tuple[str, ...], path: Path | None) -> None:
        from callblocks.gateway.config import gateway_path
        from callblocks.models.model_config import config_path

        self._models = models
        self._path = path.absolute() if path else None
        places = (self._path,) if self._path else (gateway_path(), config_path())
        self.files = tuple(one for one in places if one)
        self.found: list[Found] | None = None

    def load(self) -> GatewayConfig:
        """Read the file; where it has no model, take those of this machine."""
        from callblocks.gateway.config import config_of_models, read_gateway

        config = read_gateway(self._path)
        if self._models:
            return config_of_models(self._models, config)
        if config.models:
            return config
        return self._discovered(config)

    def _discovered(self, config: GatewayConfig) -> GatewayConfig:
        from callblocks.gateway.server import config_of_found, discover, places

        if self.found is None:
            self.found = discover()
        offered = config_of_found(self.found, config)
        if not offered.models:
            asked = ", ".join(f"{name} ({one.shown_url})" for name, one in places().items())
            raise Fault(
                f"no model is named, and none runs on this machine; asked were {asked}. Start one"
                " of them, or name a model: --model ollama:NAME, --model http://HOST/v1#NAME, or"
                " --model scripted for a demonstration"
            )
        return offered


def _key(variable: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "")
    if not key:
        raise Fault(f"--key-env: {variable} is not set in the environment; export it")
    return key


def _log_to_terminal(*, quiet: bool) -> None:
    """Write the gateway's log on standard error; nothing in a line of it steers the terminal."""
    import logging

    from callblocks.views.rows import visible_line

    class Lines(logging.Formatter):
        def formatMessage(self, record: logging.LogRecord) -> str:
            record.message = visible_line(record.message)
            return super().formatMessage(record)

    handler = logging.StreamHandler()
    handler.setFormatter(Lines("%(asctime)s %(message)s", "%H:%M:%S"))
    log = logging.getLogger("callblocks.gateway")
    log.handlers = [handler]
    log.propagate = False
    log.setLevel(logging.WARNING if quiet else logging.INFO)


def _say_unset_clients(config: GatewayConfig) -> bool:
    """Say which keys of clients are not set; return whether one is not."""
    unset = [(name, one.key_env) for name, one in config.clients.items() if not one.key()]
    for name, variable in unset:
        say(f"clients.{name}: {variable} is not set; nobody gets in by it")
    return bool(unset)


def _say_unset_models(config: GatewayConfig) -> None:
    """Say which models cannot be asked, since the key of a server is not set."""
    for model in config.models.values():
        for variable in sorted({one.entry.key_env for one in model.upstreams} - {""}):
            if not os.environ.get(variable):
                say(f"models.{model.name}: {variable} is not set; export it, or requests fail")


def _serve(operation: Operation, source: _Source, host: str, port: int, *, has_key: bool) -> None:
    from callblocks.gateway.server import ServeSettings, all_wires, serve

    needs_key = has_key or bool(operation.config.clients)
    settings = ServeSettings(host=host, port=port)
    serve(
        operation,
        all_wires(),
        settings,
        lambda address: _tell(operation, source, address, needs_key),
    )


def _tell(operation: Operation, source: _Source, address: str, has_key: bool) -> None:
    """Print the address, what is offered there, and how clients are connected."""
    from callblocks.core.text import listed
    from callblocks.gateway.server import ready_lines
    from callblocks.views.rows import visible_line

    config = operation.config
    found = (
        f"found {one.about} at {one.url}: {listed(one.models) or 'no model'}"
        for one in source.found or ()
    )
    lines = [address, *found]
    names = [name for name, _ in config.names()]
    first = _short_name(config)
    others = config.find("")
    words = f"any other name is {others.name}" if others else "any other name is a 404"
    lines.append(f"models: {listed(names)}; {words}")
    for client, own in ready_lines(address, first, has_key=has_key):
        lines += ["", client, *(f"  {line}" for line in own)]
    sys.stdout.writelines(f"{visible_line(line)}\n" for line in lines)
    sys.stdout.flush()


def _short_name(config: GatewayConfig) -> str:
    """Return the name that the printed lines use: of an address, that of the model behind it."""
    from callblocks.models.open_model import is_form

    name = config.default or next(iter(config.models))
    aliases = config.models[name].aliases
    return aliases[0] if aliases and is_form(name) else name


# --- --check ---


def _check(operation: Operation) -> int:
    """Ask each upstream for its models; return the exit code."""
    import asyncio

    config = operation.config
    count = len(config.models)
    models = "1 model" if count == 1 else f"{count} models"
    sys.stdout.write(f"{config.path or 'no file'}: {models}\n")
    unset = _say_unset_clients(config)
    rows = asyncio.run(_ask_all(config))
    for name, address, words, _ in rows:
        sys.stdout.write(f"{name}  {address}  {words}\n")
    return 0 if all(ok for *_, ok in rows) and not unset else PROBLEMS


async def _ask_all(config: GatewayConfig) -> list[tuple[str, str, str, bool]]:
    import asyncio

    entries = [
        (model.name, one.entry) for model in config.models.values() for one in model.upstreams
    ]
    answers = await asyncio.gather(*(_ask(entry) for _, entry in entries))
    return [
        (name, _shown(entry.address), words, ok)
        for (name, entry), (words, ok) in zip(entries, answers, strict=True)
    ]


async def _ask(entry: object) -> tuple[str, bool]:
    """Return what a server says about the model of an entry, and whether it can be asked."""
    import asyncio

    from callblocks.core.errors import CallerError, ModelError
    from callblocks.core.text import close_to, listed
    from callblocks.models.model_config import ModelEntry, open_entry
    from callblocks.models.open_model import is_endpoint, locate
    from callblocks.models.openai.http_client import list_models

    assert isinstance(entry, ModelEntry)
    try:
        if not is_endpoint(entry.address):
            named = await asyncio.to_thread(open_entry, entry, "", "model")
            await named.model.close()
            return "on this machine", True
        settings = locate(entry.address, entry.settings())
        names = await list_models(settings)
    except (CallerError, ModelError) as error:
        return str(error), False
    model = settings.model
    if not model and len(names) == 1:
        return f"has {names[0]}", True
    if model in names or f"{model}:latest" in names:
        return f"has {model}", True
    if not model:
        return f"has {len(names)} models; name one of: {listed(names)}", False
    near = close_to(model, names)
    meant = f"; did you mean {near}?" if near else ""
    return f"has no {model}{meant}; it has: {listed(names) or 'no model'}", False


def _shown(address: str) -> str:
    from callblocks.models.open_model import without_login

    return without_login(address)


# --- --explain ---


def _explain(operation: Operation, path: Path, reply: Path | None) -> None:
    import asyncio

    from callblocks.gateway.explanation import explain
    from callblocks.gateway.server import all_wires

    text = reply.read_text("utf-8", "replace") if reply else None
    sys.stdout.write(asyncio.run(explain(operation.pool, all_wires(), path.read_bytes(), text)))
