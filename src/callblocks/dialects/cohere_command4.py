"""A JSON array of calls between markers, as the later Command models write it::

    <|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}
    ]<|END_ACTION|>

Prose stands between `<|START_TEXT|>` and `<|END_TEXT|>`.
"""

from __future__ import annotations

from callblocks.parsing import CommandCalls

__all__ = ("CohereCommand4",)


class CohereCommand4(CommandCalls):
    """`<|START_ACTION|>`, an array of calls, `<|END_ACTION|>`."""

    name = "cohere_command4"
