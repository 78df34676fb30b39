"""A JSON array of calls between markers, as the later Command models write it::

    <|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}
    ]<|END_ACTION|>

The markers of an answer and of its citations show nothing:
`<|START_TEXT|>It is <co>mild</co: 0:[1]>.<|END_TEXT|>`.
"""

from __future__ import annotations

from callblocks.dialects.cohere_command3 import CohereCommand3

__all__ = ("CohereCommand4",)


class CohereCommand4(CohereCommand3):
    """The calls of `cohere_command3`; what is said stands between other markers."""

    name = "cohere_command4"
