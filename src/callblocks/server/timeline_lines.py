"""A timeline as lines of JSON, as `callblocks timeline export` writes them and `import` reads them.

GET /api/timelines/NAME/lines
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from callblocks.server.service import service_of
from callblocks.timeline.stores.export import export_lines

__all__ = ("JSON_LINES", "send_lines")

JSON_LINES = "application/jsonl"
_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


async def send_lines(request: Request) -> Response:
    """A timeline as lines of JSON, with every hash, to be kept or moved elsewhere."""
    service, name = service_of(request), request.path_params["name"]
    await service.existing(name)
    lines = await service.read(lambda: b"".join(export_lines(service.host.store, name)))
    return Response(lines, 200, _HEADERS, JSON_LINES)
