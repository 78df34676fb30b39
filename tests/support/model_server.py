r"""A model's server on loopback: it checks what it is asked, and answers byte for byte as told.

    with ModelServer() as server:
        server.answer(*chat_events("Hel", "lo"))
        model = ChatEndpoint(EndpointSettings(base_url=server.url, model="test"))
        …
        assert server.requests[0].body["messages"] == …

Each request takes the next answer; without one it gets "Hello". A request that the published
types of the API do not allow is answered with 400, and fails the test at the end of the block.
The server runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Literal, Self

import msgspec
import pydantic

__all__ = ("Asked", "ModelServer", "Step", "chat_events", "completion_events", "event")

DONE = b"data: [DONE]\n\n"

Step = bytes | float | Literal["cut", "leave", "hold"]
"""Bytes to send, seconds to wait, or: break the connection, with what is not yet sent; close it in
the middle of an answer; wait until the client leaves."""


class Asked(msgspec.Struct, frozen=True):
    """A request as the server saw it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Answer(msgspec.Struct, frozen=True):
    """What a request gets; with `raw` the steps are all that is sent."""

    steps: tuple[Step, ...]
    status: int = 200
    headers: dict[str, str] = {}
    raw: bool = False


class ModelServer:
    """`extras` are the fields beside those of the API that a request may have.

    `models` are those that it lists, where anybody asks, each owned by `owner`; without them there
    is no such path. Who asked for the list stands in `listed`. `left` is set once a connection is
    over.
    """

    def __init__(
        self,
        *,
        extras: Iterable[str] = (),
        models: Iterable[str] | None = None,
        owner: str | None = None,
    ) -> None:
        self.requests: list[Asked] = []
        self.listed: list[Asked] = []
        self._models = None if models is None else tuple(models)
        self._owner = {} if owner is None else {"owned_by": owner}
        self.invalid: list[str] = []
        self.connections = 0
        self.left = threading.Event()
        self._extras = frozenset(extras)
        self._answers: deque[Answer] = deque()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._ready = threading.Event()
        self._open: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}

    def __enter__(self) -> Self:
        # Reading the types takes a while, in which no client should wait.
        _types()
        self._thread.start()
        assert self._ready.wait(120)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        assert kind or not self.invalid, self.invalid

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def answer(
        self,
        *steps: Step,
        status: int = 200,
        kind: str = "text/event-stream",
        headers: dict[str, str] | None = None,
        raw: bool = False,
    ) -> None:
        """Answer the next request so. Each of the steps that is bytes is one piece on the wire."""
        given = {"content-type": kind, **(headers or {})}
        self._answers.append(Answer(steps, status, given, raw))

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 26)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open)
        await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            del self._open[task]
            self.left.set()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; false if the connection is over."""
        asked = await _read(reader)
        is_list = asked.path.partition("?")[0].endswith("/models")
        (self.listed if is_list else self.requests).append(asked)
        answer = self._list() if is_list else self._choose(asked)
        if not answer.raw:
            writer.write(_head(answer))
        for step in answer.steps:
            match step:
                case "cut":
                    writer.transport.abort()
                    return False
                case "leave":
                    return False
                case "hold":
                    await reader.read(1)
                    return False
                case bytes():
                    writer.write(step if answer.raw else b"%x\r\n%b\r\n" % (len(step), step))
                    await writer.drain()
                    # So that the pieces arrive one by one.
                    await asyncio.sleep(0)
                case _:
                    await asyncio.sleep(step)
        if not answer.raw:
            writer.write(b"0\r\n\r\n")
        return not answer.raw

    def _list(self) -> Answer:
        kind = {"content-type": "application/json"}
        if self._models is None:
            return Answer((b'{"error": "no such path"}',), 404, kind)
        rows = [{"id": name, "object": "model", **self._owner} for name in self._models]
        return Answer((json.dumps({"object": "list", "data": rows}).encode(),), 200, kind)

    def _choose(self, asked: Asked) -> Answer:
        problem = "; ".join(self._problems(asked))
        if problem:
            self.invalid.append(problem)
            said = json.dumps({"error": {"message": problem, "type": "invalid_request_error"}})
            return Answer((said.encode(),), 400, {"content-type": "application/json"})
        if self._answers:
            return self._answers.popleft()
        is_chat = asked.path.endswith("/chat/completions")
        return Answer(chat_events("Hello") if is_chat else completion_events("Hello"))

    def _problems(self, asked: Asked) -> Iterator[str]:
        """Why the published types do not allow a request."""
        return _problems(asked, self._extras)


def event(value: Any) -> bytes:
    """One event with a JSON value."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chat_events(
    *texts: str, tokens: tuple[int, int] = (7, 3), end: bool = True
) -> tuple[bytes, ...]:
    """A chat reply as OpenAI streams it; without its end if not `end`."""
    said = [event(chat_chunk({"content": text})) for text in texts]
    start = event(chat_chunk({"role": "assistant", "content": ""}))
    ended = (event(chat_chunk({}, "stop")), event(_usage_chunk(tokens)), DONE)
    return (start, *said, *(ended if end else ()))


def completion_events(*texts: str, reason: str = "stop") -> tuple[bytes, ...]:
    """A plain completion as it is streamed."""
    said = [event(completion_chunk(text)) for text in texts]
    return (*said, event(completion_chunk("", reason)), DONE)


def chat_chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    """A chunk of a chat reply."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    kind = "chat.completion.chunk"
    return {"id": "c-1", "object": kind, "created": 1, "model": "test", "choices": [choice]}


def completion_chunk(text: str, reason: str | None = None) -> dict[str, Any]:
    """A chunk of a plain completion."""
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
    kind = "text_completion"
    return {"id": "c-1", "object": kind, "created": 1, "model": "test", "choices": [choice]}


def _usage_chunk(tokens: tuple[int, int]) -> dict[str, Any]:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    counts = dict(zip(names, (*tokens, sum(tokens)), strict=True))
    return {**chat_chunk({}), "choices": [], "usage": counts}


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head[:-4].split("\r\n")
    headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(first.split(" ")[1], headers, json.loads(body) if body else {})


def _head(answer: Answer) -> bytes:
    given = {**answer.headers, "transfer-encoding": "chunked"}
    lines = (f"{name}: {value}" for name, value in given.items())
    return "\r\n".join((f"HTTP/1.1 {answer.status} Whatever", *lines, "", "")).encode("latin-1")


@cache
def _types() -> dict[str, pydantic.TypeAdapter[Any]]:
    from openai.types import completion_create_params as completions
    from openai.types import embedding_create_params as embeddings
    from openai.types.chat import completion_create_params as chat

    return {
        "/v1/chat/completions": pydantic.TypeAdapter(chat.CompletionCreateParamsStreaming),
        "/v1/completions": pydantic.TypeAdapter(completions.CompletionCreateParamsStreaming),
        "/v1/embeddings": pydantic.TypeAdapter(embeddings.EmbeddingCreateParams),
    }


def _problems(asked: Asked, extras: frozenset[str]) -> Iterator[str]:
    """Why the published types do not allow a request: what is wrong, and what they do not know."""
    path = asked.path.partition("?")[0]
    if path == "/v1/messages":
        yield from _message_problems(asked)
        return
    if path not in _types():
        yield f"no such path: {path}"
        return
    body = {name: value for name, value in asked.body.items() if name not in extras}
    try:
        known = _plain(_types()[path].validate_python(body))
    except pydantic.ValidationError as error:
        yield str(error)
        return
    # What the types do not know is left out of what they give.
    if known != body:
        yield f"unknown fields: {body} is read as {known}"


# The fields that Anthropic's API takes of those that a request may have; it refuses all others.
_OF_MESSAGES = frozenset(
    (
        *("model", "max_tokens", "messages", "system", "stream", "temperature", "stop_sequences"),
        *("tools", "tool_choice", "top_p", "top_k", "thinking", "metadata", "service_tier"),
        "output_config",
    )
)


def _message_problems(asked: Asked) -> Iterator[str]:
    """Why Anthropic's API does not allow a request, as its reference says."""
    body = asked.body
    if more := set(body) - _OF_MESSAGES:
        yield f"{', '.join(sorted(more))}: Extra inputs are not permitted"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: Field required"
    if "anthropic-version" not in asked.headers:
        yield "anthropic-version: header is required"
    roles = [message["role"] for message in body.get("messages", ())]
    if not roles or roles[0] != "user" or set(roles) - {"user", "assistant"}:
        yield f"messages: the roles are {roles}"
    if any(one == other for one, other in itertools.pairwise(roles)):
        yield f"messages: roles must alternate, they are {roles}"
    known: set[str] = set()
    for message in body.get("messages", ()):
        parts = message["content"] if isinstance(message["content"], list) else []
        results = {one["tool_use_id"] for one in parts if one["type"] == "tool_result"}
        if results != known:
            yield f"messages: tool_use ids {known} were found with the tool_result blocks {results}"
        known = {one["id"] for one in parts if one["type"] == "tool_use"}
        if any(one["type"] == "text" and not one["text"].strip() for one in parts):
            yield "messages: text content blocks must contain non-whitespace text"


def _plain(value: Any) -> Any:
    """A validated value with its lazy lists read."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, str | int | float | bool | None):
        return value
    return [_plain(item) for item in value]
