"""The tables: each a function that returns Markdown, made from what the code says of itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from inspect import cleandoc, getdoc, isfunction, signature
from pkgutil import iter_modules
from textwrap import dedent
from types import FunctionType
from typing import Any, get_args

import click
import msgspec

import callblocks
from callblocks import Limits, dialects
from callblocks.cli.exits import EXIT_CODES
from callblocks.cli.main import cli
from callblocks.cli.tools_file import SAMPLE_TOOLS
from callblocks.model import errors
from callblocks.model.catalogue import CATALOGUE
from callblocks.model.events import Event
from callblocks.parsing.codes import GENERAL_CODES
from callblocks.views.about import abilities

__all__ = ("TABLES",)

LIMITS = {"depth": "too-deep", "input_size": "too-large", "calls": "too-many-calls"}
HELP_OPTION = "--help"


def catalogue() -> str:
    """The tool types that scissors-cat knows by itself."""
    groups: dict[str, list[str]] = {}
    for name in CATALOGUE:
        groups.setdefault(name.partition("_")[0], []).append(_code(name))
    return "\n".join(f"- {', '.join(names)}" for names in groups.values())


def dialect_table() -> str:
    """What each dialect can do."""
    able = {name: abilities(dialect, SAMPLE_TOOLS) for name, dialect in dialects.items()}
    heads = list(next(iter(able.values())))
    rows = [[_code(name), *(_mark(able[name][head]) for head in heads)] for name in able]
    return _table(["dialect", *heads], rows)


def dialect_parts(name: str) -> str:
    """What one dialect is, and its syntax."""
    dialect = dialects[name]
    return "\n\n".join([_sentence(dialect.summary), _fence(dialect.syntax)])


def event_table() -> str:
    """Events in the order of the type that joins them."""
    rows = [
        [_code(event.__name__), _code(_tag(event)), ", ".join(_fields(event)), _about(event)]
        for event in get_args(Event)
    ]
    return _table(["event", "in JSON", "fields", "says"], rows)


def general_codes() -> str:
    """The codes of any text."""
    return _table(
        ["code", "means"], [[_code(code), about] for code, about in GENERAL_CODES.items()]
    )


def dialect_codes() -> str:
    """The codes of each dialect."""
    rows = [
        [_code(code), _code(name), about]
        for name, dialect in dialects.items()
        for code, about in vars(type(dialect)).get("codes", {}).items()
    ]
    return _table(["code", "dialect", "means"], rows)


def limit_table() -> str:
    """What a parser takes at most."""
    rows = [
        [_code(field.name), f"{field.default:,}", _code(LIMITS[field.name])]
        for field in msgspec.structs.fields(Limits)
    ]
    return _table(["limit", "default", "code beyond it"], rows)


def error_tree() -> str:
    """The tree that stands at the top of `model/errors.py`."""
    return _fence(_drawing(errors.__doc__ or ""))


def public_names() -> str:
    """What `callblocks` itself gives."""
    rows = [[_code(name), _name_about(name)] for name in callblocks.__all__]
    return _table(["name", "what it is"], rows)


def module_table(package: str) -> str:
    """The modules of a package, each by the first line of its docstring."""
    home = import_module(f"callblocks.{package}")
    names = sorted(module.name for module in iter_modules(home.__path__))
    rows = [[_code(name), _first(import_module(f"{home.__name__}.{name}"))] for name in names]
    return _table(["module", "what it holds"], rows)


def method_table(path: str) -> str:
    """The public methods that a class itself defines: `parsing.block.Block`."""
    module, _, name = path.rpartition(".")
    owner = getattr(import_module(f"callblocks.{module}"), name)
    methods = [(name, value) for name, value in vars(owner).items() if isfunction(value)]
    rows = [
        [_code(f"{name}({', '.join(_parameters(method))})"), _about(method)]
        for name, method in methods
        if not name.startswith("_")
    ]
    return _table(["method", "what it does"], rows)


def command_tables() -> str:
    """Each command, what it does, and its options."""
    context = click.Context(cli, info_name="callblocks")
    commands = [(name, cli.get_command(context, name)) for name in cli.list_commands(context)]
    return "\n\n".join(_command(command, name, context) for name, command in commands if command)


def exit_codes() -> str:
    """How the command ends."""
    rows = [line.split(maxsplit=1) for line in EXIT_CODES.splitlines() if line.startswith("  ")]
    return _table(["exit code", "means"], rows)


TABLES: dict[str, Callable[..., str]] = {
    "dialects": dialect_table,
    "dialect": dialect_parts,
    "events": event_table,
    "general-codes": general_codes,
    "dialect-codes": dialect_codes,
    "catalogue": catalogue,
    "limits": limit_table,
    "errors": error_tree,
    "names": public_names,
    "modules": module_table,
    "methods": method_table,
    "commands": command_tables,
    "exit-codes": exit_codes,
}


def _command(command: click.Command, name: str, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    rows = [
        [_code(record[0]), _spaced(record[1])]
        for option in command.get_params(context)
        if isinstance(option, click.Option)
        and HELP_OPTION not in option.opts
        and (record := option.get_help_record(context))
    ]
    about, _, example = cleandoc(command.help or "").partition("\b\n")
    parts = [f"### callblocks {name}", _fence(f"callblocks {name} {usage}"), about.strip()]
    parts += [_fence(example)] if example else []
    parts += [_table(["option", "says"], rows)] if rows else []
    return "\n\n".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    """Text between backticks stands as it is; outside of them `<` would open a tag."""
    parts = text.replace("|", "\\|").replace("\n", " ").split("`")
    return "`".join(part if at % 2 else part.replace("<", "&lt;") for at, part in enumerate(parts))


def _code(text: str) -> str:
    return f"`{text}`"


def _mark(yes: bool) -> str:
    return "yes" if yes else "–"


def _fence(text: str) -> str:
    """A text block whose fence is longer than any inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    run = "`" * max(3, longest + 1)
    return f"{run}text\n{text.strip(chr(10))}\n{run}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _spaced(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _tag(event: type[msgspec.Struct]) -> str:
    return str(event.__struct_config__.tag)


def _fields(event: type[msgspec.Struct]) -> list[str]:
    fields = msgspec.structs.fields(event)
    return [_code(field.name if field.required else f"{field.name}?") for field in fields]


def _parameters(method: FunctionType) -> list[str]:
    """What must be given; what may be given follows in brackets."""
    given = list(signature(method).parameters.values())[1:]
    return [each.name if each.default is each.empty else f"[{each.name}]" for each in given]


def _about(thing: object) -> str:
    return _spaced(getdoc(thing) or "")


def _first(thing: object) -> str:
    """The first sentence of a docstring."""
    first = (getdoc(thing) or "").partition("\n\n")[0]
    return _spaced(first).rstrip(":")


def _name_about(name: str) -> str:
    value: Any = getattr(callblocks, name)
    documented = isinstance(value, type) or callable(value)
    return _first(value) if documented else "Every dialect by its name; read only."


def _drawing(doc: str) -> str:
    return dedent("\n".join(line for line in doc.splitlines() if line.startswith("    ")))
