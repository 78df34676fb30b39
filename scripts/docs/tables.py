"""The tables: each a function that returns Markdown, made from what the code says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import Parameter, isfunction, signature
from pkgutil import iter_modules
from types import FunctionType
from typing import get_args

import msgspec
from catalogue import dialect_sizes, service_types, type_table
from commands import command_tables, exit_codes
from grammars import (
    conformance_page,
    family_sections,
    family_table,
    group_table,
    thought_table,
)
from page_text import about, code, drawing, fence, first, mark, sentence, table
from running import (
    failure_table,
    field_table,
    finding_table,
    parameter_table,
    protected_table,
    tool_table,
    trait_table,
)
from talking import (
    chat_commands,
    metric_table,
    model_codes,
    model_forms,
    prompt_format_table,
    route_table,
    server_codes,
    settings_table,
    turn_codes,
    turn_events,
)
from test_helpers import support_table

import callblocks
from callblocks import Limits, dialects
from callblocks.cli.commands.dialects import abilities
from callblocks.cli.options.tool_setup import SAMPLE_TOOLS
from callblocks.core import errors
from callblocks.core.blocks import TYPES
from callblocks.core.events import Event
from callblocks.core.specs import CATALOGUE
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.timeline.timeline import TIMELINE_CODES

__all__ = ("TABLES",)

LIMITS = {"depth": "too-deep", "input_size": "too-large", "calls": "too-many-calls"}


def catalogue() -> str:
    """The tool types that scissors-cat knows by itself."""
    groups: dict[str, list[str]] = {}
    for name in CATALOGUE:
        groups.setdefault(name.partition("_")[0], []).append(code(name))
    return "\n".join(f"- {', '.join(names)}" for names in groups.values())


def dialect_table() -> str:
    """What each dialect can do."""
    able = {name: abilities(dialect, SAMPLE_TOOLS) for name, dialect in dialects.items()}
    heads = list(next(iter(able.values())))
    rows = [[code(name), *(mark(able[name][head]) for head in heads)] for name in able]
    return table(["dialect", *heads], rows)


def dialect_parts(name: str) -> str:
    """What one dialect is, and its syntax."""
    dialect = dialects[name]
    return "\n\n".join([sentence(dialect.summary), fence(dialect.syntax)])


def event_table() -> str:
    """Events in the order of the type that joins them."""
    rows = [
        [code(event.__name__), code(_tag(event)), ", ".join(_fields(event)), about(event)]
        for event in get_args(Event)
    ]
    return table(["event", "in JSON", "fields", "says"], rows)


def general_codes() -> str:
    """The codes of any text."""
    return _named("code", GENERAL_CODES)


def timeline_codes() -> str:
    """The codes of a timeline that cannot be read or written."""
    return _named("code", TIMELINE_CODES)


def block_types() -> str:
    """What a block may be."""
    return _named("type", TYPES)


def dialect_codes() -> str:
    """The codes of each dialect."""
    rows = [
        [code(one), code(name), words]
        for name, dialect in dialects.items()
        for one, words in vars(type(dialect)).get("codes", {}).items()
    ]
    return table(["code", "dialect", "means"], rows)


def limit_table() -> str:
    """What a parser takes at most."""
    rows = [
        [code(field.name), f"{field.default:,}", code(LIMITS[field.name])]
        for field in msgspec.structs.fields(Limits)
    ]
    return table(["limit", "default", "code beyond it"], rows)


def error_tree() -> str:
    """The tree that stands at the top of `model/errors.py`."""
    return fence(drawing(errors.__doc__ or ""))


def public_names() -> str:
    """What `callblocks` itself gives."""
    rows = [[code(name), _name_about(name)] for name in callblocks.__all__]
    return table(["name", "what it is"], rows)


def module_table(package: str) -> str:
    """The modules of a package, each by the first line of its docstring."""
    home = import_module(f"callblocks.{package}")
    names = sorted(module.name for module in iter_modules(home.__path__))
    rows = [[code(name), first(import_module(f"{home.__name__}.{name}"))] for name in names]
    return table(["module", "what it holds"], rows)


def method_table(path: str) -> str:
    """The public methods that a class itself defines: `parsing.block.Block`."""
    module, _, name = path.rpartition(".")
    owner = getattr(import_module(f"callblocks.{module}"), name)
    methods = [(name, value) for name, value in vars(owner).items() if isfunction(value)]
    rows = [
        [code(f"{name}({', '.join(_parameters(method))})"), about(method)]
        for name, method in methods
        if not name.startswith("_")
    ]
    return table(["method", "what it does"], rows)


TABLES: dict[str, Callable[..., str]] = {
    "dialects": dialect_table,
    "dialect": dialect_parts,
    "families": family_table,
    "groups": group_table,
    "family-dialects": family_sections,
    "conformance": conformance_page,
    "support": support_table,
    "events": event_table,
    "general-codes": general_codes,
    "timeline-codes": timeline_codes,
    "block-types": block_types,
    "dialect-codes": dialect_codes,
    "catalogue": catalogue,
    "limits": limit_table,
    "thoughts": thought_table,
    "errors": error_tree,
    "names": public_names,
    "modules": module_table,
    "methods": method_table,
    "commands": command_tables,
    "exit-codes": exit_codes,
    "failures": failure_table,
    "fields": field_table,
    "findings": finding_table,
    "protected": protected_table,
    "traits": trait_table,
    "tools": tool_table,
    "parameters": parameter_table,
    "types": type_table,
    "type-dialects": dialect_sizes,
    "service": service_types,
    "chat-commands": chat_commands,
    "metrics": metric_table,
    "model-codes": model_codes,
    "model-forms": model_forms,
    "prompt-formats": prompt_format_table,
    "routes": route_table,
    "server-codes": server_codes,
    "settings": settings_table,
    "turn-codes": turn_codes,
    "turn-events": turn_events,
}


def _named(head: str, meanings: Mapping[str, str]) -> str:
    return table([head, "means"], [[code(name), words] for name, words in meanings.items()])


def _tag(event: type[msgspec.Struct]) -> str:
    return str(event.__struct_config__.tag)


def _fields(event: type[msgspec.Struct]) -> list[str]:
    fields = msgspec.structs.fields(event)
    return [code(field.name if field.required else f"{field.name}?") for field in fields]


def _parameters(method: FunctionType) -> list[str]:
    """What may be given, by name, with its default; and of what type, where there are several."""
    given = [*signature(method).parameters.values()][1:]
    named = [_parameter(each) for each in given if each.kind is each.KEYWORD_ONLY]
    others = [_parameter(each) for each in given if each.kind is not each.KEYWORD_ONLY]
    return [*others, *(["*", *named] if named else [])]


def _parameter(given: Parameter) -> str:
    if given.kind is given.VAR_KEYWORD:
        return f"**{given.name}"
    if given.default is not given.empty:
        return f"{given.name}={given.default!r}".replace("'", '"')
    return f"{given.name}: {given.annotation}" if "|" in str(given.annotation) else given.name


def _name_about(name: str) -> str:
    return VALUES.get(name) or first(getattr(callblocks, name))


VALUES = {
    "MAX_TOOL_RESULT_DISPLAY_CHARS": "How many characters of a result a chat block shows: "
    f"{callblocks.MAX_TOOL_RESULT_DISPLAY_CHARS}.",
    "SCISSORS_CAT_DELIMITER": f"What stands after the calls: {callblocks.SCISSORS_CAT_DELIMITER}",
    "dialects": "Every dialect by its name; read only.",
}
"""The public names that have no docstring."""
