"""The file of a gateway: its models, their upstreams, its clients and what it keeps.

    default = "coder"                       # for names that no model has ("gpt-5")

    [models.coder]
    address = "ollama:qwen3-coder"          # the fields of callblocks.models.model_config
    dialect = "qwen3_coder"
    aliases = ["gpt-5", "claude-sonnet-4-5"]
    retries = 2                             # those of gateway.upstreams.ModelSettings

    [models.large]
    key_env = "HOUSE_KEY"                   # holds for each of the upstreams
    upstreams = [
        {address = "http://10.0.0.5:8000/v1#large", weight = 3},
        {address = "http://10.0.0.6:8000/v1#large"},
    ]

    [clients.ci]
    key_env = "CI_KEY"
    requests_per_minute = 60

It is `$CALLBLOCKS_GATEWAY`, or `gateway.toml` beside the config file. Where there is none, the
models of the config file are offered. Whatever is not understood is an error that names the place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from callblocks.core.errors import CallerError
from callblocks.core.text import brief
from callblocks.core.toml_text import parse_toml
from callblocks.gateway.firewall import Rewrite
from callblocks.gateway.upstreams import ModelSettings
from callblocks.models.model_config import (
    Config,
    ModelEntry,
    check_keys,
    config_path,
    parse_entry,
    read_config,
    read_text,
)
from callblocks.models.open_model import is_endpoint, is_form, locate, unknown_model, without_login
from callblocks.session.model_choice import check_dialect

__all__ = (
    "VARIABLE",
    "ClientEntry",
    "GatewayConfig",
    "GatewayModel",
    "UpstreamEntry",
    "config_of_models",
    "gateway_path",
    "parse_gateway",
    "read_gateway",
)

VARIABLE = "CALLBLOCKS_GATEWAY"

_Table: TypeAlias = dict[str, Any]
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[A-Za-z0-9.\-\[\]:_]+")
_FILE: dict[str, type] = {
    **dict.fromkeys(("models", "clients", "firewall", "timeline", "rollouts"), dict),
    "default": str,
    "connections": int,
    **dict.fromkeys(("rewrite", "origins", "hosts"), list),
}
_KINDS = {dict: "a table", str: "a text", list: "a list", int: "a whole number"}
_SETTINGS = tuple(name for name in ModelSettings.__struct_fields__ if name != "system")
_MOST_CONNECTIONS = 1_000_000
_OF_MODEL = ("aliases", "upstreams", *_SETTINGS)


class UpstreamEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One of the servers behind a model; `weight` is its share of the conversations."""

    entry: ModelEntry
    weight: float = 1.0


class GatewayModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that clients may name, also by each of its aliases.

    `where` is its place in the file, for a message.
    """

    name: str
    upstreams: tuple[UpstreamEntry, ...]
    aliases: tuple[str, ...] = ()
    dialect: str = ""
    settings: ModelSettings = ModelSettings()
    where: str = ""


class ClientEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A client by its key, which stands in the variable `key_env`.

    `models` are those that it may name; empty: all. A limit that is `None` does not hold. Tokens
    are those of prompts and replies together, in a day of UTC; `streams` is how many requests it
    may have open at once.
    """

    key_env: str
    models: tuple[str, ...] = ()
    requests_per_minute: int | None = None
    tokens_per_day: int | None = None
    streams: int | None = None

    def key(self) -> str:
        """Return the key; "" where the variable is not set."""
        return os.environ.get(self.key_env, "")


class GatewayConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway offers, to whom, and what it keeps.

    `policy` is the file of the firewall, `rewrites` are its changes of calls, `store` the folder of
    the timelines and `rollouts` the file of the replies; "" for none. `origins` are pages that may
    ask, `hosts` further names of this server. `connections` is how many clients may be connected at
    once. `path` is the place of the file, "" where there is none.
    """

    models: dict[str, GatewayModel] = {}
    default: str = ""
    clients: dict[str, ClientEntry] = {}
    policy: str = ""
    rewrites: tuple[Rewrite, ...] = ()
    store: str = ""
    rollouts: str = ""
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    connections: int = 1000
    path: str = ""

    def find(self, name: str) -> GatewayModel | None:
        """Return the model that a client names: by its name, by an alias, or else the default.

        Clients send names such as "gpt-5" whatever the server has. With one model every name leads
        to it.
        """
        model = self.models.get(name) or next(
            (one for one in self.models.values() if name in one.aliases), None
        )
        if model is None and len(self.models) == 1:
            return next(iter(self.models.values()))
        return model or self.models.get(self.default)

    def names(self) -> Iterator[tuple[str, GatewayModel]]:
        """Yield each name that a client can choose, with its model."""
        for name, model in self.models.items():
            yield name, model
        for model in self.models.values():
            for alias in model.aliases:
                yield alias, model


def gateway_path() -> Path | None:
    """Return where the file is, or would be; `None` on a machine without a home."""
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser().absolute()
    beside = config_path()
    return beside.with_name("gateway.toml") if beside else None


def read_gateway(path: Path | None = None) -> GatewayConfig:
    """Read the file; where there is none, return the models of the config file.

    `path` is one that a person named, so it must be there. It may be an ordinary config file, too.
    """
    named_by = "--config" if path else VARIABLE if os.environ.get(VARIABLE) else ""
    path = path or gateway_path()
    text = read_text(path, named_by) if path else None
    if path is None or text is None:
        return _of_config(read_config())
    return parse_gateway(text, os.fspath(path))


def parse_gateway(text: str, path: str = "") -> GatewayConfig:
    """Parse the text of a file; `path` prefixes every message."""
    return parse_toml(text, "gateway file", path, lambda found: _gateway(found, path))


def config_of_models(specs: Iterable[str], config: GatewayConfig) -> GatewayConfig:
    """Return the config with these models alone, the first of them the default.

    A text is a name of the config, or any form of `callblocks.models.open_model`. A form is offered
    under the name of its model, too.
    """
    chosen: dict[str, GatewayModel] = {}
    for spec in specs:
        model = config.models.get(spec)
        if model is None:
            if not is_form(spec):
                raise unknown_model(spec, config.models)
            model = _of_form(spec)
        chosen[model.name] = model
    return msgspec.structs.replace(config, models=chosen, default=next(iter(chosen), ""))


# --- Models without a file of the gateway ---


def _of_form(spec: str) -> GatewayModel:
    name = without_login(spec)
    entry = ModelEntry(address=spec)
    model = locate(spec).model if is_endpoint(spec) else ""
    aliases = (model,) if model and model != name else ()
    return GatewayModel(name=name, upstreams=(UpstreamEntry(entry=entry),), aliases=aliases)


def _of_config(config: Config) -> GatewayConfig:
    for name, entry in config.models.items():
        _check_dialect(config.where(name), entry.dialect)
    models = {
        name: GatewayModel(
            name=name,
            upstreams=(UpstreamEntry(entry=entry),),
            dialect=entry.dialect,
            settings=ModelSettings(system=entry.system),
            where=config.where(name),
        )
        for name, entry in config.models.items()
    }
    default = config.default
    if default and default not in models:
        form = _of_form(default)
        models[form.name], default = form, form.name
    return GatewayConfig(models=models, default=default, path=config.path)


# --- The file ---


def _gateway(found: _Table, path: str) -> GatewayConfig:
    check_keys("", found, _FILE)
    for key, kind in _FILE.items():
        if key in found and type(found[key]) is not kind:
            raise CallerError(f"{key}: is not {_KINDS[kind]}")
    models = {name: _model(name, table, path) for name, table in found.get("models", {}).items()}
    _check_aliases(models)
    default = cast("str", found.get("default", ""))
    if default and default not in models:
        raise CallerError(f"default: {unknown_model(default, models)}")
    connections = cast("int", found.get("connections", GatewayConfig().connections))
    if not 0 < connections <= _MOST_CONNECTIONS:
        raise CallerError(f"connections: is no number from 1 to {_MOST_CONNECTIONS}")
    clients = {name: _client(name, table) for name, table in found.get("clients", {}).items()}
    _check_clients(clients, models)
    return GatewayConfig(
        models=models,
        default=default,
        clients=clients,
        policy=_place(found, "firewall", "policy", path),
        rewrites=tuple(_rewrites(found.get("rewrite", []))),
        store=_place(found, "timeline", "store", path),
        rollouts=_place(found, "rollouts", "file", path),
        origins=_texts("origins", found.get("origins", [])),
        hosts=_texts("hosts", found.get("hosts", [])),
        connections=connections,
        path=path,
    )


def _model(name: str, found: object, path: str) -> GatewayModel:
    where = f"models.{name}"
    if not isinstance(found, dict):
        raise CallerError(f"{where}: is not a table; write [{where}] and its keys below")
    table = cast("_Table", found)
    own = {key: value for key, value in table.items() if key not in _OF_MODEL}
    given = table.get("upstreams")
    if given is None:
        upstreams = (UpstreamEntry(entry=parse_entry(name, own, _OF_MODEL)),)
    else:
        upstreams = tuple(_upstreams(name, own, given))
    first = upstreams[0].entry
    _check_dialect(where, first.dialect)
    settings = {key: table[key] for key in _SETTINGS if key in table}
    return GatewayModel(
        name=name,
        upstreams=upstreams,
        aliases=_texts(f"{where}, aliases", table.get("aliases", [])),
        dialect=first.dialect,
        settings=_convert(where, {**settings, "system": first.system}, ModelSettings),
        where=f"{path or 'gateway'}: {where}",
    )


def _upstreams(name: str, own: _Table, given: object) -> Iterator[UpstreamEntry]:
    """Yield the upstreams of a model; each has the model's own fields, and may replace them."""
    where = f"models.{name}, upstreams"
    if not isinstance(given, list) or not given:
        raise CallerError(f'{where}: is no list; write [{{address = "http://HOST/v1#MODEL"}}, …]')
    for key in ("dialect", "system"):
        if any(isinstance(one, dict) and key in one for one in cast("list[Any]", given)):
            # The prompt is the same for each of them, or a conversation could not move.
            raise CallerError(f"{where}, {key}: belongs to the model, not to an upstream")
    for number, one in enumerate(cast("list[object]", given), 1):
        place = f"{where[7:]} {number}"
        if not isinstance(one, dict):
            raise CallerError(f"models.{place}: is not a table")
        table = cast("_Table", one)
        weight = table.get("weight", 1)
        if type(weight) not in (int, float) or not 0 < weight < 1_000_000:
            raise CallerError(f"models.{place}, weight: is no number above 0")
        rest = {key: value for key, value in table.items() if key != "weight"}
        entry = _entry_at(name, place, {**own, **rest})
        yield UpstreamEntry(entry=entry, weight=float(weight))


def _entry_at(name: str, place: str, table: _Table) -> ModelEntry:
    """Return an upstream; its errors name its place within the model."""
    try:
        return parse_entry(name, table, (*_OF_MODEL, "weight"))
    except CallerError as error:
        raise CallerError(str(error).replace(f"models.{name}", f"models.{place}", 1)) from None


def _client(name: str, found: object) -> ClientEntry:
    where = f"clients.{name}"
    if not isinstance(found, dict):
        raise CallerError(f"{where}: is not a table; write [{where}] and its keys below")
    table = cast("_Table", found)
    if "key" in table:
        words = 'put it into an environment variable and name that: key_env = "NAME"'
        raise CallerError(f"{where}, key: no key stands in this file; {words}")
    check_keys(where, table, ClientEntry.__struct_fields__)
    if "key_env" not in table:
        raise CallerError(f'{where}: has no key; name the variable with it: key_env = "NAME"')
    client = _convert(where, table, ClientEntry)
    if not _ENV_NAME.fullmatch(client.key_env):
        raise CallerError(f"{where}, key_env: is no name of an environment variable")
    for key in ("requests_per_minute", "tokens_per_day", "streams"):
        value = getattr(client, key)
        if value is not None and value < 1:
            raise CallerError(f"{where}, {key}: {value} is less than 1")
    return client


def _rewrites(found: list[Any]) -> Iterator[Rewrite]:
    for number, table in enumerate(found, 1):
        where = f"rewrite {number}"
        if not isinstance(table, dict):
            raise CallerError(f"{where}: is not a table; write [[rewrite]] and its keys below")
        known = ("tool", "argument", "pattern", "with", "because")
        check_keys(where, cast("_Table", table), known)
        yield _convert(where, cast("_Table", table), Rewrite)


def _check_dialect(where: str, dialect: str) -> None:
    try:
        check_dialect(dialect)
    except CallerError as error:
        raise CallerError(f"{where}, dialect: {error}") from None


def _check_aliases(models: Mapping[str, GatewayModel]) -> None:
    taken: dict[str, str] = dict.fromkeys(models, "the name of a model")
    for name, model in models.items():
        for alias in model.aliases:
            if alias in taken:
                raise CallerError(f"models.{name}, aliases: {brief(alias)} is also {taken[alias]}")
            taken[alias] = f"an alias of {name}"


def _check_clients(clients: Mapping[str, ClientEntry], models: Mapping[str, GatewayModel]) -> None:
    variables: dict[str, str] = {}
    for name, client in clients.items():
        for model in client.models:
            if model not in models:
                raise CallerError(
                    f"clients.{name}, models: {brief(model)} is no model of this file"
                )
        if other := variables.get(client.key_env):
            raise CallerError(f"clients.{name}, key_env: is also the one of clients.{other}")
        variables[client.key_env] = name


def _place(found: _Table, section: str, key: str, path: str) -> str:
    """Return a place in the file system; a relative one lies beside the file."""
    table = cast("_Table", found.get(section, {}))
    check_keys(section, table, (key,))
    value = table.get(key, "")
    if not isinstance(value, str) or "\0" in value:
        raise CallerError(f"{section}, {key}: is not a text")
    if section in found and not value:
        raise CallerError(f"{section}: has no {key}")
    if not value:
        return ""
    return os.fspath(Path(path).parent / Path(value).expanduser())


def _texts(where: str, found: object) -> tuple[str, ...]:
    values = cast("list[object]", found) if isinstance(found, list) else [None]
    if not all(isinstance(one, str) and one for one in values):
        raise CallerError(f"{where}: is not a list of texts")
    texts = tuple(cast("list[str]", values))
    if where == "origins":
        for one in texts:
            if not _ORIGIN.fullmatch(one):
                words = "write it without a path: http://localhost:5173"
                raise CallerError(f"origins: {brief(one)} is no origin; {words}")
    return texts


def _convert(where: str, table: _Table, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at `$.")
        key = f", {place.strip('`')}" if place else ""
        raise CallerError(f"{where}{key}: {said}") from None
