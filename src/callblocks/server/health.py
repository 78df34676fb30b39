"""Whether the server works, and what it counted.

    GET /api/health     200 {"status": "ok", …}, or 503 where nothing can be kept
    GET /metrics        for Prometheus

Without the token, the state of health says nothing but that.
"""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks import __version__
from callblocks.server.faults import answer_json
from callblocks.server.guard import knows_token
from callblocks.server.health_check import State
from callblocks.server.metrics import METRICS_TYPE
from callblocks.server.service import service_of

__all__ = ("Health", "show_health", "show_metrics")


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    """`ok`, or what is wrong: the store does not answer, or the disk takes nothing more."""

    status: State
    version: str = ""
    model: str = ""
    sdk_version: int = 0
    running_turns: int = 0


async def show_health(request: Request) -> Response:
    """Whether the server works."""
    service = service_of(request)
    status = await service.health.state()
    health = Health(status)
    if knows_token(request, service.settings.token):
        health = Health(
            status,
            __version__,
            service.host.offered[0].name,
            service.settings.sdk_version,
            len(service.chats),
        )
    return answer_json(health, 200 if status == "ok" else 503)


async def show_metrics(request: Request) -> Response:
    """All counts, as Prometheus reads them."""
    headers = {"content-type": METRICS_TYPE, "cache-control": "no-store"}
    return Response(service_of(request).metrics.text(), 200, headers)
