"""The routes of a gateway, as one ASGI application.

    POST /v1/chat/completions, /v1/responses, /v1/messages                 a reply
    POST /api/chat, /api/generate                                          the same, for Ollama's
    POST /v1/messages/count_tokens, /v1/responses/input_tokens             an estimate
    POST /v1/completions, /v1/embeddings                                   passed on as they are
    GET  /v1/models, /v1/models/NAME, /api/tags, /api/ps                   what is offered
    POST /api/show                                                         the same, about one
    GET  /healthz, /health                                                 without a key

Every path of /v1 is found without the /v1, too: clients disagree about what a base URL ends with.
An error has the shape of the wire that the path belongs to. What a client left is nobody's error:
its request ends, with all that it waits for.

A client that asks `/v1/completions` continues a text and knows no calls, and one that asks
`/v1/embeddings` gets vectors: the body goes to the upstream with the upstream's own name of the
model, and its answer comes back byte for byte. Embeddings come from the model that is named and
from no other: vectors of two models cannot be compared, and nobody would notice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from math import ceil
from typing import Any, TypeAlias
from uuid import uuid4

import msgspec
from starlette.types import Receive, Scope, Send

from callblocks import __version__
from callblocks.core.errors import ModelError
from callblocks.core.events import CallInput, CallStarted, Reasoning, Text
from callblocks.core.json_values import json_text
from callblocks.gateway.config import GatewayModel
from callblocks.gateway.connection import (
    Connection,
    Gone,
    allowed_origin,
    check_host,
    encode_json,
    preflight_headers,
    read_json,
    shown_headers,
)
from callblocks.gateway.engine import reply
from callblocks.gateway.exchange import (
    Finished,
    GatewayFault,
    GatewayRequest,
    ReplyEvent,
    ReplyHead,
    conversation_of,
    fault_of,
)
from callblocks.gateway.operation import METRICS_TYPE, Client, Operation
from callblocks.gateway.pool import Backend, Route
from callblocks.gateway.upstreams import Upstream
from callblocks.gateway.wires.ollama import VERSION, loaded, running, show, tags
from callblocks.gateway.wires.parts import estimate_tokens
from callblocks.gateway.wires.reply_items import (
    ListedModel,
    StreamWriter,
    Wire,
    anthropic_model,
    list_models,
    openai_model,
)
from callblocks.models.model import Usage
from callblocks.models.openai.endpoints import ChatEndpoint, CompletionEndpoint

__all__ = ("AppSettings", "Engine", "GatewayApp", "pass_on")

_LOG = logging.getLogger("callblocks.gateway")
# Monitoring asks for these again and again, so the log leaves them out.
_UNLOGGED = ("/healthz", "/health", "/metrics")
_JSON = "application/json"
Engine: TypeAlias = Callable[..., AsyncGenerator[ReplyEvent, None]]
"""The function that gives the reply: `gateway.engine.reply`."""

# Faults after which another upstream may do better. The others are the client's own.
_OF_UPSTREAM = ("upstream", "overloaded", "timeout", "rate_limit", "internal", "not_found")
# Clients sort by it; the gateway does not know when a model was made.
_CREATED = 1_700_000_000


class AppSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the application, in bytes and seconds.

    `quiet` is how long a stream may be silent, `slow` how long a client may take for a piece of it,
    `body_seconds` how long for its request.
    """

    max_body: int = 32 << 20
    body_seconds: float = 60.0
    quiet: float = 10.0
    slow: float = 60.0


class _Asked(msgspec.Struct):
    """One request for a reply, on its way."""

    connection: Connection
    wire: Wire
    client: Client
    request: GatewayRequest
    route: Route
    head: ReplyHead
    began: float
    calls: int = 0
    has_event: bool = False


class GatewayApp:
    """The application; `wires` are the protocols by their names, `engine` gives the replies."""

    def __init__(
        self,
        operation: Operation,
        wires: Mapping[str, Wire],
        settings: AppSettings | None = None,
        engine: Engine = reply,
    ) -> None:
        self._operation = operation
        self._wires = wires
        self._settings = settings or AppSettings()
        self._engine = engine
        get, post = self._get_routes(), self._post_routes()
        self._routes = {**{("GET", path): run for path, run in get.items()}}
        self._routes |= {("HEAD", path): run for path, run in get.items()}
        self._routes |= {("POST", path): run for path, run in post.items()}
        self._paths = {path for _, path in self._routes}
        self._stops = False

    @property
    def most_connections(self) -> int:
        """Return how many clients may be connected at once."""
        return self._operation.config.connections

    def stop(self) -> None:
        """End replies with a fault of their wire where the server cancels them from now on."""
        self._stops = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        settings = self._settings
        connection = Connection(scope, receive, send, quiet=settings.quiet, slow=settings.slow)
        id = uuid4().hex
        # OpenAI's clients read the first one, Anthropic's the other.
        connection.more += [(b"x-request-id", id.encode()), (b"request-id", id.encode())]
        began = time.perf_counter()
        try:
            await self._run(connection, id)
        finally:
            if connection.path not in _UNLOGGED:
                _log_request(connection, time.perf_counter() - began)

    async def _run(self, connection: Connection, id: str) -> None:
        """Answer; whatever goes wrong becomes an answer, too."""
        try:
            await self._answer(connection, id)
        except Gone:
            connection.notes.append("the client left")
            self._operation.metrics.left(self._wire_of(connection).name)
        except GatewayFault as fault:
            await self._refuse(connection, fault)
        except asyncio.CancelledError:
            if not self._stops or connection.has_begun:
                raise
            await self._refuse(connection, _stopping())
        except Exception:
            # The log has all of it; its client gets none.
            _LOG.exception("request %s failed", id)
            words = f"the gateway failed; its log has more under {id}"
            await self._refuse(connection, GatewayFault("internal", words))

    # --- Which request it is ---

    async def _answer(self, connection: Connection, id: str) -> None:
        operation = self._operation
        operation.refresh()
        path = self._path(connection.path)
        is_open = operation.clients.is_open
        # A page whose name was made to lead here would read the names of the models in the counts.
        if path not in ("/healthz", "/health"):
            check_host(connection.headers, operation.config, is_open=is_open)
        origin = allowed_origin(connection.headers, operation.config)
        if connection.method == "OPTIONS" and origin:
            headers = preflight_headers(origin, connection.headers)
            await connection.answer(204, b"", "text/plain", headers)
            return
        connection.more += shown_headers(origin)
        run = self._routes.get((connection.method, path)) or self._named(connection.method, path)
        if run is None:
            raise self._no_route(connection, path)
        await run(connection, path, id)

    def _path(self, path: str) -> str:
        path = path.rstrip("/") or "/"
        if path in self._paths or path.startswith(("/v1/", "/api/")):
            return path
        with_version = f"/v1{path}"
        return with_version if with_version in self._paths else path

    def _named(self, method: str, path: str) -> _Run | None:
        """Return the handler of one model, whose name may have slashes."""
        for prefix in ("/v1/models/", "/models/"):
            if method in ("GET", "HEAD") and path.startswith(prefix):
                name = path.removeprefix(prefix)
                return lambda connection, _, id: self._model(connection, name)
        return None

    def _no_route(self, connection: Connection, path: str) -> GatewayFault:
        allowed = sorted({method for method, known in self._routes if known == path})
        if allowed:
            connection.more.append((b"allow", ", ".join(allowed).encode()))
            return _MethodFault(f"{path[:200]} takes {' and '.join(allowed)}")
        offered = ", ".join(sorted(one for one in self._paths if one.startswith(("/v1", "/api"))))
        words = f"nothing is at {path[:200]}; there is {offered}"
        return GatewayFault("not_found", words, code="path_not_found")

    def _get_routes(self) -> dict[str, _Run]:
        return {
            "/": self._hello,
            "/healthz": self._health,
            "/health": self._health,
            "/metrics": self._metrics,
            "/v1/models": self._models,
            "/api/tags": self._tags,
            "/api/ps": self._running,
            "/api/version": self._version,
        }

    def _post_routes(self) -> dict[str, _Run]:
        wires = {
            "/v1/chat/completions": "chat",
            "/v1/responses": "responses",
            "/v1/messages": "messages",
            "/api/chat": "ollama",
            "/api/generate": "generate",
        }
        routes: dict[str, _Run] = {
            path: self._reply_on(self._wires[name])
            for path, name in wires.items()
            if name in self._wires
        }
        for name, end in (("messages", "count_tokens"), ("responses", "input_tokens")):
            if name in self._wires:
                routes[f"/v1/{name}/{end}"] = self._count_tokens_on(self._wires[name])
        routes["/v1/completions"] = self._pass_on
        routes["/v1/embeddings"] = self._pass_on
        routes["/api/show"] = self._show
        return routes

    def _wire_of(self, connection: Connection) -> Wire:
        """Return the wire whose shape an error has."""
        path, name = connection.path, "chat"
        if "/messages" in path or "anthropic-version" in connection.headers:
            name = "messages"
        elif "/responses" in path:
            name = "responses"
        elif path.startswith("/api/"):
            name = "ollama"
        return self._wires.get(name) or next(iter(self._wires.values()))

    # --- Replies ---

    def _reply_on(self, wire: Wire) -> _Run:
        async def run(connection: Connection, path: str, id: str) -> None:
            began = time.perf_counter()
            client = self._operation.clients.find(connection.headers)
            body = await self._body(connection)
            if path.startswith("/api/") and (answer := loaded(wire.name, body)):
                self._route(client, _named_model(body))
                await self._json(connection, answer)
                return
            request = wire.read(body, connection.headers)
            asked = self._asked(connection, wire, client, request, id, began)
            try:
                with client.request(), self._operation.metrics.streams.track_inprogress():
                    await self._reply(asked)
            finally:
                self._count(asked)

        return run

    def _asked(
        self,
        connection: Connection,
        wire: Wire,
        client: Client,
        request: GatewayRequest,
        id: str,
        began: float,
    ) -> _Asked:
        route = self._route(client, request.model)
        connection.notes.append(_way(request.model, route.model.name))
        if route.model.settings.remarks:
            options = {**request.options, "remarks": True}
            request = msgspec.structs.replace(request, options=options)
        head = ReplyHead(id, int(time.time()), request.model)
        return _Asked(connection, wire, client, request, route, head, began)

    def _route(self, client: Client, name: str) -> Route:
        """Return the model that a client names, if it may use it."""
        route = self._operation.pool.route(name, client.may_see)
        client.check_model(route.model.name, name)
        return route

    async def _reply(self, asked: _Asked) -> None:
        if not asked.request.streams:
            async with asked.connection.watched():
                content = await self._whole(asked)
            await asked.connection.answer(200, content, _JSON, [])
            return
        stream = _Stream(asked.connection, asked.wire.writer(asked.request, asked.head))
        stream.kind = asked.wire.media_type
        try:
            await self._stream(asked, stream)
        except asyncio.CancelledError:
            if not self._stops or not asked.connection.has_begun:
                raise
            asked.connection.notes.append(_stopping().message)
            await stream.fail(_stopping())

    async def _stream(self, asked: _Asked, stream: _Stream) -> None:
        async with asked.connection.watched(stream.keep_alive):
            try:
                async with aclosing(self._events(asked)) as events:
                    async for event in events:
                        await stream.write(event)
                await stream.end()
            except GatewayFault as fault:
                if not asked.connection.has_begun:
                    raise
                asked.connection.notes.append(fault.message)
                await stream.fail(fault)
            except Exception:
                if not asked.connection.has_begun:
                    raise
                _LOG.exception("request %s failed in the middle of its reply", asked.head.id)
                words = f"the gateway failed; its log has more under {asked.head.id}"
                await stream.fail(GatewayFault("internal", words))

    async def _whole(self, asked: _Asked) -> bytes:
        async with aclosing(self._events(asked)) as events:
            found = [event async for event in events]
        return encode_json(asked.wire.whole(asked.request, asked.head, found))

    async def _events(self, asked: _Asked) -> AsyncGenerator[ReplyEvent, None]:
        """Yield the reply of the first upstream that gives one.

        An upstream that fails before its first event is passed over. After it the client has a part
        of the reply, so the fault is the client's to see.
        """
        conversation = conversation_of(asked.request, asked.client.name)
        *others, last = asked.route.order(conversation)
        record = self._operation.record
        for backend in (*others, last):
            try:
                async with self._opened(backend, asked, conversation) as upstream:
                    kept: list[ReplyEvent] = []
                    async with aclosing(self._from(upstream, asked)) as events:
                        async for event in events:
                            if record.wants():
                                kept.append(event)
                            yield event
                backend.connection.worked()
                record.replied(asked.request, conversation, kept)
                return
            except ModelError as error:
                fault = fault_of(error)
            except GatewayFault as error:
                fault = error
            self._failed(asked, backend, fault)
            if asked.has_event or backend is last or fault.kind not in _OF_UPSTREAM:
                raise self._shown(fault)

    def _shown(self, fault: GatewayFault) -> GatewayFault:
        """Return a fault as clients may see it: without keys they are the owner's own programs."""
        return fault if self._operation.clients.is_open else fault.for_strangers()

    @asynccontextmanager
    async def _opened(
        self, backend: Backend, asked: _Asked, conversation: str
    ) -> AsyncGenerator[Upstream, None]:
        """Open an upstream for one reply, and note what goes through it."""
        with backend.connection.held():
            upstream = await backend.upstream()
            yield self._operation.record.tapped(upstream, asked.request, conversation)

    async def _from(self, upstream: Upstream, asked: _Asked) -> AsyncGenerator[ReplyEvent, None]:
        metrics, model = self._operation.metrics, asked.route.model.name
        engine = self._engine(asked.request, upstream, self._operation.firewall)
        length, is_counted = 0, False
        try:
            async with aclosing(engine) as events:
                async for event in events:
                    if not asked.has_event:
                        asked.has_event = True
                        metrics.began(asked.wire.name, model, time.perf_counter() - asked.began)
                    match event:
                        case CallStarted():
                            asked.calls += 1
                        case Text(text=text) | Reasoning(text=text) | CallInput(text=text):
                            length += len(text)
                        case Finished():
                            metrics.finished(model, asked.calls, event)
                            asked.client.used(event.usage)
                            asked.connection.notes += _summary(asked.calls, event)
                            is_counted = True
                        case _:
                            pass
                    yield event
        except GatewayFault:
            # What failed before it gave anything costs nothing.
            is_counted = is_counted or not asked.has_event
            raise
        finally:
            # A client that leaves before the end has used what it got, and its prompt.
            if not is_counted and asked.client.entry.tokens_per_day is not None:
                asked.client.used(Usage(estimate_tokens(asked.request), length // 4))

    def _failed(self, asked: _Asked, backend: Backend, fault: GatewayFault) -> None:
        if fault.kind not in _OF_UPSTREAM:
            return
        self._operation.metrics.failed(asked.route.model.name, fault.code or fault.kind)
        backend.connection.failed()
        _LOG.warning("request %s: %s", asked.head.id, fault.message)

    def _count(self, asked: _Asked) -> None:
        metrics, model = self._operation.metrics, asked.route.model.name
        metrics.ended(asked.wire.name, model, time.perf_counter() - asked.began)
        if asked.connection.status:
            metrics.answered(asked.wire.name, model, asked.connection.status)

    async def _refuse(self, connection: Connection, fault: GatewayFault) -> None:
        if connection.has_begun:
            # Nothing can be said any more; the connection ends without its last piece.
            raise fault
        wire = self._wire_of(connection)
        headers: list[tuple[bytes, bytes]] = []
        if fault.retry_after is not None:
            headers.append((b"retry-after", str(max(1, ceil(fault.retry_after))).encode()))
        if fault.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        self._operation.metrics.answered(wire.name, "", fault.status)
        connection.notes.append(fault.message)
        await connection.answer(fault.status, encode_json(wire.fault(fault)), _JSON, headers)

    async def _body(self, connection: Connection) -> dict[str, Any]:
        coding = connection.headers.get("content-encoding", "identity").lower()
        if coding != "identity":
            connection.more.append((b"connection", b"close"))
            words = f"the body is compressed ({coding[:40]}); send it as it is"
            raise GatewayFault("invalid_request", words, code="content_encoding")
        settings = self._settings
        return read_json(await connection.body(settings.max_body, settings.body_seconds))

    # --- Other routes ---

    async def _pass_on(self, connection: Connection, path: str, id: str) -> None:
        """Pass a request on; a model that is behind no address can answer none of these."""
        began = time.perf_counter()
        metrics = self._operation.metrics
        client = self._operation.clients.find(connection.headers)
        body = await self._body(connection)
        what = path.rpartition("/")[2]
        name = body.get("model", "")
        if not isinstance(name, str):
            raise GatewayFault("invalid_request", "model is not a text", field="model")
        if what == _EMBEDDINGS:
            self._check_named(name)
        route = self._route(client, name)
        model = route.model.name
        connection.notes.append(_way(name, model))
        with client.request(), metrics.streams.track_inprogress():
            try:
                await pass_on(connection, route, what, body, client.used)
            except GatewayFault as fault:
                _LOG.warning("request %s: %s", id, fault.message)
                raise self._shown(fault) from fault
            finally:
                metrics.ended(what, model, time.perf_counter() - began)
                if connection.status:
                    metrics.answered(what, model, connection.status)

    def _check_named(self, name: str) -> None:
        if all(name != known for known, _ in self._operation.config.names()):
            words = f"no model is called {name[:120]!r}; vectors of another one would be of no use"
            raise GatewayFault("not_found", words, field="model", code="model_not_found")

    def _count_tokens_on(self, wire: Wire) -> _Run:
        async def run(connection: Connection, path: str, id: str) -> None:
            client = self._operation.clients.find(connection.headers)
            # It is read as a request, so that what is none is refused as there.
            request = wire.read(await self._body(connection), connection.headers)
            self._route(client, request.model)
            is_openai = path.startswith("/v1/responses/")
            kind = {"object": "response.input_tokens"} if is_openai else {}
            await self._json(connection, {**kind, "input_tokens": estimate_tokens(request)})

        return run

    async def _models(self, connection: Connection, path: str, id: str) -> None:
        await self._json(connection, list_models(self._offered(connection), connection.headers))

    async def _model(self, connection: Connection, name: str) -> None:
        model = next((one for one in self._offered(connection) if one.name == name), None)
        if model is None:
            raise GatewayFault("not_found", f"no model {name[:120]!r}", code="model_not_found")
        is_anthropic = "anthropic-version" in connection.headers
        shown = anthropic_model(model) if is_anthropic else openai_model(model)
        await self._json(connection, shown)

    async def _tags(self, connection: Connection, path: str, id: str) -> None:
        await self._json(connection, tags(self._offered(connection)))

    async def _running(self, connection: Connection, path: str, id: str) -> None:
        await self._json(connection, running(self._offered(connection)))

    async def _show(self, connection: Connection, path: str, id: str) -> None:
        client = self._operation.clients.find(connection.headers)
        body = await self._body(connection)
        name = _named_model(body)
        route = self._route(client, name)
        await self._json(connection, show(_listed(name, route.model)))

    def _offered(self, connection: Connection) -> list[ListedModel]:
        client = self._operation.clients.find(connection.headers)
        names = self._operation.config.names()
        return [_listed(name, model) for name, model in names if client.may_see(model.name)]

    async def _version(self, connection: Connection, path: str, id: str) -> None:
        # Clients of Ollama ask whether it is new enough.
        await self._json(connection, {"version": VERSION, "callblocks": __version__})

    async def _hello(self, connection: Connection, path: str, id: str) -> None:
        await connection.answer(200, b"callblocks gateway\n", "text/plain; charset=utf-8", [])

    async def _health(self, connection: Connection, path: str, id: str) -> None:
        config = self._operation.config
        state = {"status": "ok", "version": __version__, "models": len(config.models)}
        await self._json(connection, state)

    async def _metrics(self, connection: Connection, path: str, id: str) -> None:
        # The counts name every model, so a key that may use only some of them does not do.
        self._operation.clients.find(connection.headers).check_unlimited_models()
        await connection.answer(200, self._operation.metrics.text(), METRICS_TYPE, [])

    async def _json(self, connection: Connection, value: object) -> None:
        await connection.answer(200, encode_json(value), _JSON, [])

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self._operation.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


_Run: TypeAlias = Callable[[Connection, str, str], Awaitable[None]]


def _named_model(body: dict[str, Any]) -> str:
    name = body.get("model") or body.get("name")
    if not isinstance(name, str):
        raise GatewayFault("invalid_request", "model is missing", field="model")
    return name


def _listed(name: str, model: GatewayModel) -> ListedModel:
    """Return a model as it is listed: a reply must fit into the smallest of its upstreams."""
    contexts = [one.entry.context for one in model.upstreams if one.entry.context]
    return ListedModel(name=name, created=_CREATED, context=min(contexts, default=None))


def _stopping() -> GatewayFault:
    return GatewayFault("overloaded", "the gateway stops", code="stopping")


# --- The log ---


def _log_request(connection: Connection, seconds: float) -> None:
    about = ", ".join(note[:300] for note in connection.notes)
    _LOG.info(
        "%s %s %s in %.2f s%s",
        connection.method,
        connection.path[:200],
        connection.status or "unanswered",
        seconds,
        f": {about}" if about else "",
    )


def _way(asked: str, name: str) -> str:
    """Return the name that a client uses, and the model that it leads to."""
    return name if asked == name else f"{asked[:120]} -> {name}"


def _summary(calls: int, end: Finished) -> Iterator[str]:
    """Yield what a reply had: its calls, its tokens, and what was mended."""
    if calls:
        yield f"{calls} call{'s' if calls > 1 else ''}"
    usage = end.usage
    if usage.tokens_in or usage.tokens_out:
        yield f"{usage.tokens_in} + {usage.tokens_out} tokens"
    yield from dict.fromkeys(remark.code for remark in end.remarks)


class _MethodFault(GatewayFault):
    """The path takes another method."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_request", message, code="method_not_allowed")
        self.status = 405


class _Stream:
    """A streamed reply: the writer of its wire, and the connection that it goes to."""

    def __init__(self, connection: Connection, writer: StreamWriter) -> None:
        self._connection = connection
        self._writer = writer
        self._has_begun = False
        self.kind = ""

    async def write(self, event: ReplyEvent) -> None:
        content = self._begin() + self._writer.write(event)
        if content:
            await self._connection.write(content, self.kind)

    async def fail(self, fault: GatewayFault) -> None:
        await self._connection.write(
            self._begin() + self._writer.fail(fault), self.kind, more=False
        )

    async def end(self) -> None:
        await self._connection.write(b"", self.kind, more=False)

    def keep_alive(self) -> tuple[bytes, str]:
        return self._begin() + self._writer.keep_alive(), self.kind

    def _begin(self) -> bytes:
        if self._has_begun:
            return b""
        self._has_begun = True
        return self._writer.begin()


# --- Requests that are passed on ---


_COMPLETIONS, _EMBEDDINGS = "completions", "embeddings"
_CHARACTERS_A_TOKEN = 4


async def pass_on(
    connection: Connection,
    route: Route,
    what: str,
    body: dict[str, Any],
    used: Callable[[Usage], None] = lambda _: None,
) -> None:
    """Answer with what the first upstream that answers says; `used` gets its estimated tokens.

    `what` is the end of the path: `completions` or `embeddings`.
    """
    *others, last = route.order("")
    for backend in (*others, last):
        try:
            async with connection.watched():
                await _pass_on_to(connection, backend, what, body, used)
            backend.connection.worked()
            return
        except ModelError as error:
            fault = fault_of(error)
            if connection.has_begun or backend is last or fault.kind == "invalid_request":
                raise fault from error
            backend.connection.failed()


async def _pass_on_to(
    connection: Connection,
    backend: Backend,
    what: str,
    body: dict[str, Any],
    used: Callable[[Usage], None],
) -> None:
    with backend.connection.held():
        model = (await backend.upstream()).model
        if not isinstance(model, ChatEndpoint | CompletionEndpoint):
            words = f"{model.name} is behind no address, so it has no {what}; use a chat"
            raise GatewayFault("invalid_request", words, field="model", code=f"no_{what}")
        async with model.stream.post(what, {**body, "model": model.name}) as arriving:
            kind = arriving.kind or "application/json"
            events = length = 0
            try:
                while piece := await arriving.piece():
                    events += piece.count(b"data:")
                    length += len(piece)
                    await connection.write(piece, kind)
            finally:
                text = body.get("prompt" if what == _COMPLETIONS else "input")
                prompt = len(json_text(text)) // _CHARACTERS_A_TOKEN
                # A stream has about one token in each event. A vector has none.
                written = (events or length // _CHARACTERS_A_TOKEN) if what == _COMPLETIONS else 0
                used(Usage(prompt, written))
            await arriving.finish()
            await connection.write(b"", kind, more=False)
