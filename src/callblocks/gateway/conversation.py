"""The name of the conversation that a request belongs to."""

from __future__ import annotations

from hashlib import sha256

from callblocks.core.blocks import text_of
from callblocks.gateway.exchange import GatewayRequest

__all__ = ("conversation_of",)

_LENGTH = 24


def conversation_of(request: GatewayRequest, client: str = "") -> str:
    """Return a name of letters and digits, the same for each request of one conversation.

    Where the client names none it is made of what stays the same: the client, the model, and the
    messages up to the first one of the user. Two conversations that begin alike share it.
    """
    known = sha256(f"{client}\0{request.conversation}".encode(errors="replace"))
    if not request.conversation:
        known.update(request.model.encode(errors="replace"))
        for message in request.messages:
            text = text_of(list(message.parts))
            known.update(f"\0{message.role}\0{text}".encode(errors="replace"))
            if message.role == "user":
                break
    return known.hexdigest()[:_LENGTH]
