"""Timelines that the page shows."""

from __future__ import annotations

import json
from typing import Any

from callblocks.core.blocks import Block

__all__ = ("TIMELINES",)

TS = "2030-01-31T12:00:00Z"


def _block(type: str, text: str = "", call: str = "", **more: Any) -> Block:
    return Block(type=type, author="x", text=text, turn_id="turn_1", call_id=call, ts=TS, **more)


def _call_block(id: str, name: str, **params: Any) -> Block:
    said = json.dumps({"tool_id": name, "tool_call_id": id, "params": params})
    return _block("react.tool.call", said, id, mime="application/json", path=f"tc:turn_1.{id}.call")


def _result_block(id: str, text: str) -> Block:
    return _block("react.tool.result", text, id, mime="text/plain", path=f"tc:turn_1.{id}.result")


TIMELINES: dict[str, list[Block]] = {
    "empty": [],
    "a-chat": [
        _block("user.prompt", "Look around"),
        _block("react.notes", "I look."),
        _call_block("c1", "file_list", path="."),
        _call_block("c2", "file_read", path="a.txt"),
        _result_block("c1", "a.txt\nb.txt"),
        _result_block("c2", "Runtime error: no such file"),
        _block("assistant.completion", "Two files."),
        _call_block("c3", "file_read", path="b.txt"),
        _block("timeline.turn", meta={"status": "failed", "code": "model_unreachable"}),
    ],
    "long-results": [
        _call_block("c1", "file_read", path="a.txt"),
        _result_block("c1", "line\n" * 300),
        _call_block("c2", "file_read", path="b.txt"),
        _result_block("c2", ""),
    ],
    "a-team": [
        _block("user.prompt", "Say it"),
        _block("assistant.completion", "Mine.", meta={"member": "Ann", "is_partial": True}),
        _block("assistant.completion", "Yours.", meta={"member": "Bob"}),
    ],
}
