"""A model behind a chat completions API: OpenAI's own, llama.cpp, vLLM, Ollama and many others.

    model = ChatEndpoint(EndpointSettings(base_url="http://127.0.0.1:8080/v1", model="qwen3-8b"))

Tools are not told to the server: a model writes its calls as text, in a dialect. If it gives calls
in the API's own form all the same, they are not lost and do not run: they come at the end, as
`Thinking`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from callblocks.models.asking import ask
from callblocks.models.chat_messages import chat_message
from callblocks.models.endpoint import EndpointSettings
from callblocks.models.http_stream import HttpStream
from callblocks.models.model import Piece, Request
from callblocks.models.request_fields import request_body

__all__ = ("ChatEndpoint",)


class ChatEndpoint:
    """A `Model` that asks `{base_url}/chat/completions`."""

    writes_results = False

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._stream = HttpStream(settings)

    def __repr__(self) -> str:
        return f"ChatEndpoint({self._settings!r})"

    @property
    def name(self) -> str:
        """The model's name, as the server knows it."""
        return self._settings.model

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """The reply, as it arrives; closing it ends the request."""
        asked = {"messages": [chat_message(message) for message in request.messages]}
        body = request_body(request, self._settings, self._stream.faults, asked)
        async with aclosing(ask(self._stream, "chat/completions", body)) as pieces:
            async for piece in pieces:
                yield piece

    async def close(self) -> None:
        """Close the connections."""
        await self._stream.close()
