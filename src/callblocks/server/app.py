"""The application: guarded, limited and measured routes around one host.

    app = make_app(ServerSettings(), lambda: Host(settings))

The host is opened when the application starts, in its event loop, and closed when it ends.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware

from callblocks.server.faults import HANDLED
from callblocks.server.guard import Guard
from callblocks.server.limits import RateLimit
from callblocks.server.metrics import Measured, Metrics
from callblocks.server.routes import ENDPOINTS
from callblocks.server.service import Service
from callblocks.server.settings import ServerSettings
from callblocks.session.host import Host

__all__ = ("make_app",)


def make_app(settings: ServerSettings, open_host: Callable[[], Host]) -> Starlette:
    """The application; settings that must not be served with are a `CallerError`."""
    settings.check()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        host = open_host()
        try:
            app.state.service = service = Service(settings, host, metrics)
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
