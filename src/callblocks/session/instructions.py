"""The system prompt: the task, the tools, and the conventions of the messages."""

from __future__ import annotations

from callblocks.model.specs import ToolSpec
from callblocks.parsing.dialect import Dialect
from callblocks.tools.registry import Registry
from callblocks.views.model_view.neutral import ESCAPE_NOTE

__all__ = ("instructions",)

# Prompts that are cached.
_MOST = 100

_LAYOUT = (
    "Headings in square brackets, such as [User say], are put in by the program: never write one. "
    "A result that is long is shown in part, with a path by which it can be read."
)
_CALLING = (
    "Whenever a tool can give what the person asks for, call it, in each turn anew: you do not "
    "know what it gives. When you call tools, end your reply after the calls: the results come in "
    "the next message. Never write a result yourself. A call that failed says why; change it or do "
    "without. When nothing is left to do, answer the person without a call."
)


def instructions(
    dialect: Dialect | None, tools: Registry, system: str = "", *, compact: bool = False
) -> str:
    """Return the system prompt; without a dialect the server teaches the tools itself.

    The same tools give the same text, so that prompt caches hit.
    """
    taught = [_CALLING] if tools.names else []
    if dialect is not None and tools.names:
        taught.insert(0, _taught(dialect, tuple(tools), compact))
    return "\n\n".join([*filter(None, [system.strip()]), *taught, _LAYOUT, ESCAPE_NOTE])


_known: dict[tuple[str, bool, tuple[int, ...]], tuple[tuple[ToolSpec, ...], str]] = {}


def _taught(dialect: Dialect, tools: tuple[ToolSpec, ...], compact: bool) -> str:
    """Return the dialect's prompt; cached, because every turn teaches the same tools."""
    key = (dialect.name, compact, tuple(map(id, tools)))
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        # The key has the ids of objects. Keeping the tools alive keeps their ids from being reused.
        _known[key] = (tools, dialect.teach(tools, compact=compact))
    return _known[key][1]
