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

from callblocks.core.call_text import (
    MAX_TOOL_RESULT_DISPLAY_CHARS,
    escape_call,
    escape_id,
    escape_name,
    escape_prose,
    escape_result,
    show_arguments,
    show_result,
)
from callblocks.core.calls import Call
from callblocks.core.events import (
    CallEnded,
    CallReady,
    CallResult,
    Malformed,
    ModelWrote,
    RoundBegan,
    Text,
    TurnEvent,
)
from callblocks.core.json_values import whole
from callblocks.core.outcomes import Failure, Outcome
from callblocks.parser import parse

__all__ = (
    "MAX_TOOL_RESULT_DISPLAY_CHARS",
    "MAX_TRACE_ENTRIES",
    "MAX_TRACE_RESULT_CHARS",
    "ChatText",
    "ToolTrace",
    "ToolTraceEntry",
    "complete_pending_tool_block",
    "format_tool_combined",
    "format_tool_started",
    "normalize_legacy",
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
    """Find the end of the call's line in the last pending block of that id or tool.

    Without an id, blocks that have one are skipped: their results come with their ids.
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


# --- Legacy chat text, converted to one `<tool>` block for a call and its result ---
#
# 🔧 **Tool Call:** `save_file(file_name=a.py)`         <tool>save_file(file_name=a.py)
# ✅ **`save_file` result:**                            ok</tool>
# ok

LEGACY = "🔧"


def normalize_legacy(text: str) -> str:
    """Write each legacy call, with its result, as a `<tool>` block; leave all else as it is."""
    parsed = parse(text, "chat-blocks")
    results = {result.id: result for result in parsed.results}
    parts: list[str] = []
    at = 0
    for event in parsed.events:
        if isinstance(event, CallReady) and text.startswith(LEGACY, event.call.span[0]):
            start, end = event.call.span
            result = results.get(event.call.id)
            shown = escape_call(event.call.name, event.call.input["shown"])
            shown += "" if result is None else "\n" + escape_result(str(result.output), False)
            parts += [text[at:start], f"<tool>{shown}</tool>"]
            at = end
        elif isinstance(event, CallResult) and event.span[1] > event.span[0]:
            # A result that came after other calls: it stands in the block of its own call now.
            parts.append(text[at : event.span[0]])
            at = event.span[1]
    return "".join([*parts, text[at:]])


# --- A turn as chat text: prose, and a `<tool>` block for each call, pending and then completed
# ---
#
#     chat = ChatText()
#     chat.feed(event)
#     chat.text                   the text so far
#     chat.members                the same for each member of a team; `text` is their consensus
#
# A result goes into the block of its own call, wherever that stands. Every `<tool>` in the text is
# ours: prose is escaped. Prose of another round is another paragraph.

_CUT = Failure(code="cancelled", message="the turn ended before this call did")


class ChatText:
    """Writes the events of a turn as chat text; `trace` records the steps of its calls."""

    def __init__(self) -> None:
        self.trace = ToolTrace()
        self._texts: dict[str, _Text] = {"": _Text()}
        self._pending: dict[str, tuple[_Text, _Block]] = {}

    @property
    def text(self) -> str:
        """The text of the single model, or the consensus of a team."""
        return self._texts[""].text

    @property
    def members(self) -> dict[str, str]:
        """The text of each member of a team, by name."""
        return {name: text.text for name, text in self._texts.items() if name}

    def feed(self, event: TurnEvent) -> None:
        """Take the next event."""
        match event:
            case RoundBegan(member=member) if member in self._texts:
                self._texts[member].pause()
            case ModelWrote(event=Text(text=text) | Malformed(text=text)):
                self._text(event.member).say(text)
            case ModelWrote(event=CallReady(call=call)):
                self._start(self._text(event.member), call)
            case CallEnded():
                self._end(event)
            case _:
                pass

    def close(self) -> None:
        """End the text: a call that is still pending gets no result."""
        for id, (_, block) in list(self._pending.items()):
            self._end(CallEnded(outcome=Outcome(id=id, name=block.name, error=_CUT)))

    def _text(self, member: str) -> _Text:
        return self._texts.setdefault(whole(member), _Text())

    def _start(self, text: _Text, call: Call) -> None:
        written, trace = format_tool_started(call.name, call.input, call.id)
        block = _Block(call.name, written)
        text.add(block)
        self._pending[call.id] = (text, block)
        self.trace.append(trace)

    def _end(self, event: CallEnded) -> None:
        outcome, error = event.outcome, _words(event)
        text, block = self._pending.pop(outcome.id, (None, None))
        if text is None or block is None:
            text, name = self._text(event.member), outcome.name
            given = outcome.output
            written, trace = format_tool_combined(name, None, given, outcome.id, error=error)
            text.add(_Block(name, written))
        else:
            block.text, trace = complete_pending_tool_block(
                block.text, block.name, outcome.output, outcome.id, error=error
            )
            text.changed()
        self.trace.append(trace)


class _Block(msgspec.Struct, eq=False):
    name: str
    text: str


class _Text:
    """Prose and blocks in their order. Prose is escaped as a whole: a tag can come in pieces."""

    def __init__(self) -> None:
        self._parts: list[str | _Block] = []
        self._prose: list[str] = []
        self._text: str | None = ""
        self._pauses = False

    @property
    def text(self) -> str:
        if self._text is None:
            parts = [part if isinstance(part, str) else part.text for part in self._parts]
            self._text = "".join((*parts, escape_prose("".join(self._prose))))
        return whole(self._text)

    def say(self, text: str) -> None:
        if not text:
            return
        if self._pauses and self._prose and not self._prose[-1].endswith("\n"):
            self._prose.append("\n\n")
        self._pauses = False
        self._prose.append(text)
        self.changed()

    def pause(self) -> None:
        self._pauses = True

    def add(self, block: _Block) -> None:
        if self._prose:
            self._parts.append(escape_prose("".join(self._prose)))
            self._prose.clear()
        self._parts.append(block)
        self.changed()

    def changed(self) -> None:
        self._text = None


def _words(event: CallEnded) -> str | None:
    """Return the error of a call, or None; an error that the text carried has no code."""
    error = event.outcome.error
    if error is None:
        return None
    return error.message if event.written else f"{error.code}: {error.message}"
