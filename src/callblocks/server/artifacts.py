"""Kept files by their digest, whole or a part of them.

    GET /api/artifacts/4f0c…e1?name=report.pdf

The content of a digest never changes, so it may be kept by the browser for ever. It is checked
against its digest whenever it is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from callblocks.server.dropping import drop
from callblocks.server.file_types import file_headers
from callblocks.server.ranges import range_of
from callblocks.server.reading import read_query
from callblocks.server.service import service_of

__all__ = ("ArtifactQuery", "send_artifact")

_PIECE = 256 * 1024


class ArtifactQuery(msgspec.Struct, frozen=True):
    """The name that the file is sent under."""

    name: Annotated[str, msgspec.Meta(max_length=1000)] = ""


async def send_artifact(request: Request) -> Response:
    """A kept file."""
    service, digest = service_of(request), request.path_params["digest"]
    name = read_query(request, ArtifactQuery).name
    content = await service.read(lambda: service.host.artifacts.read(digest))
    headers = file_headers(name, digest, content)
    if _has_it(request.headers, headers["etag"]):
        return Response(None, 304, headers)
    asked = range_of(request.headers.get("range", ""), len(content))
    if asked is None or request.headers.get("if-range", headers["etag"]) != headers["etag"]:
        return _Content(memoryview(content), 200, headers, service.settings.send_timeout)
    headers["content-range"] = f"bytes {asked.start}-{asked.stop - 1}/{len(content)}"
    part = memoryview(content)[asked.start : asked.stop]
    return _Content(part, 206, headers, service.settings.send_timeout)


def _has_it(headers: Headers, etag: str) -> bool:
    known = {tag.strip().removeprefix("W/") for tag in headers.get("if-none-match", "").split(",")}
    return etag in known or "*" in known


class _Content(Response):
    """Sent piece by piece, at the pace of the client; one that takes nothing is dropped."""

    def __init__(
        self, content: memoryview, status: int, headers: Mapping[str, str], patience: float
    ) -> None:
        super().__init__(None, status, {**headers, "content-length": str(len(content))})
        self._content = content
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **status})
        size = 0 if scope["method"] == "HEAD" else len(self._content)
        try:
            for start in range(0, size, _PIECE):
                piece = bytes(self._content[start : start + _PIECE])
                async with asyncio.timeout(self._patience):
                    message = {"type": "http.response.body", "body": piece, "more_body": True}
                    await send(message)
        except TimeoutError:
            await drop(scope, receive)
            return
        await send({"type": "http.response.body", "body": b""})
