r"""Tool calls as blocks of chat text: a call and its result in one `<tool>`.

    pending     <tool>call</tool>
    completed   <tool>call\nresult</tool>
    by id       <tool id="call-7">call\nresult</tool>

The line break is what completes a block, also where the result is empty. All other text
in the chat must have gone through `escape_prose`: then every `<tool>` in it is one of ours,
and a result can neither end its own block nor open another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from callblocks.model.shown import (
    MAX_TOOL_RESULT_DISPLAY_CHARS,
    escape_call,
    escape_id,
    escape_name,
    escape_result,
    show_arguments,
    show_result,
)

__all__ = (
    "MAX_TOOL_RESULT_DISPLAY_CHARS",
    "MAX_TRACE_ENTRIES",
    "MAX_TRACE_RESULT_CHARS",
    "ToolTrace",
    "ToolTraceEntry",
    "complete_pending_tool_block",
    "format_tool_combined",
    "format_tool_started",
)

MAX_TRACE_RESULT_CHARS = 4_000
"""How much of a result a trace entry keeps."""

MAX_TRACE_ENTRIES = 120
"""How many entries a trace keeps."""

_CLOSE = "</tool>"


class ToolTraceEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened to a call, as plain text: redacted, not escaped.

    `truncated` says that the block in the chat does not show all of it.
    """

    type: Literal["tool_call_started", "tool_call_completed", "tool_call_failed"]
    tool_name: str
    args_preview: str | None = None
    result_preview: str | None = None
    truncated: bool = False


class ToolTrace:
    """The last entries of a chat, at most `MAX_TRACE_ENTRIES`; `dropped` counts the older ones."""

    def __init__(self, entries: Iterable[ToolTraceEntry] = ()) -> None:
        self._entries: deque[ToolTraceEntry] = deque(maxlen=MAX_TRACE_ENTRIES)
        self.dropped = 0
        for entry in entries:
            self.append(entry)

    def append(self, entry: ToolTraceEntry) -> None:
        """Add an entry; the oldest one makes room for it."""
        self.dropped += len(self._entries) == MAX_TRACE_ENTRIES
        self._entries.append(entry)

    @property
    def entries(self) -> list[ToolTraceEntry]:
        """The entries kept, oldest first."""
        return list(self._entries)


def format_tool_started(
    tool_name: str, tool_args: Mapping[str, object] | None, call_id: str | None = None
) -> tuple[str, ToolTraceEntry]:
    """Write the pending block of a call that has just started."""
    arguments, truncated = show_arguments(tool_args)
    block = f"\n\n{_open(call_id)}{escape_call(tool_name, arguments)}{_CLOSE}\n"
    return block, ToolTraceEntry(
        type="tool_call_started",
        tool_name=tool_name,
        args_preview=arguments or None,
        truncated=truncated,
    )


def format_tool_combined(
    tool_name: str,
    tool_args: Mapping[str, object] | None,
    result: object | None,
    call_id: str | None = None,
    *,
    error: str | None = None,
) -> tuple[str, ToolTraceEntry]:
    """Write the whole block of a call that is over. An `error` stands in place of the result."""
    arguments, truncated = show_arguments(tool_args)
    safe_result, trace = _complete(tool_name, result, error)
    call = escape_call(tool_name, arguments)
    block = f"\n\n{_open(call_id)}{call}\n{safe_result}{_CLOSE}\n"
    return block, msgspec.structs.replace(
        trace, args_preview=arguments or None, truncated=truncated or trace.truncated
    )


def complete_pending_tool_block(
    accumulated_text: str,
    tool_name: str,
    result: object | None,
    call_id: str | None = None,
    *,
    error: str | None = None,
) -> tuple[str, ToolTraceEntry]:
    """Put a result into its pending block: the one with `call_id`, or the last of that tool.

    Without a pending block, a completed one that names the tool is appended.
    """
    safe_result, trace = _complete(tool_name, result, error)
    end = _find_pending(accumulated_text, tool_name, call_id)
    if end is None:
        block = f"{_open(call_id)}{escape_name(tool_name)}\n{safe_result}{_CLOSE}\n"
        return accumulated_text + block, trace
    return f"{accumulated_text[:end]}\n{safe_result}{accumulated_text[end:]}", trace


def _open(call_id: str | None) -> str:
    return "<tool>" if call_id is None else f'<tool id="{escape_id(call_id)}">'


def _complete(tool_name: str, result: object, error: str | None) -> tuple[str, ToolTraceEntry]:
    failed = error is not None
    given = error if failed else result
    shown, truncated = show_result(given)
    kept = show_result(given, MAX_TRACE_RESULT_CHARS)[0] if truncated else shown
    return escape_result(shown, failed), ToolTraceEntry(
        type="tool_call_failed" if failed else "tool_call_completed",
        tool_name=tool_name,
        result_preview=kept or None,
        truncated=truncated,
    )


def _find_pending(text: str, tool_name: str, call_id: str | None) -> int | None:
    """Find where the call's line ends in the last pending block that is meant.

    Without an id, blocks that have one are left alone: they wait for theirs.
    """
    # The whole name counts: `read` does not complete a pending `read_file(…)`.
    name = escape_name(tool_name)
    starts = (f"<tool>{name}(", f"<tool>{name}{_CLOSE}") if call_id is None else (_open(call_id),)
    return max(_last_pending(text, start) for start in starts) or None


def _last_pending(text: str, start: str) -> int:
    """Go back over the blocks that begin with `start`, reading each up to its next `<` only."""
    at = text.rfind(start)
    while at >= 0:
        end = text.find("<", at + 1)
        if text.startswith(_CLOSE, end) and "\n" not in text[at:end]:
            return end
        at = text.rfind(start, 0, at)
    return 0
