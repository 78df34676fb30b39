"""Cutting off a client that takes nothing: closing politely would wait for it.

The connection offers it as an extension of ASGI; another server may not.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import Receive, Scope

__all__ = ("drop", "droppable")

_NAME = "callblocks.drop"


def droppable(abort: Callable[[], None]) -> dict[str, dict[object, object]]:
    """The extensions of a connection that can be cut off."""
    return {_NAME: {"abort": abort}}


async def drop(scope: Scope, receive: Receive) -> None:
    """Cut the client off; where that is not offered, it is left to the server."""
    extension = scope.get("extensions", {}).get(_NAME)
    if extension is not None:
        extension["abort"]()
        while (await receive())["type"] != "http.disconnect":
            pass
