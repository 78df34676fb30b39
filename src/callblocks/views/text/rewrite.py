"""A text in another dialect, as far as that can say it; what it cannot say is named.

    rewrite(text, "auto", "tool-fence").left_out
    →  ("the call 'c3' of 'save', which did not end",)

`parser.convert` writes all or nothing. Here calls, results and thoughts that cannot be written are
left out one by one, each with its reason. A dialect that must know the tools is told of them what
the calls themselves say: the names of their parameters, in the order in which they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from callblocks.core.calls import Call, Item, Result, Thought
from callblocks.core.errors import Unwritable
from callblocks.core.events import Malformed
from callblocks.core.specs import ToolSpec
from callblocks.dialects import dialects
from callblocks.parser import parse
from callblocks.parsing.dialect import Dialect

__all__ = ("Rewritten", "rewrite")

_TYPES = {
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "str": "string",
    "list": "array",
    "dict": "object",
}


class Rewritten(msgspec.Struct, frozen=True):
    """The text, what could not be said in it, and the codes of what stands in it as it was.

    `needs` are the tools that a reader of the text must know.
    """

    text: str
    left_out: tuple[str, ...] = ()
    kept_as_text: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def rewrite(text: str, dialect: str, into: str) -> Rewritten:
    """Read a text in one dialect, or `auto`, and write it in another."""
    parsed = parse(text, dialect)
    kept = tuple(one.code for one in parsed.problems if isinstance(one, Malformed))
    target, items = dialects[into], parsed.items
    if not _fault(target, items):
        return Rewritten(target.write(items), (), kept)
    sieve = _Sieve(target, items)
    reasons, tools = tuple(sieve.reasons), sieve.tools
    # What is wrong with no item alone: prose, for one, that would be read as a call.
    if what := _fault(target, sieve.left, tools.values()):
        return Rewritten("", (*reasons, what), kept)
    return Rewritten(target.write(sieve.left, tools.values()), reasons, kept, tuple(tools))


class _Sieve:
    """The items that can be written, the tools to be known for it, and why others cannot."""

    def __init__(self, target: Dialect, items: Sequence[Item]) -> None:
        self.left: list[Item] = []
        self.tools: dict[str, ToolSpec] = {}
        self.reasons: list[str] = []
        self._target = target
        self._calls: dict[str, Call] = {}
        self._specs = {spec.name: spec for spec in _specs(items)}
        self._gone: set[str] = set()
        for item in items:
            self._take(item)

    def _take(self, item: Item) -> None:
        if isinstance(item, Result) and item.id in self._gone:
            return
        what = self._weigh(item)
        if not what:
            self.left.append(item)
            return
        self.reasons.append(what)
        if isinstance(item, Call):
            self._gone.add(item.id)

    def _weigh(self, item: Item) -> str:
        """Return the reason why an item cannot be written, or ""; try a result with its call."""
        if isinstance(item, str):
            return _fault(self._target, [item]) if isinstance(item, Thought) else ""
        if isinstance(item, Call):
            self._calls[item.id] = item
        call = self._calls.get(item.id)
        items: list[Item] = [item] if call is None or call is item else [call, item]
        what = _fault(self._target, items, self.tools.values())
        spec = self._specs.get(call.name) if call is not None else None
        if not what or spec is None or spec.name in self.tools:
            return what
        if again := _fault(self._target, items, [spec]):
            return again
        self.tools[spec.name] = spec
        return ""


def _fault(target: Dialect, items: Sequence[Item], tools: Iterable[ToolSpec] = ()) -> str:
    """Return the part of these items that the dialect cannot write, or ""."""
    try:
        target.write(items, tools)
    except Unwritable as error:
        return error.what
    return ""


def _specs(items: Sequence[Item]) -> Iterable[ToolSpec]:
    """The tools, as the calls use them; a text of several lines is the body of its block."""
    inputs: dict[str, dict[str, Any]] = {}
    for item in items:
        if isinstance(item, Call):
            inputs[item.name] = inputs.get(item.name, {}) | item.input
    for name, given in inputs.items():
        properties = {key: _schema(value) for key, value in given.items()}
        long = (key for key, value in given.items() if isinstance(value, str) and "\n" in value)
        parameters = {"type": "object", "properties": properties}
        yield ToolSpec(name, "", parameters, next(long, None))


def _schema(value: object) -> dict[str, str]:
    kind = _TYPES.get(type(value).__name__)
    return {"type": kind} if kind else {}
