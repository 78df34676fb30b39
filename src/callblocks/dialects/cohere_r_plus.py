"""A heading and a JSON array of calls in a fence, as Command R and R+ write it::

    Action:
    ```json
    [{"tool_name": "get_weather", "parameters": {"city": "Paris"}}]
    ```

`directly_answer` is no tool: it means that no tool is needed, and such a call is markup.
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls, Keys

__all__ = ("CohereRPlus",)


class CohereRPlus(JsonCalls):
    """`Action:` and an array of calls in a fence."""

    name = "cohere_r_plus"
    summary = "Action: and a JSON array of calls in a fence"
    syntax = 'Action:\n```json\n[{"tool_name": NAME, "parameters": {KEY: VALUE}}]\n```'
    rules = (
        "Write `Action:` on a line, and below it a `json` fence with one JSON array of all calls.",
        "Each call is an object: `tool_name` is the tool's name, `parameters` an object with its "
        "input.",
    )
    opening = ("Action:\n```json\n", "Action: ```json\n", "Action:```json\n")
    closing = ("```",)
    keys = Keys(name=("tool_name", "name"), input=("parameters", "arguments"))
    starts = "["
    frame = ("[\n    ", ",\n    ", "\n]\n")
    together = True
    silent = ("directly_answer", "directly-answer")
    hidden = ("<|CHATBOT_TOKEN|>",)
