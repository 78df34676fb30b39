"""The tool that each client declares: it runs a command, and gives the first lines of its output.

Models of a scripted upstream call it with INPUT.
"""

from __future__ import annotations

import subprocess
from typing import Any

from support.scripted_upstream import COMMAND

__all__ = ("DESCRIPTION", "INPUT", "NAME", "SCHEMA", "CommandTool")

NAME = "run_command"
DESCRIPTION = "Run a command in a shell."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "the command"},
        "lines": {"type": "integer", "description": "how many lines of its output to give"},
    },
    "required": ["command", "lines"],
    "additionalProperties": False,
}
INPUT: dict[str, Any] = {"command": COMMAND, "lines": 3}


class CommandTool:
    """`inputs` are those of its calls so far."""

    def __init__(self) -> None:
        self.inputs: list[dict[str, Any]] = []

    def run(self, given: dict[str, Any]) -> str:
        self.inputs.append(given)
        done = subprocess.run(
            ["sh", "-c", given["command"]], capture_output=True, text=True, check=True
        )
        return "\n".join(done.stdout.splitlines()[: given["lines"]])
