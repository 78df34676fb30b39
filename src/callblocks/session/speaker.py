"""Who replies in a turn: a model, how its replies are read, and the grammar that it is held to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec
from msgspec.structs import replace

from callblocks.model.errors import ModelError
from callblocks.models.model import Model, Piece, Request
from callblocks.parser import Parser

__all__ = ("Speaker",)


class Speaker(msgspec.Struct, frozen=True):
    """A model of any origin; `parser` makes a new one for each reply.

    `scenario` and `translate` are for one that plays scripts.
    """

    model: Model
    parser: Callable[[], Parser]
    grammar: str = ""
    scenario: str = ""
    translate: Callable[[str], str] | None = None

    async def pieces(self, request: Request) -> AsyncGenerator[Piece, None]:
        """The reply as it comes; whatever the model raises is a `ModelError`."""
        own = replace(request, scenario=self.scenario, translate=self.translate)
        try:
            async with aclosing(self.model.reply(own)) as pieces:
                async for piece in pieces:
                    yield piece
        except ModelError:
            raise
        except Exception as error:  # a model of a caller may do anything
            words = f"{self.model.name}: {type(error).__name__}: {error}"
            raise ModelError("model_failed", words) from error
