"""The tools that a program knows, by name.

    registry = Registry([remove, send])
    registry |= Registry.from_module("tools.py")

    Parser(tools=registry)        dialect.teach(registry)        registry["remove"]

Walking over a registry gives specifications, which is what a parser and a dialect take.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from callblocks.model.brief import brief
from callblocks.model.errors import BadTool, UnknownTool
from callblocks.model.specs import ToolSpec
from callblocks.tools.names import close_to
from callblocks.tools.tool import Tool

__all__ = ("Registry",)


class Registry:
    """Tools by name, in the order in which they were added; a plain function is declared."""

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)

    @classmethod
    def from_module(cls, module: str | os.PathLike[str]) -> Registry:
        """The tools of a Python file or of a module by its dotted name."""
        from callblocks.tools.modules import load_tools

        return cls(load_tools(module))

    @classmethod
    def from_json(
        cls,
        value: object,
        run: Callable[[str, dict[str, Any]], Any] | None = None,
        *,
        trust_hints: bool = False,
    ) -> Registry:
        """The tools of a list in OpenAI's shape; `run(name, input)` runs each of them."""
        from callblocks.tools.foreign import foreign_tools

        return cls(foreign_tools(value, run, trust_hints=trust_hints))

    def add(self, tool: Tool | Callable[..., Any]) -> Tool:
        """Add one tool; a second of the same name is refused."""
        added = _declared(tool)
        known = self._tools.get(added.name)
        if known is not None and known is not added:
            raise BadTool(
                f"two tools are named {added.name}: {_origin(known)} and {_origin(added)}; "
                'give one another name: `@tool(name="…")`'
            )
        self._tools[added.name] = added
        return added

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools."""
        return tuple(self._tools.values())

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return tuple(self._tools)

    def __getitem__(self, name: str) -> Tool:
        if name not in self._tools:
            raise UnknownTool(name, self._tools, close_to(str(name), self._tools))
        return self._tools[name]

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter([tool.spec for tool in self._tools.values()])

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __or__(self, other: Registry) -> Registry:
        return Registry((*self.tools, *other.tools))

    def __repr__(self) -> str:
        return f"Registry({', '.join(self._tools)})"


def _declared(tool: Tool | Callable[..., Any]) -> Tool:
    if isinstance(tool, Tool):
        return tool
    if not callable(tool):
        raise BadTool(f"a registry holds tools and functions, not {brief(tool)}")
    from callblocks.tools.declare import tool as declare

    return declare(tool)


def _origin(tool: Tool) -> str:
    """Where a tool comes from, for a person to find it."""
    code = getattr(tool.function, "__code__", None)
    if code is None or tool.origin == "external":
        return f"one that is {tool.origin}"
    return f"{code.co_filename}:{code.co_firstlineno}"
