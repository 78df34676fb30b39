"""A JSON array of calls between markers, as Command R7B and Command A write it::

    <|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}
    ]<|END_ACTION|>

Prose stands between `<|START_RESPONSE|>` and `<|END_RESPONSE|>`.
"""

from __future__ import annotations

from callblocks.parsing import CommandCalls

__all__ = ("CohereCommand3",)


class CohereCommand3(CommandCalls):
    """`<|START_ACTION|>`, an array of calls, `<|END_ACTION|>`."""

    name = "cohere_command3"
