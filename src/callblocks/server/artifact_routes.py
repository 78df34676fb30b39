"""Kept files by their digest, whole or a part of them.

    GET /api/artifacts/4f0c…e1?name=report.pdf

The content of a digest never changes, so it may be kept by the browser for ever. It is checked
against its digest whenever it is read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from callblocks.server.http.protocol import drop
from callblocks.server.http.request import range_of, read_query
from callblocks.server.service import service_of
from callblocks.timeline.artifacts.media_types import mime_of

__all__ = (
    "ArtifactQuery",
    "file_headers",
    "send_artifact",
)

# --- Headers of a kept file, so that a browser shows it and does nothing else with it ---
#
# Pictures of pixels, PDF and plain text are shown; everything else is saved as a file. The type is
# told by the content: neither its name nor whoever made it is believed.

_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TEXTS = ("text/plain", "text/markdown", "text/csv", "application/json", "application/yaml")
_PDF = "application/pdf"
_ODD = re.compile(r"[^A-Za-z0-9 ._()+-]")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_LONGEST = 150
_NO_SCRIPTS = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'"
# A browser's own viewer of PDF does not work in a sandbox.
_VIEWER = "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; frame-ancestors 'self'"


def file_headers(name: str, digest: str, content: bytes) -> dict[str, str]:
    """The headers of a file that is sent under a name."""
    shown = _shown_type(mime_of(name, content))
    kind = "inline" if shown else "attachment"
    return {
        "content-type": shown or "application/octet-stream",
        "content-disposition": f"{kind}; {_file_name(name or digest[:16])}",
        "content-security-policy": _VIEWER if shown == _PDF else _NO_SCRIPTS,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "accept-ranges": "bytes",
        "cache-control": "private, max-age=31536000, immutable",
        "etag": f'"{digest}"',
    }


def _shown_type(mime: str) -> str:
    if mime in _PICTURES or mime == _PDF:
        return mime
    return "text/plain; charset=utf-8" if mime in _TEXTS else ""


def _file_name(name: str) -> str:
    """The name for all browsers, and for those that know more than ASCII."""
    last = _UNSEEN.sub("", name.replace("\\", "/").rpartition("/")[2]).strip(". ") or "file"
    stem, dot, ending = last.rpartition(".")
    if dot and stem and len(ending) <= 20:
        last = f"{stem[: _LONGEST - len(ending)]}.{ending}"
    last = last[:_LONGEST]
    plain = _ODD.sub("_", last)
    return f"filename=\"{plain}\"; filename*=UTF-8''{quote(last, safe='')}"


# --- Kept files by their digest, whole or a part of them ---

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
