"""The pages, and the files they are made of.

    GET /               the chats            GET /playground     GET /timeline?name=NAME
    GET /web/src/call-blocks.js              any file of web/ whose kind is known

They hold nothing that anybody said, so they need no token. No script and no style but ours runs on
them, and no other page may frame them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from callblocks.core.errors import CallblocksError
from callblocks.server.http.faults import ApiFault
from callblocks.server.service import service_of
from callblocks.views.html.page_markdown import web_folder

__all__ = (
    "DIAGRAM",
    "PAGES",
    "WEB",
    "diagram_policy",
    "is_page",
    "send_file",
    "show_inspector",
    "show_page",
    "show_playground",
    "show_settings",
)

PAGES = {
    "/": "index.html",
    "/playground": "playground.html",
    "/settings": "settings.html",
    "/timeline": "timeline.html",
}
"""The file of each page, by its address."""
WEB = "/web/"
"""Where the files of the pages are."""

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
_PATH = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9._-]*/)*[A-Za-z0-9_-][A-Za-z0-9._-]*")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; frame-src 'self' blob:; object-src 'self' blob:; font-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The frame that draws diagrams: Mermaid writes styles into its pictures. It has no origin, loads
# nothing, and runs what the page around it hands in.
DIAGRAM = "src/diagram.html"
_DIAGRAM_POLICY = (
    "default-src 'none'; script-src 'sha256-{}' blob:; style-src 'unsafe-inline'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
)
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    # Kept, but asked for again each time: after an update no page mixes old files and new ones.
    "cache-control": "no-cache",
}
_MISSING = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>callblocks</title>
<h1>The files of this page are missing</h1>
<p>The server works, but callblocks was installed without its folder <code>web</code>.
Install it again; in a checkout the folder stands beside <code>src</code>.</p>
<p>Programs find what there is at <a href="/api/openapi.json">/api/openapi.json</a>.</p>
</html>
"""


def is_page(path: str) -> bool:
    """Return whether an address is that of a page or of its files, which are equal for all."""
    return path in PAGES or path.startswith(WEB)


def diagram_policy(content: bytes) -> str:
    """Return the policy of the frame that draws diagrams: its own script, and what is handed in."""
    script = _SCRIPT.search(content)
    digest = hashlib.sha256(script[1] if script else b"").digest()
    return _DIAGRAM_POLICY.format(base64.b64encode(digest).decode())


async def show_page(request: Request) -> Response:
    """The page of the chats."""
    return await _page(request)


async def show_playground(request: Request) -> Response:
    """The page that shows how any text is read."""
    return await _page(request)


async def show_inspector(request: Request) -> Response:
    """The page that shows a timeline, block by block."""
    return await _page(request)


async def show_settings(request: Request) -> Response:
    """The page of models, tools and looks."""
    return await _page(request)


async def send_file(request: Request) -> Response:
    """A file of the pages."""
    sent = await _sent(request, request.path_params["path"])
    if sent is None:
        raise ApiFault("not_found")
    return sent


async def _page(request: Request) -> Response:
    sent = await _sent(request, PAGES[request.url.path])
    if sent is None:
        return Response(_MISSING, 500, _HEADERS, _TYPES[".html"])
    return sent


async def _sent(request: Request, path: str) -> Response | None:
    found = await service_of(request).read(lambda: _read(path))
    if found is None:
        return None
    content, tag = found
    headers = {**_HEADERS, "etag": tag}
    if path == DIAGRAM:
        headers["content-security-policy"] = diagram_policy(content)
    if tag in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers)
    return Response(content, 200, headers, _TYPES[Path(path).suffix])


def _read(path: str) -> tuple[bytes, str] | None:
    """Return a file and its tag; None where there is none, or none that is sent."""
    if not _PATH.fullmatch(path) or Path(path).suffix not in _TYPES:
        return None
    try:
        folder = web_folder()
        if not isinstance(folder, Path):
            return _packed(path)
        file = (folder / path).resolve(strict=True)
        state = file.stat()
        if not file.is_file() or not file.is_relative_to(folder):
            return None
        return _kept(file, state.st_mtime_ns, state.st_size)
    except (CallblocksError, OSError, RuntimeError):
        # A RuntimeError: some builds of Python lack lzma, by which the largest files are packed.
        return None


@lru_cache(256)
def _packed(path: str) -> tuple[bytes, str] | None:
    """Return a file of an archive, which does not change while the server runs."""
    file = web_folder() / path
    return _tagged(file.read_bytes()) if file.is_file() else None


@lru_cache(256)
def _kept(file: Path, changed: int, size: int) -> tuple[bytes, str]:
    """Return a file as it was when it was changed last."""
    return _tagged(file.read_bytes())


def _tagged(content: bytes) -> tuple[bytes, str]:
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
