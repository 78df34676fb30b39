"""Code for the exec tools, and runs of it in a turn."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from callblocks.core.blocks import Block
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.toolkits.exec.exec_tools import exec_tools
from callblocks.toolkits.exec.workdir import TurnPlace
from callblocks.tools.tool import Tool
from support.recorded_sessions import Session
from support.tool_runtime import call

PYTHON = "exec_tools.execute_code_python"
SHELL = "exec_tools.execute_code_shell"
ALLOW_CODE = Policy((Rule(decide="allow", tool=(PYTHON, SHELL)),))


def contract(*names: str) -> list[dict[str, str]]:
    return [{"filename": name, "description": f"the {name}"} for name in names]


def making(made: Mapping[str, bytes | str], then: str = "") -> str:
    """A program that writes these files, and does something after that."""
    lines = ["from base64 import b64decode"]
    for name, content in made.items():
        whole = content.encode() if isinstance(content, str) else content
        lines.append(f"open('files/{name}', 'wb').write(b64decode('{b64encode(whole).decode()}'))")
    return "\n".join([*lines, then])


def code_tools(session: Session, turn: str = "turn_1", **parts: Any) -> tuple[Tool, ...]:
    return exec_tools(TurnPlace(session.recorder, session.files, turn), **parts)


def execute(
    session: Session,
    code: str,
    *names: str,
    id: str = "c1",
    turn: str = "turn_1",
    tool: str = PYTHON,
    notes: str = "",
    listen: Any = None,
    **more: Any,
) -> list[Block]:
    """The blocks of a real run of code."""
    given = call(tool, id, code=code, **{"contract": contract(*names), **more})
    tools = code_tools(session, turn)
    return session.play(tools, given, turn=turn, notes=notes, policy=ALLOW_CODE, listen=listen)
