"""A model behind a chat completions API: OpenAI's own, llama.cpp, vLLM, Ollama and many others.

    model = ChatEndpoint(EndpointSettings(base_url="http://127.0.0.1:8080/v1", model="qwen3-8b"))

Tools go to the server as `tools`, and calls come back as `tool_calls`, or as text that the server
did not parse. In the mode `auto` the endpoint finds out whether the server supports tools at all:

    it refuses the request because of them   `model_no_tools` is raised, and `mode` is text
    it ignores them                          the reply ends with `ToolsUnheard`

The session reads `mode` before each request and writes it in that form. The finding holds for as
long as the program runs.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from callblocks.model.errors import ModelError
from callblocks.models.asking import ask
from callblocks.models.chat_messages import chat_message
from callblocks.models.endpoint import EndpointSettings
from callblocks.models.http_stream import HttpStream
from callblocks.models.model import NativeDelta, Piece, Request, ToolsUnheard, Usage, UsedMode
from callblocks.models.reply_reader import ReplyReader
from callblocks.models.request_fields import request_body

__all__ = ("ChatEndpoint",)

# Messages of servers that take no tools: Ollama ("does not support tools"), llama.cpp ("tools param
# requires --jinja flag"), vLLM ('"auto" tool choice requires --enable-auto-tool-choice'), routers
# ("no endpoints found that support tool use"), and validators that name the field. A server that
# complains about one call, or about a model with such a name, must not match.
_TOOLS = r"(?:tools?|tool[ _-]?(?:choice|use|calls?|calling)|function[ _-]?call(?:s|ing)?)"
_NOT = r"(?:not|n't|no|un)\W{0,2}\s*(?:support|implement|permit|allow|recogni|known)"
_FIELD = r"(?:field|argument|parameter|propert|input|key)\w*"
_NO_TOOLS = re.compile(
    rf"{_NOT}\w*\W.{{0,40}}\b{_TOOLS}\b|\b{_TOOLS}\b.{{0,60}}\b{_NOT}"
    rf"|\b{_TOOLS}\b.{{0,40}}\brequires?\s+--|\bno\b.{{0,40}}\bsupport\s+{_TOOLS}\b"
    rf"|\b(?:extra|additional|unexpected)\b.{{0,30}}\b{_FIELD}\b.{{0,30}}\btools\b"
    rf"|\btools\b.{{0,40}}\bextra\b",
    re.IGNORECASE | re.DOTALL,
)
# Templates without a place for results, or for a system message, as servers quote them.
_NO_RESULTS = re.compile(r"roles? must alternate|(?:unknown|unexpected) role\W+tool", re.IGNORECASE)
_NO_SYSTEM = re.compile(
    r"system\b.{0,10}\brole\b.{0,20}\bnot\b|role\W+system\W.{0,20}\bnot\b", re.I
)
# Optional fields that are dropped where a server reports that it does not know them.
_SPARE = "(stream_options|temperature)"
_UNKNOWN_FIELD = re.compile(
    rf"{_FIELD}\W+(?:\w+\W+){{0,2}}{_SPARE}\b|\b{_SPARE}\W.{{0,40}}\b(?:extra|{_NOT})",
    re.IGNORECASE,
)
_REFUSALS = (400, 404, 405, 415, 422, 500, 501)
# More characters than any tokenizer packs into a token, on average over a prompt.
_CHARACTERS_A_TOKEN = 8


class ChatEndpoint:
    """A `Model` that asks `{base_url}/chat/completions`."""

    writes_results = False

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._stream = HttpStream(settings)
        self.context = settings.context
        self._has_tools = False
        self._has_no_system = False
        self._unknown_fields: set[str] = set()
        self._reasoning_field = ""
        # The mode in which the next request is to be written.
        self.mode: UsedMode = "mixed" if settings.mode == "auto" else settings.mode

    def __repr__(self) -> str:
        return f"ChatEndpoint({self._settings!r})"

    @property
    def name(self) -> str:
        """Return the model's name, as the server knows it."""
        return self._settings.model

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it arrives; closing it ends the request."""
        # Each round of this loop removes one thing that the server refuses, and remembers it, so
        # the loop ends. A refusal comes before any piece was yielded; repeating is therefore safe.
        while True:
            body = self._body(request)
            reader = ReplyReader(self._stream.faults, self._settings.reply_limit)
            try:
                async with aclosing(ask(self._stream, "chat/completions", body, reader)) as pieces:
                    async for piece in pieces:
                        yield piece
                        self._has_tools = self._has_tools or isinstance(piece, NativeDelta)
                        if not self._has_tools and _passes_over(body, piece):
                            yield ToolsUnheard()
                return
            except ModelError as error:
                if self._adapts_to(error, body):
                    continue
                if not request.tools or self._has_tools or not _refuses_tools(error):
                    raise
                raise self._no_tools(error) from error
            finally:
                self._reasoning_field = reader.reasoning_field or self._reasoning_field

    async def close(self) -> None:
        """Close the connections."""
        await self._stream.close()

    def give_up_tools(self) -> None:
        """Ask in text from now on, unless a mode was named, or a native call ever came."""
        if self._settings.mode == "auto" and not self._has_tools:
            self.mode = "text"

    def _body(self, request: Request) -> dict[str, Any]:
        messages = [chat_message(one, self._reasoning_field) for one in request.messages]
        if self._has_no_system:
            messages = _without_system(messages)
        asked = {"messages": messages, **dict.fromkeys(self._unknown_fields)}
        return request_body(request, self._settings, self._stream.faults, asked)

    def _adapts_to(self, error: ModelError, body: dict[str, Any]) -> bool:
        """Return whether to ask again without a feature that the server refused.

        Only a refusal counts, which comes before any part of a reply.
        """
        words = str(error.details.get("words", ""))
        if error.details.get("status") not in _REFUSALS:
            return False
        if _NO_SYSTEM.search(words) and not self._has_no_system:
            self._has_no_system = True
            return True
        unknown = _UNKNOWN_FIELD.search(words)
        name = unknown[unknown.lastindex or 0] if unknown else ""
        # A field that the settings demand is sent; then the error is for the person to correct.
        if name not in body or name in self._settings.extra:
            return False
        self._unknown_fields.add(name)
        return True

    def _no_tools(self, error: ModelError) -> ModelError:
        """Return the error for a server that takes no tools; in `auto` it is asked without."""
        self.give_up_tools()
        hint = "teach them in the prompt: mode text"
        return ModelError("model_no_tools", f"{error.message}; {hint}", **error.details)


def _refuses_tools(error: ModelError) -> bool:
    """Return whether a server refused a request because of its tools, by its own words alone."""
    words = error.details.get("words", "")
    is_refusal = error.details.get("status") in _REFUSALS
    return is_refusal and bool(_NO_TOOLS.search(words) or _NO_RESULTS.search(words))


def _without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Move the system message before the person's first message."""
    system, *rest = messages
    if system["role"] != "system" or not rest or not isinstance(rest[0]["content"], str):
        return messages
    first = {**rest[0], "content": f"{system['content']}\n\n{rest[0]['content']}"}
    return [first, *rest[1:]]


def _passes_over(body: dict[str, Any], piece: Piece) -> bool:
    """Return whether the prompt had too few tokens to hold the tools beside the messages.

    A server that does not know `tools` accepts the request nevertheless, and the model never sees
    them. The counts are conclusive only between two bounds: fewer tokens than the messages alone
    may come from a cache or a truncated prompt, and the cost of images is unknown. Where they are
    not conclusive, the answer is no: the model then has its tools, or says that it has none.
    """
    tools, texts = body.get("tools"), [message["content"] for message in body["messages"]]
    if not tools or not isinstance(piece, Usage) or not all(isinstance(one, str) for one in texts):
        return False
    # Characters are compared, with a generous ratio: the tokenizer is unknown, and only a gross
    # mismatch may count.
    least, counted = sum(map(len, texts)), piece.tokens_in * _CHARACTERS_A_TOKEN
    return least <= counted < least + len(str(tools)) // 2
