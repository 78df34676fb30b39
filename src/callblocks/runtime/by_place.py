"""Reasons why positional arguments did not fit a tool, in words that a model can act on.

🛠️[search left pump]     limit: must be an integer, got "pump"
                          in this dialect a text of several words stands in quotes: 'left pump'
"""

from __future__ import annotations

from collections.abc import Iterable

from callblocks.model.calls import Call
from callblocks.model.specs import ToolSpec
from callblocks.parsing.binding import bind
from callblocks.tools.names import listed
from callblocks.tools.tool import FieldFault

__all__ = ("quoting_hint", "unbound")

_DIALECTS = ("emoji-bracket", "emoji-bracket+")
_RAW = {"args", "body"}
_QUOTES = "in this dialect a text of several words stands in quotes: 'left pump'"


def unbound(call: Call, tool: ToolSpec) -> str:
    """Return why the positional arguments could not be bound; "" where they were or were
    not tried.
    """
    is_raw = call.input.keys() == _RAW and _RAW.isdisjoint(tool.properties)
    if call.dialect not in _DIALECTS or not is_raw:
        return ""
    args, body = str(call.input["args"]), str(call.input["body"])
    if bind(args, body, tool).value is not None:
        return ""
    if bind(args, "", tool).value is not None:
        return "no parameter is left for the body; leave it empty"
    names = _names(tool)
    takes = f"{listed(names)}, in this order, each once" if names else "none"
    return f"these words do not fit: it takes {takes}; {_QUOTES}"


def quoting_hint(call: Call, tool: ToolSpec, faults: Iterable[FieldFault]) -> str:
    """Return a hint about quotes where a word after a text does not fit; otherwise ""."""
    texts = [name for name in _names(tool) if isinstance(call.input.get(name), str)]
    is_split = any(fault.field in texts[1:] for fault in faults)
    return _QUOTES if call.dialect in _DIALECTS and is_split else ""


def _names(tool: ToolSpec) -> list[str]:
    return [name for name in tool.properties if name != tool.body]
