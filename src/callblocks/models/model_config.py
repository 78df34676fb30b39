"""The config file: models by names of one's own, and which of them is used without a choice.

    default = "coder"

    [models.coder]
    address = "ollama:qwen3-coder"        # any form of `callblocks.models.open_model`
    temperature = 0.2
    context = 32768

    [models.house]
    address = "https://models.example.org/v1"
    model = "house-large"
    key_env = "HOUSE_KEY"                 # the variable that has the key; a key never stands here
    headers_env = {x-team = "HOUSE_TEAM"}

It is `$CALLBLOCKS_CONFIG`, or `callblocks/config.toml` in `$XDG_CONFIG_HOME` or `~/.config`.
Whatever is not understood in it is an error that names the place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from callblocks.core.errors import CallerError, ModelError
from callblocks.core.redaction import is_secret_key, redact
from callblocks.core.text import brief, close_to
from callblocks.core.toml_text import parse_toml
from callblocks.models.model import CALL_MODES, CallMode, Model
from callblocks.models.open_model import (
    is_endpoint,
    is_form,
    key_hint,
    locate,
    open_model,
    unknown_model,
)
from callblocks.models.openai.endpoint import EndpointSettings, check_is_text

__all__ = (
    "LARGEST",
    "NO_CONFIG",
    "NO_OVERRIDES",
    "Config",
    "ModelEntry",
    "NamedModel",
    "Overrides",
    "check_keys",
    "config_path",
    "open_entry",
    "open_named",
    "parse_config",
    "parse_entry",
    "read_config",
    "read_text",
)

# The most bytes of the file.
LARGEST = 1_000_000

VARIABLE = "CALLBLOCKS_CONFIG"

_Table: TypeAlias = dict[str, Any]
_NAME = re.compile(r"[^\s#]{1,64}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYS = ("key", "api_key", "apikey", "api-key", "token", "auth", "bearer")
_SECRET_HEADERS = ("authorization", "proxy-authorization", "cookie", "x-api-key", "api-key")
_FILE: dict[str, type] = {"default": str, "models": dict}
_WORDS = {"str": "a text", "float": "a number", "int": "a whole number", "object": "a table"}
_WANTED = re.compile(r"Expected `(\w+)")
# Keys that apply only to a model behind an address.
_OF_ENDPOINTS = (
    *("model", "key_env", "mode", "temperature", "max_tokens", "extra", "headers", "headers_env"),
    *("tokens_field", "grammar_field", "first_seconds", "stall_seconds"),
)


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model in the file.

    `address` is any form of `-m`, and `model` the name at the server where the address has none.
    `key_env` names the environment variable with the key; without it the key is the one of the
    address. `headers` are sent as they stand, `headers_env` with the values of the variables that
    they name. `mode`, `dialect`, `system`, `temperature` and `max_tokens` are what the options of
    the same name say, for this model. With `grammar` it is held to its dialect, where its server
    can do that. `context` is how many tokens it takes in and writes
    together; half of it is for the timeline, in each turn in which this model speaks. `extra` is
    laid over the body of each request. The others are those of `EndpointSettings`.
    """

    address: str
    model: str = ""
    key_env: str = ""
    mode: CallMode | None = None
    dialect: str = ""
    grammar: bool = False
    system: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    context: int | None = None
    extra: dict[str, Any] = {}
    headers: dict[str, str] = {}
    headers_env: dict[str, str] = {}
    tokens_field: str | None = None
    grammar_field: str | None = None
    first_seconds: float | None = None
    stall_seconds: float | None = None

    def missing(self) -> list[str]:
        """Return the environment variables that it names and that are not set."""
        named = (self.key_env, *self.headers_env.values())
        return [name for name in named if name and name not in os.environ]

    def settings(self) -> EndpointSettings:
        """Return the settings of its endpoint; raise `CallerError` for a variable that is
        not set.
        """
        if missing := self.missing():
            raise CallerError(f"{missing[0]} is not set in the environment; export it")
        same = ("model", "mode", "context", "tokens_field", "grammar_field")
        given = {name: getattr(self, name) for name in (*same, "first_seconds", "stall_seconds")}
        if self.key_env:
            given["key"] = os.environ[self.key_env]
            given["key_hint"] = key_hint(self.key_env, given["key"])
        own = {name: value for name, value in given.items() if value is not None}
        sent = {name: os.environ[variable] for name, variable in self.headers_env.items()}
        return EndpointSettings(headers={**self.headers, **sent}, extra=self.extra, **own)


class Config(msgspec.Struct, frozen=True):
    """The content of the file; `path` is its place, "" where there is none."""

    models: dict[str, ModelEntry] = {}
    default: str = ""
    path: str = ""

    def where(self, name: str) -> str:
        """Return the place of a model in the file, for a message."""
        return f"{self.path or 'config'}: models.{name}"


# The config without a file.
NO_CONFIG = Config()


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a command about how a model is asked; they override the file.

    `tries` is how often a request without an answer is sent in all, and `wait_seconds` how long a
    server may have it wait in between.
    """

    mode: CallMode | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    tries: int | None = None
    wait_seconds: float | None = None

    @property
    def named(self) -> str:
        """Return the given option that only a server obeys; "" where none was given."""
        given = ("mode", self.mode), ("temperature", self.temperature)
        return next((f"--{name}" for name, value in given if value is not None), "")


# No option: everything as the file says.
NO_OVERRIDES = Overrides()


class NamedModel(msgspec.Struct, frozen=True, kw_only=True):
    """An open model.

    `spec` is its form with the file's names resolved. `name` is its name in the file, and
    `dialect`, `system` and `grammar` come from the file; each is empty where the file has none.
    """

    model: Model
    spec: str
    name: str = ""
    dialect: str = ""
    system: str = ""
    grammar: bool = False


def open_named(
    spec: str, config: Config = NO_CONFIG, overrides: Overrides = NO_OVERRIDES
) -> NamedModel:
    """Open the model that a text names: one of the file first, then any known form."""
    entry = config.models.get(spec)
    if entry is None:
        if not is_form(spec):
            raise unknown_model(spec, config.models)
        return NamedModel(model=_open(spec, EndpointSettings(), overrides), spec=spec)
    return open_entry(entry, spec, config.where(spec), overrides)


def open_entry(
    entry: ModelEntry, name: str, where: str, overrides: Overrides = NO_OVERRIDES
) -> NamedModel:
    """Open a model of a file; `where` is its place there, for a message."""
    try:
        model = _open(entry.address, _asked(entry, entry.settings()), overrides)
    except CallerError as error:
        raise CallerError(f"{where}: {error}") from error
    except ModelError as error:
        raise ModelError(error.code, f"{where}: {error.message}", **error.details) from error
    return NamedModel(
        model=model,
        spec=entry.address,
        name=name,
        dialect=entry.dialect,
        system=entry.system,
        grammar=entry.grammar,
    )


def config_path() -> Path | None:
    """Return where the file is, or would be; `None` on a machine without a home."""
    # Made absolute, so that a later change of the working directory does not change the file.
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser().absolute()
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if not folder.is_absolute():
        try:
            folder = Path.home() / ".config"
        except RuntimeError:
            return None
    return folder / "callblocks" / "config.toml"


def read_config() -> Config:
    """Read the file; return an empty config where there is none, unless a variable names it."""
    path = config_path()
    if path is None:
        return NO_CONFIG
    named_by = VARIABLE if os.environ.get(VARIABLE) else ""
    text = read_text(path, named_by)
    return NO_CONFIG if text is None else parse_config(text, os.fspath(path))


def read_text(path: Path, named_by: str = "") -> str | None:
    """Return the text of a config file; `None` where there is none and nothing names it.

    `named_by` is the variable or the option that names the file, for a message.
    """
    name = os.fspath(path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        if named_by:
            raise CallerError(f"{name}: {error.strerror}; {named_by} names it") from error
        return None
    except OSError as error:
        raise CallerError(f"{name}: cannot be read: {error.strerror}") from error
    if len(content) > LARGEST:
        raise CallerError(f"{name}: larger than {LARGEST} bytes, which no config is")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        words = f"{error.reason} at byte {error.start}"
        raise CallerError(f"{name}: not UTF-8 text: {words}") from error


def parse_config(text: str, path: str = "") -> Config:
    """Parse the text of a config; `path` prefixes every message."""
    return parse_toml(text, "config", path, lambda found: _config(found, path))


def _config(found: _Table, path: str) -> Config:
    check_keys("", found, _FILE)
    for key, kind in _FILE.items():
        if key in found and type(found[key]) is not kind:
            raise CallerError(f"{key}: is not {'a table' if kind is dict else 'a text'}")
    tables = cast("dict[str, Any]", found.get("models", {}))
    models = {name: parse_entry(name, table) for name, table in tables.items()}
    default = cast("str", found.get("default", ""))
    if default and default not in models:
        _check_default(default, models)
    return Config(models, default, path)


def _check_default(default: str, models: Iterable[str]) -> None:
    """Refuse a default that is no form of a model either: it is a mistyped name."""
    if not is_form(default):
        raise CallerError(f"default: {unknown_model(default, models)}")


def parse_entry(name: str, found: object, beside: Iterable[str] = ()) -> ModelEntry:
    """Return the model of a table; `beside` are keys that a table like this has besides.

    The caller has taken those keys out: they are only named in messages.
    """
    where = f"models.{name}"
    if not _NAME.fullmatch(name) or not name.isprintable():
        raise CallerError(f"models: {brief(name)} cannot name a model; it has no blank and no #")
    if not isinstance(found, dict):
        raise CallerError(f"{where}: is not a table; write [{where}] and its keys below")
    table = cast("_Table", found)
    for key in table:
        # Checked before unknown keys are reported, so that a key in the file gets the right advice,
        # and its value is never shown.
        if key.lower() in _KEYS or (key not in ModelEntry.__struct_fields__ and is_secret_key(key)):
            raise CallerError(
                f"{where}, {key}: no key stands in this file; put it into an environment variable "
                'and name that: key_env = "NAME_OF_THE_VARIABLE"'
            )
    check_keys(where, table, (*ModelEntry.__struct_fields__, *beside))
    try:
        entry = msgspec.convert(table, ModelEntry)
    except msgspec.ValidationError as error:
        raise CallerError(_wrong_type(where, str(error))) from None
    _check_entry(where, table, entry)
    return entry


def check_keys(where: str, table: _Table, known: Iterable[str]) -> None:
    """Refuse a key that is none of the known ones; suggest the one that was meant."""
    for key in table:
        if key not in known:
            near = close_to(key, known)
            if where and isinstance(table[key], dict):
                words = f'a name with a dot stands in quotes: [models."{where[7:]}.{key}"]'
                raise CallerError(f"{where}, {brief(key)}: is no key here; {words}")
            meant = f"; did you mean {near}?" if near else f"; these are: {', '.join(known)}"
            raise CallerError(f"{where}{', ' if where else ''}{brief(key)}: is no key here{meant}")


def _check_entry(where: str, table: _Table, entry: ModelEntry) -> None:
    """Check everything that can be checked before a model is used."""
    _check_variables(where, entry)
    for name in entry.headers:
        if name.lower() in _SECRET_HEADERS or is_secret_key(name):
            words = "its value is a secret; name a variable that has it, in headers_env"
            raise CallerError(f"{where}, headers, {name}: {words}")
    if "@" in entry.address.partition("://")[2].partition("/")[0]:
        words = "a name and password stand before the @; give them in headers_env or key_env"
        raise CallerError(f"{where}, address: {words}")
    for key in ("max_tokens", "context"):
        value = getattr(entry, key)
        if value is not None and value < 1:
            raise CallerError(f"{where}, {key}: {value} is less than 1")
    if not is_endpoint(entry.address):
        for key in _OF_ENDPOINTS:
            if key in table:
                words = "is for a model behind an address"
                raise CallerError(f"{where}, {key}: {words}; {brief(entry.address)} is none")
        return
    _check_settings(where, entry)


def _check_variables(where: str, entry: ModelEntry) -> None:
    named = {
        "key_env": entry.key_env,
        **{f"headers_env, {k}": v for k, v in entry.headers_env.items()},
    }
    for key, variable in named.items():
        if (key != "key_env" or variable) and (
            not _ENV_NAME.fullmatch(variable) or redact(variable) != variable
        ):
            # The value may be the key itself, so it is not shown.
            raise CallerError(f"{where}, {key}: is no name of an environment variable")


def _check_settings(where: str, entry: ModelEntry) -> None:
    """Check the settings that do not come from the environment.

    Variables are checked when this model is opened: a wrong variable is no fault of the file, and
    all other models can be used.
    """
    # Without the environment, so that one missing variable does not make the whole file unusable.
    bare = msgspec.structs.replace(entry, key_env="", headers_env={})
    try:
        located = locate(entry.address, _asked(bare, bare.settings()), environment={})
        if entry.address.startswith("completion:"):
            check_is_text(located.mode)
    except CallerError as error:
        raise CallerError(f"{where}: {error}") from error


def _asked(entry: ModelEntry, settings: EndpointSettings) -> EndpointSettings:
    """Return the settings with the temperature and the most tokens of a reply."""
    return _with(settings, entry.temperature, entry.max_tokens, entry.address)


def _open(spec: str, settings: EndpointSettings, overrides: Overrides) -> Model:
    if not is_endpoint(spec):
        model = open_model(spec, settings)
        if overrides.named:
            raise CallerError(
                f"{overrides.named} is for a model behind an address, not {model.name}"
            )
        return model
    if overrides.mode is not None:
        settings = msgspec.structs.replace(settings, mode=overrides.mode)
    if overrides.tries is not None:
        settings = msgspec.structs.replace(settings, tries=overrides.tries)
    if overrides.wait_seconds is not None:
        settings = msgspec.structs.replace(settings, wait_seconds=overrides.wait_seconds)
    return open_model(spec, _with(settings, overrides.temperature, overrides.max_tokens, spec))


def _with(
    settings: EndpointSettings, temperature: float | None, tokens: int | None, spec: str
) -> EndpointSettings:
    """Put both into the body of each request, so that they hold whoever asks the model."""
    if not is_endpoint(spec):
        return settings
    field = locate(spec, settings, environment={}).tokens_field
    given = {"temperature": temperature, field: tokens}
    named = {name: value for name, value in given.items() if value is not None}
    return msgspec.structs.replace(settings, extra={**settings.extra, **named})


def _wrong_type(where: str, problem: str) -> str:
    """Translate a type error of msgspec into the words of the file; values are not shown."""
    said, _, place = problem.partition(" - at `$")
    key = place.strip("`.").partition("[")[0].partition(".")[0]
    if said.startswith("Object missing"):
        return f'{where}: has no address; write address = "http://HOST/v1", or another form of -m'
    if key == "mode":
        return f"{where}, mode: is none of {', '.join(CALL_MODES)}"
    # msgspec quotes no value, only types; the place is translated to the key of the file.
    wanted = _WANTED.search(said)
    words = _WORDS.get(wanted[1], wanted[1]) if wanted else said
    return f"{where}, {key}: is not {words}"
