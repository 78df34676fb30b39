"""One address of the server: its method, who answers it, and what goes in and out.

The routes and the OpenAPI document are both made of these.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ("Endpoint", "Handler")

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`gives` is a struct, or the media type of what is no JSON; `faults` are codes of errors.

    `query` and `body` are structs. `also` are further statuses that are no error, such as 204. Of
    the names in `path`, only {path} takes slashes.
    """

    method: Literal["GET", "POST"]
    path: str
    handler: Handler
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    gives: type[msgspec.Struct] | str
    also: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What it does, in the words of its handler."""
        return (self.handler.__doc__ or "").partition("\n")[0]

    @property
    def name(self) -> str:
        """The name of its handler."""
        return getattr(self.handler, "__name__", "")

    def route(self) -> Route:
        """The route for Starlette."""
        path = self.path.replace("{path}", "{path:path}")
        return Route(path, self.handler, methods=[self.method])
