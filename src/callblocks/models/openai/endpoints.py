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

import json
import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import msgspec

from callblocks.core.blocks import DocumentPart, ImagePart, Part, TextPart, text_of
from callblocks.core.calls import Call
from callblocks.core.errors import ModelError
from callblocks.core.specs import ToolSpec
from callblocks.models.model import (
    LinkedImage,
    Message,
    ModelFacts,
    NativeDelta,
    Piece,
    Request,
    Spoken,
    ToolsUnheard,
    Usage,
    UsedMode,
)
from callblocks.models.openai.endpoint import EndpointSettings, check_is_text
from callblocks.models.openai.endpoint_faults import Faults
from callblocks.models.openai.known_servers import SERVERS, GrammarForm, server_of_owner
from callblocks.models.openai.reply_reader import ReplyReader
from callblocks.models.openai.reply_stream import HttpStream, ask
from callblocks.models.prompt_formats import prompt_format

__all__ = (
    "ChatEndpoint",
    "CompletionEndpoint",
    "chat_message",
    "chat_tool",
    "request_body",
)

# --- Messages in the form of the chat completions API ---
#
#     text only     {"role": "user", "content": "Hello"}
#     with images   {"role": "user", "content": [{"type": "text", …}, {"type": "image_url", …}]}
#
#     with calls    {"role": "assistant", "content": "…", "tool_calls": [{"id": "c1", …}]}
#     a result      {"role": "tool", "tool_call_id": "c1", "content": "…"}
#
# A message of text is sent as a plain string, since small servers know only that. Only a person's
# message carries images and documents; in any other a line stands for each.
#
# An id that callblocks made is sent as nine letters and digits: the templates of Mistral's models
# refuse every other form, and all servers accept this one.

_ENDINGS = {"application/pdf": ".pdf"}
_MADE = "tc_"


def chat_message(message: Message, reasoning_field: str = "") -> dict[str, Any]:
    """Return one message, with the reasoning behind its calls under `reasoning_field`, if named."""
    # A plain string wherever possible: many small servers reject a list of parts.
    only_text = all(
        isinstance(part, TextPart) and not isinstance(part, LinkedImage) for part in message.parts
    )
    if only_text or message.role != "user":
        sent: dict[str, Any] = {"role": message.role, "content": text_of(list(message.parts))}
        if message.role == "tool":
            sent["tool_call_id"] = _wire_id(message.call_id)
        if message.calls:
            sent["tool_calls"] = [_chat_call(call) for call in message.calls]
        if message.reasoning and reasoning_field:
            sent[reasoning_field] = message.reasoning
        return sent
    given = [part for part in message.parts if not isinstance(part, TextPart) or part.text]
    return {"role": "user", "content": [_part(part) for part in given]}


def chat_tool(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool as the API describes it."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _chat_call(call: Call) -> dict[str, Any]:
    given = json.dumps(call.input, ensure_ascii=False, default=repr)
    function = {"name": call.name, "arguments": given}
    return {"id": _wire_id(call.id), "type": "function", "function": function}


def _wire_id(id: str) -> str:
    return sha256(id.encode(errors="replace")).hexdigest()[:9] if id.startswith(_MADE) else id


def _part(part: Part) -> dict[str, Any]:
    match part:
        case LinkedImage(url=url):
            return {"type": "image_url", "image_url": {"url": url}}
        case TextPart(text=text):
            return {"type": "text", "text": text}
        case ImagePart():
            return {"type": "image_url", "image_url": {"url": _url(part)}}
        case DocumentPart(mime=mime):
            name = f"document{_ENDINGS.get(mime, '')}"
            return {"type": "file", "file": {"filename": name, "file_data": _url(part)}}


def _url(part: ImagePart | DocumentPart) -> str:
    return f"data:{part.mime};base64,{part.base64}"


# --- Fields that every request to an OpenAI-compatible server has ---
#
#     {"model": "qwen3-8b", "stream": true, "stream_options": {"include_usage": true}, …}


def request_body(
    request: Request, settings: EndpointSettings, faults: Faults, asked: dict[str, Any]
) -> dict[str, Any]:
    """Return the body: the common fields, `asked`, and the settings' own over both.

    The request's own `extra` lies under all of them. A field that is `None` is left out. A grammar
    for a server that takes none is refused: the reply would not be constrained by it.
    """
    common: dict[str, Any] = {
        "model": settings.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        settings.tokens_field: request.max_tokens,
        "temperature": request.temperature,
        "stop": list(request.stop) or None,
        "tools": [chat_tool(spec) for spec in request.tools] or None,
    }
    body: dict[str, Any] = {
        # Later entries win: what every request has over the request's own fields, the caller's
        # fields over the common ones, and the person's settings over all.
        **request.extra,
        **{name: value for name, value in common.items() if value is not None},
        **asked,
        **settings.extra,
    }
    if request.grammar:
        _put_grammar(body, request.grammar, settings.grammar_field, faults)
    return {name: value for name, value in body.items() if value is not None}


def grammar_form(settings: EndpointSettings) -> GrammarForm:
    """Return how the server of these settings holds a reply to a form; "" if that is unknown."""
    if settings.grammar_field:
        return "gbnf"
    return SERVERS[settings.server].grammar_form if settings.server in SERVERS else ""


async def with_known_server(settings: EndpointSettings, stream: HttpStream) -> EndpointSettings:
    """Return the settings with the known server behind a bare address, where its list tells it.

    Only the settings of grammars are taken from it.
    """
    if settings.server or settings.grammar_field:
        return settings
    server = server_of_owner(await stream.owner())
    if server is None:
        return settings
    return msgspec.structs.replace(settings, server=server.name, grammar_field=server.grammar_field)


# Refused rather than dropped: a caller that asks for a grammar relies on the form of the reply.
def _put_grammar(body: dict[str, Any], grammar: str, field: str, faults: Faults) -> None:
    if not field:
        raise faults.error(
            "model_refused",
            "is not known to hold a reply to a grammar; set grammar_field to the field that it "
            'takes ("grammar" for llama.cpp), or ask without one',
        )
    outer, _, inner = field.partition(".")
    body[outer] = {**(body.get(outer) or {}), inner: grammar} if inner else grammar


# --- A model behind a chat completions API: OpenAI's, llama.cpp, vLLM, Ollama and others ---

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
_SPARE = ("stream_options", "temperature")
_REFUSALS = (400, 404, 405, 415, 422, 500, 501)
# More characters than any tokenizer packs into a token, on average over a prompt.
_CHARACTERS_A_TOKEN = 8


class _Endpoint:
    """What a server is known to be: the same for both of its addresses."""

    writes_results = False

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self.stream = HttpStream(settings)
        self.context = settings.context
        self._has_asked = False

    @property
    def name(self) -> str:
        """Return the model's name, as the server knows it."""
        return self._settings.model

    @property
    def grammar_form(self) -> GrammarForm:
        """Return how the server holds a reply to a form; "" if that is unknown."""
        return grammar_form(self._settings)

    @property
    def server(self) -> str:
        """Return the name of the known server behind the address; "" where it is not known."""
        return self._settings.server

    @property
    def facts(self) -> ModelFacts:
        """Return what may be shown of the settings."""
        parts = urlsplit(self._settings.base_url)
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        temperature = self._settings.extra.get("temperature")
        known = temperature if isinstance(temperature, int | float) else None
        return ModelFacts(address, self._settings.key_hint, known)

    async def find_grammar_form(self) -> GrammarForm:
        """Return it; for a bare address, ask the server once who it is."""
        if not self._has_asked:
            self._settings = await with_known_server(self._settings, self.stream)
            self._has_asked = True
        return self.grammar_form


class ChatEndpoint(_Endpoint):
    """A `Model` that asks `{base_url}/chat/completions`."""

    def __init__(self, settings: EndpointSettings) -> None:
        super().__init__(settings)
        self._has_tools = False
        # A reply to a request with tools has come: its end says whether the server knows them.
        self.is_tried = settings.mode != "auto"
        self._has_no_system = False
        self._unknown_fields: set[str] = set()
        self._reasoning_field = ""
        # The mode in which the next request is to be written.
        self.mode: UsedMode = "mixed" if settings.mode == "auto" else settings.mode

    def __repr__(self) -> str:
        return f"ChatEndpoint({self._settings!r})"

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it arrives; closing it ends the request."""
        # Each round of this loop removes one thing that the server refuses, and remembers it, so
        # the loop ends. A refusal comes before any piece was yielded; repeating is therefore safe.
        while True:
            body = self._body(request)
            reader = ReplyReader(self.stream.faults, self._settings.reply_limit)
            try:
                async with aclosing(ask(self.stream, "chat/completions", body, reader)) as pieces:
                    async for piece in pieces:
                        yield piece
                        self._has_tools = self._has_tools or isinstance(piece, NativeDelta)
                        if not self._has_tools and _passes_over(body, piece):
                            yield ToolsUnheard()
                self.is_tried = self.is_tried or bool(request.tools)
                return
            except ModelError as error:
                if self._adapts_to(error, body, request.extra):
                    continue
                if not request.tools or self._has_tools or not _refuses_tools(error):
                    raise
                raise self._no_tools(error) from error
            finally:
                self._reasoning_field = reader.reasoning_field or self._reasoning_field

    async def close(self) -> None:
        """Close the connections."""
        await self.stream.close()

    def give_up_tools(self) -> None:
        """Ask in text from now on, unless a mode was named, or a native call ever came."""
        if self._settings.mode == "auto" and not self._has_tools:
            self.mode = "text"

    def _body(self, request: Request) -> dict[str, Any]:
        messages = [chat_message(one, self._reasoning_field) for one in request.messages]
        if self._has_no_system:
            messages = _without_system(messages)
        asked = {"messages": messages, **dict.fromkeys(self._unknown_fields)}
        return request_body(request, self._settings, self.stream.faults, asked)

    def _adapts_to(
        self, error: ModelError, body: dict[str, Any], extra: Iterable[str] = ()
    ) -> bool:
        """Return whether to ask again without a feature that the server refused.

        `extra` are fields of the request that may be left out.

        Only a refusal counts, which comes before any part of a reply.
        """
        words = str(error.details.get("words", ""))
        if error.details.get("status") not in _REFUSALS:
            return False
        if _NO_SYSTEM.search(words) and not self._has_no_system:
            self._has_no_system = True
            return True
        name = _unknown_field(words, (*_SPARE, *extra))
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


def _unknown_field(words: str, names: Iterable[str]) -> str:
    """Return the field that a server does not know, by its words; "" where they name none."""
    known = "|".join(map(re.escape, names))
    unknown = re.search(
        rf"{_FIELD}\W+(?:\w+\W+){{0,2}}({known})\b|\b({known})\W.{{0,40}}\b(?:extra|{_NOT})",
        words,
        re.IGNORECASE,
    )
    return unknown[unknown.lastindex or 0] if unknown else ""


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


# --- A model behind a plain completions API, which continues one text ---
#
#     settings = EndpointSettings(base_url="http://127.0.0.1:8080/v1", model="base")
#     CompletionEndpoint(settings, "plain")
#
# Without a limit of its own a request asks for at most 2048 tokens: many servers would give 16.

_MOST_TOKENS = 2048


class CompletionEndpoint(_Endpoint):
    """A `Model` that asks `{base_url}/completions`; `format` is the form of its prompt."""

    def __init__(self, settings: EndpointSettings, format: str = "chatml") -> None:
        check_is_text(settings.mode)
        super().__init__(settings)
        self._format = prompt_format(format)

    def __repr__(self) -> str:
        return f"CompletionEndpoint({self._settings!r}, {self._format.name!r})"

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it arrives; closing it ends the request."""
        asked = {
            "prompt": self._format.prompt(request.messages),
            "stop": list(dict.fromkeys((*self._format.stops, *request.stop))),
            self._settings.tokens_field: request.max_tokens or _MOST_TOKENS,
        }
        body = request_body(request, self._settings, self.stream.faults, asked)
        # Blanks may come as pieces of their own, so trimming goes on until the first other
        # character.
        at_start = self._format.trims
        async with aclosing(ask(self.stream, "completions", body)) as pieces:
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
        await self.stream.close()
