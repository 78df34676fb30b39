"""Text of others that is in a transcript already: results of earlier calls.

A result taints the turn as it would have done when it came: that of a tool which reaches out,
brings text of others, or reads files of others, and that of one nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from callblocks.model.blocks import Block, Entry
from callblocks.model.calls import Call
from callblocks.timeline.emitting.call_blocks import params_of
from callblocks.toolkits.files import is_foreign
from callblocks.tools.registry import Registry

__all__ = ("Taints", "taint_of")


def taint_of(call: Call, registry: Registry) -> str | None:
    """Why the result of this call taints a turn; `None` where it does not."""
    tool = registry.get(call.name)
    if tool is None:
        return f"the result of {call.name}, which nobody here knows"
    if tool.traits.open_world or tool.traits.kind in ("source", "exec"):
        return f"the result of {call.name}"
    paths = tool.values_of_format(call.input, "path")
    foreign = [path for path in paths if isinstance(path, str) and is_foreign(path)]
    return f"file of others: {foreign[0]}" if foreign else None


class Taints:
    """What taints a conversation: it stays in the model's view, so all later turns are tainted."""

    def __init__(self) -> None:
        self._all: dict[str, None] = {}

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, in the order it came."""
        return tuple(self._all)

    def feed(self, entries: Iterable[Entry], registry: Registry) -> None:
        """Take the entries that follow: calls, files that the person gave, and ended turns.

        The record of an ended turn has what its tools said themselves.
        """
        for entry in entries:
            block = entry.block
            if block.type == "react.tool.call":
                call = Call(id=block.call_id, name=block.tool_id, input=params_of(block))
                if why := taint_of(call, registry):
                    self._all[why] = None
            elif block.type == "user.attachment":
                self._all[f"attachment: {block.path}"] = None
            elif block.type == "timeline.turn":
                self._all.update(dict.fromkeys(_said(block)))


def _said(block: Block) -> list[str]:
    try:
        return msgspec.convert(block.meta.get("tainted", []), list[str])
    except msgspec.ValidationError:
        return []
