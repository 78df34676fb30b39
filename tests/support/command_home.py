"""A home for the command: a workspace, a state folder, no terminal."""

from __future__ import annotations

from pathlib import Path

import pytest


def move_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a new workspace; the state is beside it."""
    workspace = folder / "workspace"
    workspace.mkdir()
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("CALLBLOCKS_HOME", str(folder / "state"))
    # Models that whoever runs the tests has configured are none here.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    # Whoever runs the tests at a terminal is not asked.
    monkeypatch.setattr("callblocks.cli.commands.run.open_terminal", lambda: None)
    return workspace


TOOLS = '''
from callblocks.core.errors import ToolError
from callblocks.tools.tool import Context
from callblocks.tools.declare import tool


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def note(text: str, context: Context) -> str:
    """Write a note down.

    Args:
        text: what to write
    """
    context.notice("noted", f"noted {text}")
    with open("notes.txt", "a") as file:
        file.write(text + "\\\\n")
    return "written"


@tool
def fail() -> None:
    """Fail."""
    raise ToolError("no_tea", "there is no tea", left=0)


@tool(read_only=True)
def shout() -> str:
    """Say a lot."""
    return "x" * 60_000
'''.replace("\\\\n", "\\n")
"""A file for `-T`; what `note` did can be seen in notes.txt."""


def fence(name: str, id: str = "c1", **input: object) -> str:
    """A call as tool-fence writes it."""
    import json

    return f"```tool {name} {id}\ninput: {json.dumps(input)}\n```\n"
