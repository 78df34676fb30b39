"""The pieces of a model's reply, read to its end or its error.

pieces, error = reply_of(ChatEndpoint(settings))
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from callblocks.core.blocks import TextPart
from callblocks.core.errors import ModelError
from callblocks.models.model import Message, Model, Piece, Request, Role, Spoken, Thinking

__all__ = ("HELLO", "message", "pieces_of", "reply_of", "spoken", "thought")


def message(role: Role, text: str) -> Message:
    return Message(role, (TextPart(text),))


HELLO = Request(messages=(message("system", "Be kind.\n"), message("user", "Hello\n")))


def reply_of(model: Model, request: Request = HELLO) -> tuple[list[Piece], ModelError | None]:
    """All pieces that came, and the error after them; the model is closed then."""

    async def run() -> tuple[list[Piece], ModelError | None]:
        try:
            return await pieces_of(model, request)
        finally:
            await model.close()

    return asyncio.run(run())


async def pieces_of(
    model: Model, request: Request = HELLO
) -> tuple[list[Piece], ModelError | None]:
    """The same for a model that goes on."""
    came: list[Piece] = []
    try:
        async with aclosing(model.reply(request)) as pieces:
            async for piece in pieces:
                came.append(piece)  # noqa: PERF401 - what came before an error is kept
    except ModelError as error:
        return came, error
    return came, None


def spoken(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Spoken))


def thought(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Thinking))
