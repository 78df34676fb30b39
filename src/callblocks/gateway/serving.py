"""Serving a gateway until it is stopped.

    serve(operation, wires, ServeSettings(port=8787), told=print)

SIGINT and SIGTERM end it: replies that run get a few seconds, a second Ctrl-C ends it at once.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import socket
from collections.abc import Callable, Mapping

import msgspec
import uvicorn
from uvicorn.loops.auto import auto_loop_factory

from callblocks.core.errors import CallerError
from callblocks.core.hosts import is_loopback
from callblocks.core.text import brief
from callblocks.gateway.app import AppSettings, GatewayApp
from callblocks.gateway.limited_http import LimitedHttp
from callblocks.gateway.operation import Operation
from callblocks.gateway.wires.wire import Wire

__all__ = ("GatewayServer", "ServeSettings", "bind", "check_address", "serve")

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


def bind(settings: ServeSettings) -> socket.socket:
    """Return the socket that is listened at."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((settings.host.strip("[]"), settings.port))
    except (OSError, OverflowError) as error:
        bound.close()
        number = error.errno if isinstance(error, OSError) else None
        words = str(error)
        if number == errno.EADDRINUSE:
            words = "it is in use; name another with --port, or 0 for one that is free"
        place = f"{brief(settings.host)}, port {settings.port}"
        raise CallerError(f"cannot listen at {place}: {words}") from error
    bound.listen(2048)
    bound.setblocking(False)
    return bound


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
    bound = bind(settings)
    app = GatewayApp(operation, wires, settings.app)
    server = GatewayServer(app, lambda: told(address_of(bound)))
    with bound, asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(server.serve([bound]))


def address_of(bound: socket.socket) -> str:
    """Return the address of a bound socket, as a client writes it."""
    name: str = bound.getsockname()[0]
    port: int = bound.getsockname()[1]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
