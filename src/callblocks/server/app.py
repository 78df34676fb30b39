"""The application: guarded, limited and measured routes around one host.

    app = make_app(ServerSettings(), lambda: Host(settings))

The host is opened when the application starts, in its event loop, and closed when it ends.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from uvicorn.loops.auto import auto_loop_factory

from callblocks.core.errors import CallerError
from callblocks.server.access import Guard
from callblocks.server.chats.chats import Chats
from callblocks.server.http.faults import HANDLED
from callblocks.server.http.metrics import Measured, Metrics
from callblocks.server.http.protocol import limited_http
from callblocks.server.http.rate_limits import RateLimit
from callblocks.server.routes import ENDPOINTS
from callblocks.server.service import MakeChats, Service
from callblocks.server.settings import ServerSettings
from callblocks.session.host import Host

__all__ = (
    "NO_TOKEN",
    "Server",
    "bind",
    "make_app",
    "serve",
)


def make_app(
    settings: ServerSettings, open_host: Callable[[], Host], make_chats: MakeChats = Chats
) -> Starlette:
    """The application; settings that must not be served with are a `CallerError`.

    `make_chats` says where turns run: in this process, unless it is a replica of a cluster.
    """
    settings.check()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        host = open_host()
        try:
            app.state.service = service = Service(settings, host, metrics, make_chats)
            try:
                yield
            finally:
                await service.end()
                for model in service.models:
                    await model.close()
        finally:
            host.close()

    app = Starlette(
        routes=[endpoint.route() for endpoint in ENDPOINTS],
        middleware=[
            Middleware(Measured, metrics=metrics),
            # First who may ask at all: what a foreign page sends uses up nobody's requests.
            Middleware(Guard, settings=settings),
            Middleware(RateLimit, settings=settings),
        ],
        exception_handlers=HANDLED,
        lifespan=lifespan,
    )
    # A redirect would go to whatever host the client named.
    app.router.redirect_slashes = False
    return app


# --- Serving until stopped ---
#
#     serve(ServerSettings(), lambda: Host(settings))
#
# SIGINT and SIGTERM end the server. Streams and turns end first, within a grace period, so that
# every client is notified; a second Ctrl-C ends the server at once.

_LOG = logging.getLogger("callblocks.server")
NO_TOKEN = (
    "no token: every user and program of this machine can read the chats, start turns and approve"
    " their calls"
)
"""Said at the start of a server that lets everybody in."""

_LAST_SECONDS = 5

_LOOK_AFTER = 10_000, 5, 5
"""When the collector of garbage looks. By itself it looks after every 700 new objects, and takes
a fifth of a busy server's time."""
_SWITCH = 0.0005
"""Seconds after which a thread that computes lets the event loop have the interpreter; by itself
it is ten times as much."""


class Server(uvicorn.Server):
    """Ends streams and turns before it waits for connections to end; `told` when it answers."""

    def __init__(
        self, settings: ServerSettings, app: Starlette, told: Callable[[], None] = lambda: None
    ) -> None:
        config = uvicorn.Config(
            app,
            http=limited_http(settings),
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
        # What is here now stays.
        gc.freeze()
        gc.set_threshold(*_LOOK_AFTER)
        sys.setswitchinterval(_SWITCH)
        self._told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what runs, then all connections."""
        ending = asyncio.ensure_future(self._app.state.service.end())
        while not ending.done() and not self.force_exit:
            await asyncio.wait([ending], timeout=0.1)
        ending.cancel()
        await super().shutdown(sockets)


def bind(settings: ServerSettings) -> socket.socket:
    """A socket at the address; one that cannot be had is a `CallerError`."""
    settings.check()
    host = settings.host.strip("[]")
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, settings.port))
    except (OSError, OverflowError) as error:
        bound.close()
        words = getattr(error, "strerror", None) or str(error)
        raise CallerError(f"{host}, port {settings.port}: {words}; choose another") from error
    return bound


def serve(
    settings: ServerSettings,
    open_host: Callable[[], Host],
    told: Callable[[str], None] = lambda address: None,
    make_chats: MakeChats = Chats,
) -> None:
    """Serve until stopped; `told` gets the address once the server answers.

    What must not, or cannot, be served is a `CallblocksError` before that. `make_chats` is that of
    `make_app`.
    """
    with (
        bind(settings) as bound,
        asyncio.Runner(loop_factory=auto_loop_factory()) as runner,
    ):
        # Only now it is known that the server may do without one.
        if not settings.token:
            _LOG.warning(NO_TOKEN)
        runner.run(_serve(settings, open_host, bound, lambda: told(_address(bound)), make_chats))


async def _serve(
    settings: ServerSettings,
    open_host: Callable[[], Host],
    bound: socket.socket,
    told: Callable[[], None],
    make_chats: MakeChats,
) -> None:
    # Opened here, not by the application: what is wrong with it is raised to the caller.
    host = open_host()
    await Server(settings, make_app(settings, lambda: host, make_chats), told).serve([bound])


def _address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
