"""A stamp: what all blocks of one call have in common, that is turn, call, tool and time.

    stamp = Stamp("turn_1", "abc", "react.write", "2030-01-31T12:00:00Z")
    stamp.block("react.tool.result", path=stamp.path("result"), text="…")

`meta.role` distinguishes the results of a call, which may share a path: `digest`, `content`,
`status` (of `react.read`) or `report` (of code).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.model.blocks import Author, Block, Type
from callblocks.model.paths import CallPath, CodePath, Part
from callblocks.timeline.plain_json import whole

__all__ = ("JSON", "Role", "Stamp", "with_meta")

JSON = "application/json"
Role: TypeAlias = Literal["digest", "content", "status", "report"]


class Stamp(msgspec.Struct, frozen=True):
    """The owner of blocks; `call` is the id as paths write it, `ts` is ISO 8601 with a Z.

    `turns` are those of the timeline, by which a path of another turn is recognized.
    """

    turn: str
    call: str
    tool: str
    ts: str
    turns: Collection[str] = ()

    def path(self, part: Part) -> str:
        """Return the path of the call, its notices or its result."""
        return str(CallPath(self.turn, self.call, part))

    @property
    def code_path(self) -> str:
        """Return the path of the code that the call runs."""
        return str(CodePath(self.turn, self.call))

    def block(
        self,
        type: Type,
        *,
        path: str = "",
        mime: str = "text/plain",
        text: str | None = None,
        base64: str | None = None,
        meta: Mapping[str, Any] | None = None,
        author: Author = "tool",
    ) -> Block:
        """Return a block of this call."""
        return Block(
            type=type,
            author=author,
            turn_id=self.turn,
            ts=self.ts,
            mime=mime,
            path=path,
            call_id=self.call,
            tool_id=self.tool,
            text=None if text is None else whole(text),
            base64=base64,
            meta=dict(meta or {}),
        )

    def result(
        self, role: Role, text: str | None, *, mime: str = JSON, path: str = "", **meta: Any
    ) -> Block:
        """Return a result of this call, at its own path unless another is given."""
        return self.block(
            "react.tool.result",
            path=path or self.path("result"),
            mime=mime,
            text=text,
            meta={"role": role, **meta},
        )


def with_meta(block: Block, meta: Mapping[str, Any]) -> Block:
    """Return the block with more in its meta; empty fields are left out."""
    said = {name: value for name, value in meta.items() if value}
    return msgspec.structs.replace(block, meta={**block.meta, **said}) if said else block
