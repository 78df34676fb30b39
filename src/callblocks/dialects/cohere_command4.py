"""A JSON array of calls between markers, as the later Command models write it::

    <|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}
    ]<|END_ACTION|>

Where it is read alone, the markers of an answer and of its citations show nothing:
`<|START_TEXT|>It is <co>mild</co: 0:[1]>.<|END_TEXT|>`.
"""

from __future__ import annotations

from callblocks.parsing.shapes.command_actions import CommandActions

__all__ = ("CohereCommand4",)


class CohereCommand4(CommandActions):
    """`<|START_ACTION|>`, an array of calls, `<|END_ACTION|>`."""

    name = "cohere_command4"
