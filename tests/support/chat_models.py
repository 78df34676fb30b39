"""Scripted models for chats, round by round."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from callblocks.core.errors import ModelError
from callblocks.models.model import Piece, Request, Spoken, Usage

__all__ = ("SayingModel",)


class SayingModel:
    """Says one text after the other; an error among them is raised. `asked` is what it got."""

    name = "saying"
    writes_results = False

    def __init__(self, *texts: str | ModelError, before: Callable[[], None] | None = None) -> None:
        self.asked: list[Request] = []
        self.closed = False
        self._texts = list(texts)
        self._before = before

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.asked.append(request)
        if self._before is not None:
            self._before()
        said = self._texts.pop(0)
        if isinstance(said, ModelError):
            raise said
        for start in range(0, len(said), 7):
            yield Spoken(said[start : start + 7])
        yield Usage(1, 2)

    async def close(self) -> None:
        self.closed = True
