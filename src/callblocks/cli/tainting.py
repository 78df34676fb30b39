"""Text of others that is in a transcript already: results of earlier calls.

A result taints the turn as it would have done when it came: that of a tool which reaches out,
brings text of others, or reads files of others, and that of one nobody knows.
"""

from __future__ import annotations

from callblocks.model.calls import Call
from callblocks.toolkits.files import is_foreign
from callblocks.tools.registry import Registry

__all__ = ("taint_of",)


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
