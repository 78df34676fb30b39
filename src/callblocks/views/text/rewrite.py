"""A text in another dialect, as far as that can say it; what it cannot say is named.

    rewrite(text, "auto", "tool-fence").left_out
    →  ("the call 'c3' of 'save', which did not end",)

`parser.convert` writes all or nothing. Here calls, results and thoughts that cannot be written are
left out one by one, each with its reason. A dialect that must know the tools is told of them what
the calls themselves say: the names of their parameters, in the order in which they stand.

The dialect that `auto` detected in a text, and the evidence, as a sentence for people.

auto found emoji-bracket: 3 calls, the first on line 3 with `🛠️[create-file greet.py utf-8]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from callblocks.core.calls import Call, Item, Result, Thought
from callblocks.core.errors import Unwritable
from callblocks.core.events import (
    CallInput,
    CallReady,
    Event,
    Malformed,
    Problem,
    Reasoning,
    Text,
    join,
)
from callblocks.core.specs import ToolSpec, ToolSpecs
from callblocks.dialects import dialects
from callblocks.parser import Parser, parse
from callblocks.parsing.dialect import Dialect

__all__ = (
    "Arrival",
    "Guess",
    "Rewritten",
    "arrivals",
    "guess",
    "rewrite",
    "step_of",
)

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


def rewrite(
    text: str, dialect: str, into: str, *, model: str = "", tools: ToolSpecs = ()
) -> Rewritten:
    """Read a text in one dialect, or `auto`, and write it in another."""
    parsed = parse(text, dialect, model=model, tools=tools)
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


_SHOWN = 40
"""Characters of the line that opened the first call."""


class Guess(NamedTuple):
    """The dialect that most of the calls are of, "" where there is none; and why."""

    dialect: str
    why: str


def guess(text: str, events: Iterable[Event]) -> Guess:
    """Return the dialect that `auto` detected in a text, and the evidence."""
    known = list(events)
    calls = [event.call for event in known if isinstance(event, CallReady)]
    counts = Counter(call.dialect for call in calls)
    if not counts:
        return _without_calls(known)
    (name, count), *others = counts.most_common()
    first = next(call for call in calls if call.dialect == name)
    opening = text[first.span[0] : first.span[1]].lstrip().partition("\n")[0]
    line = text.count("\n", 0, first.span[0] + 1) + 1
    also = "".join(f"; also {other}, {_calls(number)}" for other, number in others)
    return Guess(name, f"{_calls(count)}, the first on line {line} with {_short(opening)}{also}.")


def _without_calls(events: list[Event]) -> Guess:
    codes = [event.code for event in events if isinstance(event, Malformed | Problem)]
    owners = [code.partition(".")[0] for code in codes]
    name = next((owner for owner in owners if owner in dialects), "")
    if name:
        return Guess(name, "something opens like a call of it, and is none.")
    return Guess("", "nothing opens a call in any dialect: all of it is text.")


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def _short(line: str) -> str:
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


# --- The arrival of each event: the number of characters fed when the parser emitted it ---
#
#     arrivals("Hi 🛠️[say hello]", "auto")   →   Text at 1, CallStarted at 16, …
#
# A text is fed by one character at a time, a long one by pieces of `step_of(text)` characters. What
# continues an event is joined to it, and keeps the place at which the event began to be known.
# What only the end of the text settles has arrived with its last character.

_PIECES = 250_000
"""Pieces that a text is cut into, at most."""


class Arrival(msgspec.Struct, frozen=True):
    """An event, and how many characters had arrived when it was first known."""

    event: Event
    at: int


def step_of(text: str) -> int:
    """Return the number of characters to feed at once: 1, or more for a long text."""
    return max(1, -(-len(text) // _PIECES))


def arrivals(text: str, dialect: str | Parser = "auto") -> list[Arrival]:
    """The events of a text in their order, neighbours that continue each other joined."""
    joined: list[Arrival] = []
    run: list[Arrival] = []
    parser = Parser(dialect) if isinstance(dialect, str) else dialect
    for one in _arriving(text, parser):
        if run and _key(one.event) != _key(run[0].event):
            joined += _joined(run)
            run = []
        run.append(one)
    return joined + _joined(run)


def _arriving(text: str, parser: Parser) -> Iterator[Arrival]:
    step = step_of(text)
    for start in range(0, len(text), step):
        piece = text[start : start + step]
        for event in parser.feed(piece):
            yield Arrival(event, start + len(piece))
    for event in parser.close():
        yield Arrival(event, len(text))


def _key(event: Event) -> tuple[object, ...]:
    """Return a key that is equal for events that continue each other, and unique for others."""
    match event:
        case Text() | Reasoning():
            return (type(event),)
        case CallInput(index=index):
            return (CallInput, index)
        case _:
            return (id(event),)


def _joined(run: list[Arrival]) -> list[Arrival]:
    events = join([one.event for one in run])
    return [Arrival(event, run[0].at) for event in events]
