"""Plain completions, passed on as they are.

A client that asks `/v1/completions` continues a text and knows no calls: the body goes to the
upstream with the upstream's own name of the model, and its answer comes back byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from callblocks.core.errors import ModelError
from callblocks.core.json_values import json_text
from callblocks.gateway.connection import Connection
from callblocks.gateway.exchange import GatewayFault
from callblocks.gateway.faults import fault_of
from callblocks.gateway.pool import Backend, Route
from callblocks.models.model import Usage
from callblocks.models.openai.endpoints import ChatEndpoint, CompletionEndpoint

__all__ = ("pass_on",)

_PATH = "completions"
_CHARACTERS_A_TOKEN = 4


async def pass_on(
    connection: Connection,
    route: Route,
    body: dict[str, Any],
    used: Callable[[Usage], None] = lambda _: None,
) -> None:
    """Answer with what the first upstream that answers says; `used` gets its estimated tokens."""
    *others, last = route.order("")
    for backend in (*others, last):
        try:
            async with connection.watched():
                await _ask(connection, backend, body, used)
            backend.connection.worked()
            return
        except ModelError as error:
            fault = fault_of(error)
            if connection.has_begun or backend is last or fault.kind == "invalid_request":
                raise fault from error
            backend.connection.failed()


async def _ask(
    connection: Connection, backend: Backend, body: dict[str, Any], used: Callable[[Usage], None]
) -> None:
    with backend.connection.held():
        model = (await backend.upstream()).model
        if not isinstance(model, ChatEndpoint | CompletionEndpoint):
            words = f"{model.name} is behind no address, so it continues no text; use a chat"
            raise GatewayFault("invalid_request", words, field="model", code="no_completions")
        async with model.stream.post(_PATH, {**body, "model": model.name}) as arriving:
            kind = arriving.kind or "application/json"
            events = length = 0
            try:
                while piece := await arriving.piece():
                    events += piece.count(b"data:")
                    length += len(piece)
                    await connection.write(piece, kind)
            finally:
                # A stream has about one token in each event.
                prompt = len(json_text(body.get("prompt"))) // _CHARACTERS_A_TOKEN
                used(Usage(prompt, events or length // _CHARACTERS_A_TOKEN))
            await connection.write(b"", kind, more=False)
