"""`python -m bench.web`: what it costs to fetch a page of the web and to read it, by its kind.

The server is on this machine, and so the network costs next to nothing. The first page of a call
starts the process that reads; the next ones find it there. A kept page is not asked for again.
"""

from __future__ import annotations

import asyncio
import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.timing import print_table
from callblocks.guard.files.root import Root
from callblocks.guard.net.client import Client
from callblocks.toolkits.web.web_tools import WebSettings, web_tools
from callblocks.tools.tool import Context, Tool

__all__ = ("main",)

ROUNDS = 5
MANY = 8

_WORDS = "High water at the harbour is at six, and low water a little after noon"
_MENU = "<nav>" + "".join(f"<a href=/{at}>Page {at}</a>" for at in range(60)) + "</nav>"


def main() -> None:
    """Fetch pages of each kind, alone and many in one call, and print the table."""
    rows = asyncio.run(_rows())
    head = ["kind", "kB", "one page", "each of 8", "kept"]
    print_table("web_fetch, in milliseconds", head, rows)


async def _rows() -> list[list[str]]:
    async with await asyncio.start_server(_serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with (
            tempfile.TemporaryDirectory(prefix="callblocks-bench-") as folder,
            Root(folder) as root,
        ):
            settings = WebSettings(cache=Path(folder) / "pages")
            client = Client(allow=(f"127.0.0.1:{port}",))
            _, fetch = web_tools(root, client, settings=settings)
            return [await _row(fetch, f"http://127.0.0.1:{port}", kind) for kind in _PAGES]


async def _row(fetch: Tool, site: str, kind: str) -> list[str]:
    one = [await _time(fetch, [f"{site}/{kind}/{at}"]) for at in range(ROUNDS)]
    many = [
        await _time(fetch, [f"{site}/{kind}/{at}-{part}" for part in range(MANY)]) / MANY
        for at in range(ROUNDS)
    ]
    await _time(fetch, [f"{site}/{kind}/kept"])
    kept = [await _time(fetch, [f"{site}/{kind}/kept"]) for _ in range(ROUNDS)]
    size = f"{len(_PAGES[kind][1]()) / 1_000:,.0f}"
    return [kind, size, *(f"{median(times) * 1_000:,.1f}" for times in (one, many, kept))]


async def _time(fetch: Tool, urls: list[str]) -> float:
    began = perf_counter()
    answer = await fetch(urls=urls, context=Context())
    seconds = perf_counter() - began
    assert all("content" in page for page in answer["ret"].values()), answer["ret"]
    return seconds


def _article(count: int) -> bytes:
    said = "".join(f"<p>{_WORDS}, says line {at}.</p>" for at in range(count))
    head = '<title>Tides</title><meta property="article:published_time" content="2024-05-01">'
    body = f"{_MENU}<article><h1>Tides</h1>{said}</article><footer>The end</footer>"
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()


def _table() -> bytes:
    rows = "".join(f"<tr><td>{at}</td><td>06:{at % 60:02}</td></tr>" for at in range(1_000))
    return f"<html><body><h1>Tides</h1><table>{rows}</table></body></html>".encode()


def _pdf() -> bytes:
    """Ten pages of forty lines."""
    lines = "".join(f"({_WORDS}) Tj 0 -14 Td " for _ in range(40))
    said = f"BT /F1 10 Tf 40 780 Td {lines} ET".encode()
    kids = b" ".join(b"%d 0 R" % (4 + 2 * at) for at in range(10))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count 10 >>" % kids,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for at in range(10):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R /MediaBox [0 0 612 792]"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * at)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(said), said))
    body, places = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n"
    count = len(places) + 1
    return body + end % (count, table, count, len(body)) + b"%%EOF\n"


_PAGES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "article": ("text/html", lambda: _article(40)),
    "long-article": ("text/html", lambda: _article(2_000)),
    "table": ("text/html", _table),
    "pdf": ("application/pdf", _pdf),
    "text": ("text/plain", lambda: f"{_WORDS}.\n".encode() * 1_000),
}


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    request = await reader.readuntil(b"\r\n\r\n")
    kind = request.split(b" ", 2)[1].decode().split("/")[1]
    if kind in _PAGES:
        mime, make = _PAGES[kind]
        body = gzip.compress(make(), 1)
        head = (
            f"200 OK\r\ncontent-type: {mime}\r\ncontent-encoding: gzip\r\ncache-control: max-age=60"
        )
    else:
        head, body = "404 Not Found", b""
    writer.write(f"HTTP/1.1 {head}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    writer.close()


if __name__ == "__main__":
    main()
