"""Tools that are built for each turn but declared only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from typing_extensions import Unpack

from callblocks.tools.declare import Options, tool
from callblocks.tools.tool import Tool

__all__ = ("declared",)

# Declaring a tool reads its signature and docstring and builds a JSON schema. A session builds the
# same tools for each turn; only the closures differ. So the declaration is cached without its
# closures, and each turn gets a copy with closures of its own.
_known: dict[tuple[object, ...], Tool] = {}
_nothing: dict[str, Any] = dict.fromkeys(("function", "preview", "precheck", "paths"))


def declared(**options: Unpack[Options]) -> Callable[[Callable[..., Any]], Tool]:
    """Return a decorator that declares a tool once and rebinds its function for each later turn."""

    def declare(function: Callable[..., Any]) -> Tool:
        # `destructive` is part of the key because it depends on the place: the same tool may
        # replace files in a workspace and not in a turn.
        key = (function.__module__, function.__qualname__, options.get("destructive"))
        if key not in _known:
            _known[key] = replace(tool(function, **options), **_nothing)
        # The cached tool must not keep the closures of an earlier turn: they hold its recorder.
        own = {name: options.get(name) for name in _nothing}
        return replace(_known[key], **{**own, "function": function})

    return declare
