"""Chat text of old, in today's form: one `<tool>` block for a call and its result.

🔧 **Tool Call:** `save_file(file_name=a.py)`         <tool>save_file(file_name=a.py)
✅ **`save_file` result:**                            ok</tool>
ok
"""

from __future__ import annotations

from callblocks.model.events import CallReady, CallResult
from callblocks.model.shown import escape_call, escape_result
from callblocks.parser import parse

__all__ = ("normalize_legacy",)

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
