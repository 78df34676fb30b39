"""What a request may do with its connection, as extensions of ASGI; another server offers none.

- Cut it off, where a client takes nothing: closing politely would wait for it.
- Welcome it, once a request on it had the token: from then on it is not among the strangers, who
  are the first to go where there are many connections, and its requests are counted apart.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import Receive, Scope

__all__ = ("drop", "extensions", "is_welcome", "welcome")

_DROP = "callblocks.drop"
_WELCOME = "callblocks.welcome"
_IS_WELCOME = "callblocks.is_welcome"


def extensions(
    abort: Callable[[], None], welcome: Callable[[], None]
) -> dict[str, dict[object, object]]:
    """Return the extensions of a connection."""
    return {_DROP: {"do": abort}, _WELCOME: {"do": welcome}}


async def drop(scope: Scope, receive: Receive) -> None:
    """Cut the client off; where that is not offered, it is left to the server."""
    extension = scope.get("extensions", {}).get(_DROP)
    if extension is not None:
        extension["do"]()
        while (await receive())["type"] != "http.disconnect":
            pass


def welcome(scope: Scope) -> None:
    """Say that the client on this connection is known."""
    scope[_IS_WELCOME] = True
    extension = scope.get("extensions", {}).get(_WELCOME)
    if extension is not None:
        extension["do"]()


def is_welcome(scope: Scope) -> bool:
    """Return whether a request had the token."""
    return bool(scope.get(_IS_WELCOME))
