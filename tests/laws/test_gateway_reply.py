"""A reply through the gateway is what the parser reads, in every dialect, however it is cut."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from random import Random
from typing import Any

import pytest

from callblocks import ToolSpec, dialects
from callblocks.core.blocks import TextPart
from callblocks.core.calls import Call
from callblocks.core.errors import Unwritable
from callblocks.core.events import CallInput, CallReady, CallStarted, Text
from callblocks.gateway.engine import reply
from callblocks.gateway.exchange import Finished, GatewayRequest
from callblocks.gateway.upstreams import Upstream
from callblocks.models.model import Message, Piece, Request, Spoken, Stopped
from support.sampling import share

TAUGHT = [name for name, one in dialects.items() if one.rules]
CUTS = share(12, of=3)
SAVE = ToolSpec(
    "save_note",
    "Save a note.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "count": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["path", "content"],
    },
)
CALLS = (
    Call(
        id="a",
        name="save_note",
        input={"path": "a.md", "content": 'One\nline & "two".', "count": 2},
    ),
    Call(
        id="b", name="save_note", input={"path": "b.md", "content": "x" * 200, "tags": ["t", "u"]}
    ),
)


class Pieces:
    """A model that gives one text in pieces."""

    writes_results = False
    name = "pieces-7b"

    def __init__(self, pieces: Sequence[str]) -> None:
        self._pieces = pieces

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        for piece in self._pieces:
            yield Spoken(piece)
        yield Stopped("stop")

    async def close(self) -> None:
        """Close nothing."""


def assembled(dialect: str, pieces: Sequence[str]) -> tuple[str, list[tuple[str, Any]], str]:
    """Prose, calls and reason as a client puts them together."""
    request = GatewayRequest(
        wire="chat", model="m", messages=(Message("user", (TextPart("Save."),)),), tools=(SAVE,)
    )
    upstream = Upstream(name="m", model=Pieces(pieces), dialect=dialect)

    async def collect() -> list[Any]:
        return [event async for event in reply(request, upstream)]

    prose, texts, names, ready = "", dict[int, str](), list[str](), 0
    reason = ""
    for event in asyncio.run(collect()):
        match event:
            case Text(text=text):
                prose += text
            case CallStarted(index=index, name=name):
                assert index == len(names) == ready
                names.append(name)
                texts[index] = ""
            case CallInput(index=index, text=text):
                texts[index] += text
            case CallReady(index=index):
                ready += 1
            case Finished():
                reason = event.reason
            case _:
                pass
    # The model writes as it is taught, a list of calls too: its history stays in its dialect.
    assert not upstream.habits.bare_calls
    return prose, [(name, json.loads(texts[at])) for at, name in enumerate(names)], reason


def written(dialect: str) -> tuple[str, tuple[Call, ...]]:
    """A text with calls, and the calls; a dialect that has one call a text writes one."""
    for items in (("I save. ", *CALLS), CALLS, CALLS[:1]):
        try:
            text = dialects[dialect].write(items, (SAVE,))
        except Unwritable:
            continue
        return text, tuple(one for one in items if isinstance(one, Call))
    raise AssertionError(f"{dialect} writes no call")


@pytest.mark.parametrize("dialect", TAUGHT)
def test_every_cutting_gives_the_same_message(dialect: str) -> None:
    text, calls = written(dialect)
    whole = assembled(dialect, [text])
    assert whole[1] == [(call.name, call.input) for call in calls]
    assert whole[2] == "calls"
    assert assembled(dialect, list(text)) == whole
    random = Random(dialect)
    for at in random.sample(range(1, len(text)), min(CUTS, len(text) - 1)):
        assert assembled(dialect, [text[:at], text[at:]]) == whole
