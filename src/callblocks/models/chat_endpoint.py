"""A model behind a chat completions API: OpenAI's own, llama.cpp, vLLM, Ollama and many others.

    model = ChatEndpoint(EndpointSettings(base_url="http://127.0.0.1:8080/v1", model="qwen3-8b"))

Tools go to the server as `tools`, and calls come back as `tool_calls`, or as text that the server
did not read. In the mode `auto` the endpoint finds out whether the server has tools at all:

    it refuses the request because of them   `model_no_tools` is raised, and `mode` is text
    it passes over them                      the reply ends with `ToolsUnheard`

Whoever asks looks at `mode` before each request and writes it in that form. What was found out
holds for as long as the program runs.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

from callblocks.model.errors import ModelError
from callblocks.models.asking import ask
from callblocks.models.chat_messages import chat_message
from callblocks.models.endpoint import EndpointSettings
from callblocks.models.http_stream import HttpStream
from callblocks.models.model import NativeDelta, Piece, Request, ToolsUnheard, Usage, UsedMode
from callblocks.models.reply_reader import ReplyReader
from callblocks.models.request_fields import request_body

__all__ = ("ChatEndpoint",)

# What servers say that take no tools: llama.cpp ("tools param requires --jinja flag"), Ollama
# ("does not support tools"), vLLM ('"auto" tool choice requires --enable-auto-tool-choice'),
# routers ("no endpoints found that support tool use"), and validators that name the field.
_ABOUT_TOOLS = re.compile(r"\btools?\b|tool_(?:calls?|choice|use)|function.?call", re.IGNORECASE)
_REFUSALS = (400, 404, 405, 415, 422, 500, 501)
_CHARACTERS_A_TOKEN = 8
"""More than any tokenizer packs into a token, on average over a prompt."""
_JSON = msgspec.json.Encoder()


class ChatEndpoint:
    """A `Model` that asks `{base_url}/chat/completions`."""

    writes_results = False

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._stream = HttpStream(settings)
        self.context = settings.context
        self._has_tools = False
        self._reasoning_field = ""
        self.mode: UsedMode = "mixed" if settings.mode == "auto" else settings.mode
        """How the next request is to be written."""

    def __repr__(self) -> str:
        return f"ChatEndpoint({self._settings!r})"

    @property
    def name(self) -> str:
        """The model's name, as the server knows it."""
        return self._settings.model

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it arrives; closing it ends the request."""
        messages = [chat_message(one, self._reasoning_field) for one in request.messages]
        faults = self._stream.faults
        body = request_body(request, self._settings, faults, {"messages": messages})
        reader = ReplyReader(faults, self._settings.reply_limit)
        try:
            async with aclosing(ask(self._stream, "chat/completions", body, reader)) as pieces:
                async for piece in pieces:
                    yield piece
                    self._has_tools = self._has_tools or isinstance(piece, NativeDelta)
                    if not self._has_tools and _passes_over(body, piece):
                        yield ToolsUnheard()
        except ModelError as error:
            if not (request.tools and _is_about_tools(error)):
                raise
            raise self._no_tools(error) from error
        finally:
            self._reasoning_field = reader.reasoning_field or self._reasoning_field

    async def close(self) -> None:
        """Close the connections."""
        await self._stream.close()

    def give_up_tools(self) -> None:
        """Ask in text from now on, unless a mode was named."""
        if self._settings.mode == "auto":
            self.mode = "text"

    def _no_tools(self, error: ModelError) -> ModelError:
        """Return the error for a server that takes no tools; in `auto` it is asked without."""
        self.give_up_tools()
        hint = "teach them in the prompt: mode text"
        return ModelError("model_no_tools", f"{error.message}; {hint}", **error.details)


def _is_about_tools(error: ModelError) -> bool:
    status = error.details.get("status", _REFUSALS[0])
    is_refusal = error.code in ("model_refused", "model_failed") and status in _REFUSALS
    return is_refusal and bool(_ABOUT_TOOLS.search(error.message))


def _passes_over(body: dict[str, Any], piece: Piece) -> bool:
    """Whether the prompt had too few tokens to hold the tools.

    A server that knows no `tools` takes the request all the same, and the model never hears of
    them. Where the tools are small beside the messages the counts cannot tell, and the answer is
    no: the model then has what it needs, or writes that it has no tools.
    """
    tools = body.get("tools")
    if not tools or not isinstance(piece, Usage) or not piece.tokens_in:
        return False
    least = len(_JSON.encode(body["messages"])) + len(_JSON.encode(tools)) // 2
    return piece.tokens_in * _CHARACTERS_A_TOKEN < least
