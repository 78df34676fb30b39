"""Timelines in memory, written block by block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from callblocks.core.blocks import Block, Entry
from callblocks.timeline.codec.call_stamp import Stamp

TS = "2030-01-31T12:00:00Z"


def stamp(call: str = "c1", turn: str = "turn_1", tool: str = "some.tool") -> Stamp:
    return Stamp(turn, call, tool, TS)


def call_block(call: str, turn: str = "turn_1", text: str = "{}") -> Block:
    one = stamp(call, turn)
    return one.block("react.tool.call", path=one.path("call"), text=text, author="assistant")


def result_block(
    call: str, text: str | None = "done", path: str = "", turn: str = "turn_1", **meta: Any
) -> Block:
    return stamp(call, turn).result("content", text, mime="text/plain", path=path, **meta)


def round_of(call: str, *texts: str, turn: str = "turn_1") -> list[Block]:
    """A call and its results."""
    results = [result_block(call, text, turn=turn) for text in texts or ("done",)]
    return [call_block(call, turn), *results]


def prompt(text: str = "hello", turn: str = "turn_1") -> Block:
    return Block(
        type="user.prompt",
        author="user",
        turn_id=turn,
        ts=TS,
        path=f"ar:{turn}.user.prompt",
        text=text,
    )


def numbered(blocks: Iterable[Block], after: int = 0) -> list[Entry]:
    """The blocks as entries, numbered as a timeline would."""
    return [Entry(after + at, block) for at, block in enumerate(blocks, 1)]
