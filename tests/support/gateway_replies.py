"""Random replies of a gateway: what a model said, as events cut anywhere.

Said("text", "Hello")                              prose, or "reasoning"
Called("call_1", "search", {"q": 1})               a call; `cut` where it never got ready
events(items, finished, cuts)                      the events, cut at the places drawn
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec
from hypothesis import strategies as st

from callblocks.core.calls import Call
from callblocks.core.events import CallInput, CallReady, CallStarted, Reasoning, Text
from callblocks.gateway.exchange import (
    Finished,
    FinishReason,
    GatewayRequest,
    Remark,
    ReplyEvent,
    ReplyHead,
)
from callblocks.models.model import Message, Usage

HEAD = ReplyHead("abc123", 1_790_000_000, "m1")
FREE = "apply_patch"
HERE = (0, 0)


class Said(msgspec.Struct, frozen=True):
    kind: str
    text: str


class Called(msgspec.Struct, frozen=True):
    id: str
    name: str
    input: dict[str, Any]
    cut: int | None = None
    silent: bool = False

    @property
    def written(self) -> str:
        whole = self.input["input"] if self.name == FREE else json.dumps(self.input)
        return whole if self.cut is None else whole[: self.cut]


Item: TypeAlias = Said | Called


def events(items: Sequence[Item], finished: Finished, sizes: Sequence[int]) -> list[ReplyEvent]:
    """Return the events of a reply, each text cut into pieces of the sizes, over and over."""
    made: list[ReplyEvent] = []
    number = 0
    for item in items:
        if isinstance(item, Said):
            kind = Text if item.kind == "text" else Reasoning
            made += [kind(piece, HERE) for piece in pieces(item.text, sizes)]
            continue
        made.append(CallStarted(number, item.id, item.name, HERE))
        if not item.silent:
            made += [CallInput(number, piece, HERE) for piece in pieces(item.written, sizes)]
        if item.cut is None:
            call = Call(id=item.id, name=item.name, input=item.input)
            made.append(CallReady(number, call, HERE))
        number += 1
    return [*made, finished]


def pieces(text: str, sizes: Sequence[int]) -> Iterator[str]:
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        yield text[at : at + size]
        at, turn = at + size, turn + 1


def joined(items: Iterable[Item]) -> list[Item]:
    """Return items with neighbours of the same kind as one."""
    made: list[Item] = []
    for item in items:
        last = made[-1] if made else None
        if isinstance(item, Said) and isinstance(last, Said) and item.kind == last.kind:
            made[-1] = Said(item.kind, last.text + item.text)
        else:
            made.append(item)
    return made


def request(wire: str = "chat", **more: Any) -> GatewayRequest:
    return GatewayRequest(wire=wire, model="m1", messages=(Message("user", ()),), **more)


# --- Strategies ---

# Text that a decoded reply can hold: everything but halves of surrogate pairs.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
INPUTS = st.dictionaries(TEXT, VALUES, max_size=4)
NAMES = st.sampled_from(["search", "get_weather", "ns.tool", "a-b"])
SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=5)
USAGES = st.builds(Usage, st.integers(0, 10_000), st.integers(0, 10_000))


@st.composite
def replies(draw: Any, *, free: bool = False, cuts: bool = True) -> tuple[list[Item], Finished]:
    """Draw items and the end of a reply, perhaps cut off inside its last call."""
    kinds = draw(st.lists(st.sampled_from(["text", "reasoning", "call", "call"]), max_size=20))
    items: list[Item] = []
    for at, kind in enumerate(kinds):
        if kind != "call":
            items.append(Said(kind, draw(TEXT)))
        elif free and draw(st.booleans()):
            items.append(Called(f"call_{at}", FREE, {"input": draw(TEXT)}))
        else:
            value = draw(INPUTS)
            items.append(Called(f"call_{at}", draw(NAMES), value, silent=draw(st.booleans())))
    last = items[-1] if items else None
    usage = draw(USAGES)
    remarks = (Remark("repaired-quotes", "call 1"),)
    if cuts and isinstance(last, Called) and draw(st.booleans()):
        cut = draw(st.integers(0, len(last.written) - 1))
        items[-1] = msgspec.structs.replace(last, cut=cut, silent=False)
        return items, Finished("length", usage, remarks)
    has_calls = any(isinstance(item, Called) for item in items)
    reason: FinishReason = "calls" if has_calls else draw(st.sampled_from(["stop", "length"]))
    return items, Finished(reason, usage, remarks)
