"""Tables about talking with models: what a turn tells, what may end it, settings, addresses."""

from __future__ import annotations

from importlib import import_module
from inspect import getdoc
from typing import Any, get_args

import msgspec
from page_text import about, amount, code, drawing, spaced, table

from callblocks.cli.chat.chat_screen import COMMANDS
from callblocks.core.events import TurnEvent
from callblocks.models import open_model as opening
from callblocks.models import prompt_formats
from callblocks.models.model import MODEL_CODES
from callblocks.models.open_model import MODEL_FORMS
from callblocks.server.app import ENDPOINTS
from callblocks.server.http.faults import FAULTS
from callblocks.server.http.monitoring import Metrics
from callblocks.session.event_gate import TURN_CODES

__all__ = (
    "chat_commands",
    "metric_table",
    "model_codes",
    "model_forms",
    "prompt_format_table",
    "route_table",
    "server_codes",
    "settings_table",
    "turn_codes",
    "turn_events",
)

OF_ALL = "member"
"""The field that every turn event has."""


def turn_events() -> str:
    """What happens in a turn, in the order of the type that joins it."""
    rows = [
        [code(event.__name__), code(str(event.__struct_config__.tag)), _fields(event), about(event)]
        for event in get_args(TurnEvent)
    ]
    return table(["event", "in JSON", "fields", "says"], rows)


def turn_codes() -> str:
    """The codes of an ended turn."""
    return table(["code", "means"], [[code(name), words] for name, words in TURN_CODES.items()])


def model_codes() -> str:
    """The codes of a model that gives no reply."""
    return table(["code", "means"], [[code(name), words] for name, words in MODEL_CODES.items()])


def model_forms() -> str:
    """How a model is named, as the module that opens it says."""
    said = dict(_pair(line) for line in drawing(opening.__doc__ or "").splitlines() if line)
    return table(["written", "is"], [[code(form), said[form]] for form in MODEL_FORMS])


def prompt_format_table() -> str:
    """How messages become one text."""
    lines = drawing(prompt_formats.__doc__ or "").splitlines()
    rows = [[code(name), code(words)] for name, words in map(_pair, lines)]
    return table(["format", "a prompt"], rows)


def settings_table(path: str) -> str:
    """The fields of settings with type and default, and what their class says of them."""
    module, _, name = path.rpartition(".")
    owner = getattr(import_module(f"callblocks.{module}"), name)
    types = {key: said for one in owner.__mro__[::-1] for key, said in _annotations(one).items()}
    rows = [
        [code(field.name), code(spaced(types[field.name])), _default(field)]
        for field in msgspec.structs.fields(owner)
    ]
    return f"{table(['setting', 'type', 'default'], rows)}\n\n{getdoc(owner)}"


def route_table() -> str:
    """Every address of the server."""
    rows = [[code(one.method), code(one.path), one.summary] for one in ENDPOINTS]
    return table(["method", "path", "does"], rows)


def server_codes() -> str:
    """The codes of an error response."""
    rows = [[code(name), str(status), words] for name, (status, words) in FAULTS.items()]
    return table(["code", "status", "means"], rows)


def metric_table() -> str:
    """What a server counts."""
    rows = [
        [code(_on_the_wire(one.name, one.type)), one.type, one.documentation]
        for one in Metrics().registry.collect()
    ]
    return table(["metric", "type", "counts"], rows)


def chat_commands() -> str:
    """What a person may type in a chat beside prompts."""
    rows = [
        [code(f"/{name} {follows}".rstrip()), words] for name, (follows, words) in COMMANDS.items()
    ]
    return table(["command", "does"], rows)


def _on_the_wire(name: str, kind: str) -> str:
    return f"{name}_total" if kind == "counter" else name


def _fields(event: type[msgspec.Struct]) -> str:
    fields = [one for one in msgspec.structs.fields(event) if one.name != OF_ALL]
    return ", ".join(code(one.name if one.required else f"{one.name}?") for one in fields)


def _pair(line: str) -> tuple[str, str]:
    head, _, words = line.partition("  ")
    return head, words.strip()


def _annotations(owner: type) -> dict[str, Any]:
    return dict(vars(owner).get("__annotations__", {}))


def _default(field: Any) -> str:
    """A default as people write it; what is long or a value of ours, as code."""
    if field.required:
        return "to be given"
    value = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    if isinstance(value, msgspec.Struct):
        return code(f"{type(value).__name__}()")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return code(repr(value).replace("'", '"'))
    return f"{value:g}" if value < 10_000 else amount(value)
