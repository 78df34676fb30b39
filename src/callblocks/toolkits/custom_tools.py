"""`custom`: a tool of the caller's by its name, for dialects whose types are a fixed list.

    custom(name="remove", parameters={"path": "old.md"})     is     remove(path="old.md")

It is another way to write that call and nothing else: the named tool is the one that a policy
judges, that a person approves and sees a preview of, and that runs. Naming `custom` itself in a
policy denies or asks about all that is called through it; an allow of it allows nothing.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool

__all__ = ("custom_tools",)


def custom_tools() -> tuple[Tool, ...]:
    """Return the tool that stands for any other tool of its registry."""

    @tool(body="parameters", origin="builtin")
    def custom(
        name: Annotated[str, Field(min_length=1, max_length=128)],
        parameters: dict[str, Any] = {},  # noqa: B006 the schema shows it, and nothing changes it
    ) -> Any:
        """Call a tool by its name, one that this program added; all its rules apply.

        Args:
            name: the tool, such as remove
            parameters: its input, such as {"path": "old.md"}
        """
        raise ToolError("not_runnable", f"custom stands for {name}; only a runtime can call that")

    # The runtime resolves `stands_for` before policy, approval and preview, so the function above
    # is never reached through a runtime. It raises for callers that invoke the tool directly.
    return (msgspec.structs.replace(custom, stands_for=_meant),)


def _meant(values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return values["name"], values["parameters"]
