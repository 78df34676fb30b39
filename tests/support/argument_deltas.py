"""Calls of a text, read with `ArgumentDeltas`: what a client of the gateway was sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from callblocks import Parser
from callblocks.core.events import CallInput, CallReady, CallStarted
from callblocks.core.specs import ToolSpec, specs_by_name
from callblocks.gateway.arguments import ArgumentDeltas
from callblocks.views.model_view.neutral import restore_input

__all__ = ("Sent", "inferred_tools", "replayed", "sent")


@dataclass
class Sent:
    """The deltas of one call, and its input where it was read; `raw` is its input as written.

    `opening` and `spec` are what the deltas were made with.
    """

    name: str
    dialect: str
    opening: str
    spec: ToolSpec | None
    deltas: list[str] = field(default_factory=list[str])
    raw: list[str] = field(default_factory=list[str])
    given: dict[str, Any] | None = None
    agrees: bool = True

    @property
    def text(self) -> str:
        """The joined deltas."""
        return "".join(self.deltas)


def sent(
    pieces: Iterable[str], *, restores: bool = False, closes: bool = True, **options: Any
) -> list[Sent]:
    """Return the deltas of each call in a text; without `closes` more text may follow."""
    parser = Parser(**options)
    specs: Mapping[str, ToolSpec] = specs_by_name(options.get("tools", ()))
    calls: dict[int, tuple[Sent, ArgumentDeltas]] = {}
    written = ""

    def take(events: Iterable[Any]) -> None:
        for event in events:
            match event:
                case CallStarted(index=index, name=name, span=(start, end)):
                    dialect = parser.call_dialects[index]
                    opening, spec = written[start:end], specs.get(name)
                    deltas = ArgumentDeltas(dialect, spec, opening=opening, restores=restores)
                    calls[index] = Sent(name, dialect, opening, spec), deltas
                case CallInput(index=index, text=text):
                    said, deltas = calls[index]
                    said.raw.append(text)
                    said.deltas.append(deltas.feed(text))
                case CallReady(index=index, call=call):
                    said, deltas = calls[index]
                    said.given = restore_input(call.input) if restores else call.input
                    said.deltas.append(deltas.finish(call.input))
                    said.agrees = deltas.agrees
                    assert call.dialect == said.dialect, (call.dialect, said.dialect)
                case _:
                    pass

    for piece in pieces:
        written += piece
        take(parser.feed(piece))
    if closes:
        take(parser.close())
    return [said for said, _ in calls.values()]


def inferred_tools(calls: Iterable[Sent], *, wrong: bool = False) -> Mapping[str, ToolSpec]:
    """Return tools for the calls seen, with the types of their values, or with other types."""
    found: dict[str, dict[str, Any]] = {}
    for call in calls:
        properties = found.setdefault(call.name, {})
        for key, value in (call.given or {}).items():
            properties.setdefault(key, _schema(value, wrong=wrong))
    specs = [
        ToolSpec(name, "", {"type": "object", "properties": properties})
        for name, properties in found.items()
    ]
    return specs_by_name(specs)


_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_WRONG = {"string": "integer", "boolean": "string", "integer": "array", "number": "object"}


def _schema(value: Any, *, wrong: bool) -> dict[str, Any]:
    kind = _TYPES.get(type(value)) or ("array" if isinstance(value, list) else "object")
    return {"type": _WRONG.get(kind, "string") if wrong else kind}


def replayed(call: Sent, pieces: Iterable[str]) -> str:
    """Return the deltas of a call, joined, if its raw input had come in these pieces."""
    deltas = ArgumentDeltas(call.dialect, call.spec, opening=call.opening)
    text = "".join(map(deltas.feed, pieces))
    return text if call.given is None else text + deltas.finish(call.given)
