"""Plain completions, passed on as they are.

A client that asks `/v1/completions` continues a text and knows no calls: the body goes to the
upstream with the upstream's own name of the model, and its answer comes back byte for byte.
"""

from __future__ import annotations

from typing import Any

from callblocks.core.errors import ModelError
from callblocks.gateway.connection import Connection
from callblocks.gateway.exchange import GatewayFault
from callblocks.gateway.faults import fault_of
from callblocks.gateway.pool import Backend, Route
from callblocks.models.openai.endpoints import ChatEndpoint, CompletionEndpoint

__all__ = ("pass_on",)

_PATH = "completions"


async def pass_on(connection: Connection, route: Route, body: dict[str, Any]) -> None:
    """Answer with what the first upstream that answers says."""
    *others, last = route.order("")
    for backend in (*others, last):
        try:
            async with connection.watched():
                await _ask(connection, backend, body)
            backend.connection.worked()
            return
        except ModelError as error:
            fault = fault_of(error)
            if connection.has_begun or backend is last or fault.kind == "invalid_request":
                raise fault from error
            backend.connection.failed()


async def _ask(connection: Connection, backend: Backend, body: dict[str, Any]) -> None:
    with backend.connection.held():
        model = (await backend.upstream()).model
        if not isinstance(model, ChatEndpoint | CompletionEndpoint):
            words = f"{model.name} is behind no address, so it continues no text; use a chat"
            raise GatewayFault("invalid_request", words, field="model", code="no_completions")
        async with model.stream.post(_PATH, {**body, "model": model.name}) as arriving:
            kind = arriving.kind or "application/json"
            while piece := await arriving.piece():
                await connection.write(piece, kind)
            await connection.write(b"", kind, more=False)
