"""A model behind a plain completions API, which continues one text.

    CompletionEndpoint(EndpointSettings(base_url="http://127.0.0.1:8080/v1", model="base"), "plain")

Without a limit of its own a request asks for at most 2048 tokens: many servers would give 16.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from callblocks.models.asking import ask
from callblocks.models.endpoint import EndpointSettings, check_is_text
from callblocks.models.http_stream import HttpStream
from callblocks.models.model import Piece, Request, Spoken
from callblocks.models.prompt_formats import prompt_format
from callblocks.models.request_fields import request_body

__all__ = ("CompletionEndpoint",)

_MOST_TOKENS = 2048


class CompletionEndpoint:
    """A `Model` that asks `{base_url}/completions`; `format` is the form of its prompt."""

    writes_results = False

    def __init__(self, settings: EndpointSettings, format: str = "chatml") -> None:
        check_is_text(settings.mode)
        self._settings = settings
        self._format = prompt_format(format)
        self._stream = HttpStream(settings)
        self.context = settings.context

    def __repr__(self) -> str:
        return f"CompletionEndpoint({self._settings!r}, {self._format.name!r})"

    @property
    def name(self) -> str:
        """Return the model's name, as the server knows it."""
        return self._settings.model

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it arrives; closing it ends the request."""
        asked = {
            "prompt": self._format.prompt(request.messages),
            "stop": list(dict.fromkeys((*self._format.stops, *request.stop))),
            self._settings.tokens_field: request.max_tokens or _MOST_TOKENS,
        }
        body = request_body(request, self._settings, self._stream.faults, asked)
        # Blanks may come as pieces of their own, so trimming goes on until the first other
        # character.
        at_start = self._format.trims
        async with aclosing(ask(self._stream, "completions", body)) as pieces:
            async for piece in pieces:
                said = piece
                if at_start and isinstance(piece, Spoken):
                    said = Spoken(piece.text.lstrip(" "))
                    at_start = not said.text
                    if at_start:
                        continue
                yield said

    async def close(self) -> None:
        """Close the connections."""
        await self._stream.close()
