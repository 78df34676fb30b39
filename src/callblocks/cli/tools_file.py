"""Tools as an argument: a Python file that declares them, or a JSON file that describes them.

-T tools.py        functions with `@tool`: they can be called
-T tools.json      OpenAI's `tools` list: enough to read and to teach, not to run
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
from click.shell_completion import CompletionItem

from callblocks.model.errors import BadSpec, BadTool
from callblocks.model.specs import ToolSpec

if TYPE_CHECKING:
    from callblocks.tools.registry import Registry

__all__ = ("SAMPLE_TOOLS", "TOOL_FILES", "Tools", "tools_option")

TOOL_FILES = "callblocks.tool_files"
"""Where a command finds the files of -T in its context."""

F = TypeVar("F", bound=Callable[..., Any])
Tools: TypeAlias = "Registry | tuple[ToolSpec, ...]"
"""The tools of one or more files; or a tuple, where no file was given."""


class ToolsFile(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """A file that is read, or run, when the arguments are."""

    name = "file"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Registry:
        if ctx is not None:
            ctx.meta.setdefault(TOOL_FILES, []).append(value)
        try:
            return _read(value)
        except OSError as error:
            self.fail(f"{value}: {error.strerror}", param, ctx)
        except (BadSpec, BadTool, ValueError, RecursionError) as error:
            self.fail(f"{value}: {error}".replace(f"{value}: {value}", value), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return click.Path(dir_okay=False).shell_complete(ctx, param, incomplete)


def tools_option(about: str, standard: tuple[ToolSpec, ...] = ()) -> Callable[[F], F]:
    """Add `-T`, which may be given again; `standard` are the tools where it is not."""

    def merge(ctx: click.Context, param: click.Parameter, value: tuple[Registry, ...]) -> Tools:
        if not value:
            return standard
        try:
            return reduce(lambda known, more: known | more, value)
        except BadTool as error:
            raise click.BadParameter(str(error)) from error

    return click.option(
        "--tools",
        "-T",
        multiple=True,
        type=ToolsFile(),
        callback=merge,
        help=f"{about} A Python file that declares them, or a JSON list; may be given again.",
    )


def _read(path: str) -> Registry:
    from callblocks.tools.registry import Registry

    if path.endswith(".py"):
        # What a file prints when it is loaded is no part of what a command prints.
        with redirect_stdout(sys.stderr):
            return Registry.from_module(path)
    with open(path, encoding="utf-8-sig") as file:
        return Registry.from_json(json.load(file))


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
