"""Tools as an argument: a JSON file that holds OpenAI's `tools` list; and a few of our own."""

from __future__ import annotations

import json
from typing import Any

import click
from click.shell_completion import CompletionItem

from callblocks.model.errors import BadSpec
from callblocks.model.specs import ToolSpec, read_specs

__all__ = ("SAMPLE_TOOLS", "TOOLS")


class ToolsFile(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """A file that is read when the arguments are."""

    name = "file.json"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[ToolSpec, ...]:
        if isinstance(value, tuple):
            return value  # pyright: ignore[reportUnknownVariableType] the default, or read before
        try:
            with open(value, encoding="utf-8-sig") as file:
                return read_specs(json.load(file))
        except OSError as error:
            self.fail(f"{value}: {error.strerror}", param, ctx)
        except (BadSpec, ValueError, RecursionError) as error:
            self.fail(f"{value}: {error}", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return click.Path(dir_okay=False).shell_complete(ctx, param, incomplete)


TOOLS = ToolsFile()


def _tool(name: str, about: str, body: str | None = None, **properties: dict[str, Any]) -> ToolSpec:
    required = [key for key, schema in properties.items() if "default" not in schema]
    schema = {"type": "object", "properties": properties, "required": required}
    return ToolSpec(name, about, schema, body)


SAMPLE_TOOLS = (
    _tool(
        "web_search",
        "Search the web.",
        query={"type": "string", "description": "what to look for", "examples": ["tide tables"]},
        limit={"type": "integer", "description": "how many results", "default": 5},
    ),
    _tool(
        "read_file",
        "Read a text file.",
        path={"type": "string", "description": "the file", "examples": ["notes/today.md"]},
    ),
    _tool(
        "write_file",
        "Write a text file.",
        "content",
        path={"type": "string", "description": "the file", "examples": ["notes/today.md"]},
        content={"type": "string", "description": "all of its text"},
    ),
)
"""What `callblocks dialects NAME` shows a dialect with, where no tools are given."""
