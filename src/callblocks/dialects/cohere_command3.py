"""A JSON array of calls between markers, as Command R7B and Command A write it::

    <|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}
    ]<|END_ACTION|>

Where it is read alone, the markers of an answer and of its citations show nothing:
`<|START_RESPONSE|>It is <co>mild</co: 0:[1]>.<|END_RESPONSE|>`.
"""

from __future__ import annotations

from callblocks.parsing.shapes.command_actions import CommandActions

__all__ = ("CohereCommand3",)


class CohereCommand3(CommandActions):
    """`<|START_ACTION|>`, an array of calls, `<|END_ACTION|>`."""

    name = "cohere_command3"
