"""Timelines as runs write them, for views."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from msgspec.structs import replace

from callblocks.core.blocks import Block, Entry
from callblocks.timeline.codec.call_blocks import Stamp
from callblocks.timeline.log.log import encode, genesis, link

TS = "2030-01-31T12:00:00Z"
PNG = b64encode(b"\x89PNG\r\n\x1a\nnot much of one").decode()


def said(type: str, text: str, *, turn: str = "turn_1", author: str = "assistant") -> Block:
    """What somebody said."""
    return Block(type=type, author=author, turn_id=turn, ts=TS, text=text)


def ended(status: str, *, turn: str = "turn_1", **meta: str) -> Block:
    """The record that ends a turn."""
    said = {"status": status, **meta}
    return Block(type="timeline.turn", author="timeline", turn_id=turn, ts=TS, meta=said)


def of_member(name: str, text: str) -> list[Block]:
    """What a member of a team said, as it is attached to the turn of all."""
    path = f"fi:turn_1.user.attachments/team/{name}.md"
    digest = f'{{"artifact_path":"{path}","mime":"text/markdown","size_bytes":3}}'
    block = Block(type="user.attachment", author="user", turn_id="turn_1", ts=TS, path=path)
    named = {"role": "digest", "member": name}
    return [
        replace(block, mime="application/json", text=digest, meta=named),
        replace(block, mime="text/markdown", text=text, meta={"member": name}),
    ]


def called(id: str, tool: str = "add", turn: str = "turn_1", **params: Any) -> Block:
    """A call."""
    import json

    stamp = Stamp(turn, id, tool, TS)
    payload = {"tool_id": tool, "tool_call_id": id, "params": params, "ts": TS}
    return stamp.block(
        "react.tool.call",
        path=stamp.path("call"),
        mime="application/json",
        text=json.dumps(payload),
    )


def gave(id: str, text: str, *, turn: str = "turn_1") -> list[Block]:
    """What a plain tool gave."""
    stamp = Stamp(turn, id, "add", TS)
    digest = f'{{"artifact_path":"{stamp.path("result")}","mime":"text/plain"}}'
    return [stamp.result("digest", digest), stamp.result("content", text, mime="text/plain")]


def failed(id: str, message: str, *, turn: str = "turn_1") -> list[Block]:
    """What a tool that failed leaves."""
    import json

    stamp = Stamp(turn, id, "add", TS)
    error = {"code": "no_tea", "message": message}
    told = {"code": "tool_result_error", "message": message, "error": error}
    digest = {"artifact_path": stamp.path("result"), "error": error}
    return [
        stamp.block(
            "react.notice",
            path=stamp.path("notice"),
            mime="application/json",
            text=json.dumps(told),
            author="timeline",
        ),
        stamp.result("digest", json.dumps(digest)),
    ]


def made(id: str, name: str, *, mime: str, turn: str = "turn_1", **content: Any) -> list[Block]:
    """A file that a call made."""
    import json

    stamp = Stamp(turn, id, "react.write", TS)
    path = f"fi:{turn}.files/{name}"
    digest = {"artifact_path": path, "mime": mime, "size_bytes": 12}
    return [
        stamp.result("digest", json.dumps(digest)),
        stamp.block("react.tool.result", path=path, mime=mime, meta={"role": "content"}, **content),
    ]


def a_talk() -> list[Block]:
    """A turn with a batch of two calls of which one failed, a file, and a picture."""
    return [
        said("user.prompt", "Add them up.", author="user"),
        said("react.notes", "I will add them."),
        called("c1", a=1, b=2),
        called("c2", "fail"),
        *gave("c1", "3"),
        *failed("c2", "there is no tea"),
        said("react.notes", "And a report."),
        called("c3", "react.write", path="report.md"),
        *made("c3", "report.md", mime="text/markdown", text="# Report"),
        *made("c3", "plot.png", mime="image/png", base64=PNG),
        said("assistant.completion", "It is 3."),
    ]


def entries(blocks: list[Block], name: str = "talk") -> list[Entry]:
    """Blocks as a store numbers them."""
    found: list[Entry] = []
    last = genesis(name)
    for seq, block in enumerate(blocks, 1):
        last = link(last, seq, encode(block))
        found.append(Entry(seq, block, last))
    return found
