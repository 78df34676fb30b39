"""The server of a gateway: its wires, the models that it finds on this machine, and its clients.

    discover()      [Found("ollama", "Ollama", "http://127.0.0.1:11434/v1", ("qwen3",))]
    serve(operation, all_wires(), ServeSettings(port=8787), told=print)

SIGINT and SIGTERM end it: replies that run get a few seconds, a second Ctrl-C ends it at once.

The head of a request has limits, which uvicorn does not set:

- A head of more than `MOST_HEADER_BYTES` is refused with a 400; one that never ends is cut off.
- A connection whose head does not arrive within `HEAD_SECONDS` is cut off, also where nothing comes
  at all. The body has a time and a size of its own (`gateway.connection`).
- Above the connections of the config a request gets a 503 and no connection is kept; far above them
  a connection is cut off unread. Each may open one more to a model, so that many files are allowed
  to this process at its start.

Every known server of this machine is asked for its models at once, with a second for the answer.
The ports are those of `known_servers`; Ollama's is that of OLLAMA_HOST where it is set, and only if
that is this machine.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import msgspec
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.loops.auto import auto_loop_factory
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from callblocks.core.errors import CallerError, ModelError
from callblocks.core.text import brief
from callblocks.core.urls import is_loopback
from callblocks.gateway.application import AppSettings, GatewayApp
from callblocks.gateway.config import GatewayConfig, config_of_models
from callblocks.gateway.connection import encode_json
from callblocks.gateway.operation import Operation
from callblocks.gateway.wires.chat import ChatWire
from callblocks.gateway.wires.messages import MessagesWire
from callblocks.gateway.wires.ollama import GenerateWire, OllamaWire
from callblocks.gateway.wires.reply_items import Wire
from callblocks.gateway.wires.responses import ResponsesWire
from callblocks.guard.net.addresses import address_of, listen_at
from callblocks.models.open_model import locate
from callblocks.models.openai.endpoint import EndpointSettings, is_loopback_url
from callblocks.models.openai.http_client import list_models
from callblocks.models.openai.known_servers import SERVERS

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

__all__ = (
    "HEAD_SECONDS",
    "MOST_HEADER_BYTES",
    "Found",
    "GatewayServer",
    "LimitedHttp",
    "ServeSettings",
    "all_wires",
    "check_address",
    "config_of_found",
    "discover",
    "places",
    "ready_lines",
    "serve",
)

_LOG = logging.getLogger("callblocks.gateway")
_LAST_SECONDS = 5
# When the collector of garbage looks. By itself it looks after every 700 new objects.
_LOOK_AFTER = 10_000, 5, 5


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where a gateway listens, and the limits of its application."""

    host: str = "127.0.0.1"
    port: int = 8787
    app: AppSettings = AppSettings()


def check_address(host: str, operation: Operation) -> None:
    """Raise `CallerError` for a gateway without keys that other machines would reach."""
    if operation.clients.is_open and not is_loopback(host):
        raise CallerError(
            f"{brief(host)} can be reached from other machines: name the variable with a key "
            "(--key-env, or [clients.NAME] in the gateway's file), or bind to 127.0.0.1"
        )


class GatewayServer(uvicorn.Server):
    """A server of one application; `told` is called when it answers."""

    def __init__(self, app: GatewayApp, told: Callable[[], None] = lambda: None) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedHttp,
            ws="none",
            lifespan="on",
            access_log=False,
            log_level="error",
            log_config=None,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_LAST_SECONDS,
        )
        super().__init__(config)
        self._app = app
        self._told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        gc.freeze()
        gc.set_threshold(*_LOOK_AFTER)
        self._told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Give replies that run some seconds to end; then end them with a fault of their wire."""
        if count := len(self.server_state.tasks):
            words = "stopping; requests that run have %d seconds (%d now), another Ctrl-C ends them"
            _LOG.info(words, _LAST_SECONDS, count)
        self._app.stop()
        await super().shutdown(sockets)


def serve(
    operation: Operation,
    wires: Mapping[str, Wire],
    settings: ServeSettings,
    told: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve until stopped; `told` gets the address once the gateway answers."""
    check_address(settings.host, operation)
    bound = listen_at(settings.host, settings.port)
    _allow_files(2 * operation.config.connections + _SPARE)
    app = GatewayApp(operation, wires, settings.app)
    server = GatewayServer(app, lambda: told(address_of(bound)))
    with bound, asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(server.serve([bound]))


# --- The head of a request ---


HEAD_SECONDS = 30.0
MOST_HEADER_BYTES = 64 * 1024
# What may arrive of a head that is not complete. More than one read brings, which may begin with
# the end of an earlier body.
_MOST_UNREAD = 1024 * 1024


# Connections above the limit that are told so; further ones are cut off.
_SPARE = 100
_REFUSED_SECONDS = 2.0
# The shape of an error on the wires of OpenAI and Anthropic, both at once.
_TOO_MANY = {
    "type": "error",
    "error": {
        "type": "overloaded_error",
        "message": "too many clients are connected to this gateway; try again in a moment",
        "param": None,
        "code": "too_many_connections",
    },
}


async def _refuse_connection(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request of one client too many."""
    content = encode_json(_TOO_MANY)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"retry-after", b"1"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _allow_files(count: int) -> None:
    """Allow this process to open so many files, as far as the system lets it."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < count:
        words = "this process may open %d files, too few for %d; lower `connections`"
        _LOG.warning(words, most, count)


# How long, and how much of, a body is taken that nobody reads any more.
_LINGER_SECONDS = 2.0
_MOST_LINGERED = 64 << 20


class _LingeringTransport:
    """A transport that closes politely in the middle of a request.

    An answer that comes before the end of its request, as that a body is too large, is lost where
    the connection is closed at once: the system resets one whose bytes were not read, and the
    client is told of the reset alone. So this side ends first, and drops what still comes for a
    while.
    """

    def __init__(self, transport: asyncio.Transport, protocol: LimitedHttp) -> None:
        self._transport = transport
        self._protocol = protocol
        self.write = transport.write
        self.is_lingering = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Return whether nothing may be written any more."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Close, behind the rest of a request that has not come whole."""
        if self.is_closing() or not self._protocol.is_in_body:
            self._transport.close()
            return
        self.is_lingering = True
        self._transport.resume_reading()
        self._transport.write_eof()
        asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._transport.abort)


class LimitedHttp(HttpToolsProtocol):
    """One connection of HTTP as uvicorn reads it, with limits on their number and on heads."""

    _head = 0
    _unread = 0
    _is_in_head = True
    _timer: asyncio.TimerHandle | None = None
    _seconds: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._lingering = _LingeringTransport(transport, self)
        super().connection_made(cast("asyncio.Transport", self._lingering))
        app = self.config.app
        above = len(self.connections) - app.most_connections if isinstance(app, GatewayApp) else 0
        if above > _SPARE:
            transport.abort()
            return
        if above > 0:
            self.app = cast("ASGI3Application", _refuse_connection)
            self._seconds = _REFUSED_SECONDS
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        super().connection_lost(exc)

    @property
    def is_in_body(self) -> bool:
        """Return whether a request has come without its end."""
        return not self._is_in_head

    def data_received(self, data: bytes) -> None:
        if self._lingering.is_lingering:
            self._unread += len(data)
            if self._unread > _MOST_LINGERED:
                self.transport.abort()
            return
        if self.transport.is_closing():
            return
        if self._is_in_head:
            self._begin()
        super().data_received(data)
        if self._is_in_head:
            self._unread += len(data)
            if self._unread > _MOST_UNREAD:
                self.transport.abort()

    def on_message_begin(self) -> None:
        self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(name + value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head, self._unread = False, 0
        self._end()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        super().on_message_complete()

    def _count(self, part: bytes) -> None:
        # Each costs some memory beside its bytes.
        self._head += len(part) + 32
        if self._head > MOST_HEADER_BYTES:
            raise ValueError("the headers pass the limit")

    def _begin(self) -> None:
        if self._timer is None:
            seconds = self._seconds or HEAD_SECONDS
            self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


# --- Wires ---


def all_wires() -> dict[str, Wire]:
    """Return one of each wire."""
    wires: tuple[Wire, ...] = (
        *(ChatWire(), ResponsesWire(), MessagesWire()),
        *(OllamaWire(), GenerateWire()),
    )
    return {wire.name: wire for wire in wires}


# --- Model servers of this machine ---


_ANSWER_SECONDS = 1.0
# Names of models that nobody can talk with; the first of them only make embeddings.
_EMBED = ("embed", "bge-", "minilm")
_NO_CHAT = (*_EMBED, "rerank", "whisper")


class Found(msgspec.Struct, frozen=True):
    """A server that answered, and its models."""

    server: str
    about: str
    url: str
    models: tuple[str, ...]


def places(environment: Mapping[str, str] = os.environ) -> dict[str, EndpointSettings]:
    """Return the servers of this machine by their names, with the address of each."""
    located = {name: locate(f"{name}:", environment=environment) for name in SERVERS}
    return {name: one for name, one in located.items() if is_loopback_url(one.base_url)}


def discover(environment: Mapping[str, str] = os.environ) -> list[Found]:
    """Ask all of them, and block until each has answered or a second is over."""
    asked = places(environment)
    with ThreadPoolExecutor(1) as worker:
        return worker.submit(lambda: asyncio.run(_ask_all(asked))).result()


def config_of_found(found: Iterable[Found], config: GatewayConfig) -> GatewayConfig:
    """Return the config with every model that was found; the first one is the default.

    Models that only make embeddings come last, and they alone are nothing to talk with.
    """
    specs = [(model.lower(), f"{one.server}:{model}") for one in found for model in one.models]
    chats = [spec for name, spec in specs if not any(word in name for word in _NO_CHAT)]
    embeds = [spec for name, spec in specs if any(word in name for word in _EMBED)]
    return config_of_models([*chats, *embeds] if chats else [], config)


async def _ask_all(asked: Mapping[str, EndpointSettings]) -> list[Found]:
    answers = await asyncio.gather(*(_ask(name, one) for name, one in asked.items()))
    return [one for one in answers if one is not None]


async def _ask(name: str, settings: EndpointSettings) -> Found | None:
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            models = await list_models(settings)
    except (ModelError, TimeoutError):
        return None
    return Found(name, SERVERS[name].about, settings.shown_url, models)


# --- Lines that connect a client ---


def ready_lines(address: str, model: str, *, has_key: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield each client with its lines. With a key, the lines name a variable that has it."""
    key = "$CALLBLOCKS_KEY" if has_key else "none"
    yield (
        "Codex",
        [
            "codex -c model_provider=callblocks \\",
            f'  -c \'model_providers.callblocks={{name="callblocks", base_url="{address}/v1",'
            f' wire_api="responses"{_codex_key(has_key)}}}\' -m {model}',
        ],
    )
    yield (
        "Claude Code",
        [
            f"ANTHROPIC_BASE_URL={address} ANTHROPIC_AUTH_TOKEN={key} \\",
            f"  ANTHROPIC_MODEL={model} ANTHROPIC_SMALL_FAST_MODEL={model} claude",
        ],
    )
    yield (
        "opencode (opencode.json)",
        [
            '{"provider": {"callblocks": {"npm": "@ai-sdk/openai-compatible",',
            f'  "options": {{"baseURL": "{address}/v1"{_opencode_key(has_key)}}},',
            f'  "models": {{"{model}": {{}}}}}}}}, "model": "callblocks/{model}"}}',
        ],
    )
    yield (
        "Cline",
        [f"cline auth -p openai-compatible -b {address}/v1 -k {key} -m {model}"],
    )
    shown = 'os.environ["CALLBLOCKS_KEY"]' if has_key else '"none"'
    yield (
        "openai (Python)",
        [f'OpenAI(base_url="{address}/v1", api_key={shown})  # model="{model}"'],
    )


def _codex_key(has_key: bool) -> str:
    return ', env_key="CALLBLOCKS_KEY"' if has_key else ""


def _opencode_key(has_key: bool) -> str:
    return ', "apiKey": "{env:CALLBLOCKS_KEY}"' if has_key else ""
