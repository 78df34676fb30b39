"""Tools that are made anew for each turn, and are declared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from typing_extensions import Unpack

from callblocks.tools.declare import Options, tool
from callblocks.tools.tool import Tool

__all__ = ("declared",)

_known: dict[tuple[object, ...], Tool] = {}
_nothing: dict[str, Any] = dict.fromkeys(("function", "preview", "precheck", "paths"))


def declared(**options: Unpack[Options]) -> Callable[[Callable[..., Any]], Tool]:
    """Declare a tool once; in the next turn only what it works on is another."""

    def declare(function: Callable[..., Any]) -> Tool:
        # What replaces files in one place may not do so in another.
        key = (function.__module__, function.__qualname__, options.get("destructive"))
        if key not in _known:
            _known[key] = replace(tool(function, **options), **_nothing)
        own = {name: options.get(name) for name in _nothing}
        return replace(_known[key], **{**own, "function": function})

    return declare
