"""The servers that `serving` and `load` measure: python -m bench.serving_app turns|bare|paced

Each prints its port, and serves until it is ended.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from time import monotonic

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from callblocks.models.model import Piece, Request, Spoken
from callblocks.server.app import Server, bind, make_app
from callblocks.server.settings import ServerSettings
from callblocks.session.host import Host, HostSettings

__all__ = ("PACE", "PACED_WORDS", "WORDS", "reply_text")

WORDS = 500
PACE = 0.2
PACED_WORDS = 75
_PIECES = [f"word{at} " for at in range(WORDS)]


def reply_text() -> str:
    """What every stream says."""
    return "".join(_PIECES)


class Words:
    """A model that says a word at a time, and lets others speak in between."""

    name = "words"
    writes_results = False

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """One word after another."""
        for piece in _PIECES:
            await asyncio.sleep(0)
            yield Spoken(piece)

    async def close(self) -> None:
        """There is nothing to close."""


class Stamped:
    """A model that says five words a second, each the moment at which it was said."""

    name = "stamped"
    writes_results = False

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """One moment after another."""
        for _ in range(PACED_WORDS):
            await asyncio.sleep(PACE)
            yield Spoken(f"{monotonic():.6f} ")

    async def close(self) -> None:
        """There is nothing to close."""


async def _bare(request: HttpRequest) -> Response:
    await request.body()

    async def events() -> AsyncGenerator[bytes, None]:
        yield _event({"type": "start", "messageId": "m"})
        for piece in _PIECES:
            await asyncio.sleep(0)
            yield _event({"type": "text-delta", "id": "t", "delta": piece})
        yield _event({"type": "finish"})

    return StreamingResponse(events(), media_type="text/event-stream")


def _event(chunk: dict[str, str]) -> bytes:
    return b"data: %s\n\n" % json.dumps(chunk).encode()


def _turns(folder: Path, model: Words | Stamped) -> Starlette:
    workspace = folder / "work"
    workspace.mkdir()
    settings = HostSettings(state=folder / "state", workspace=workspace, model=model)
    return make_app(_SETTINGS, lambda: Host(settings))


_SETTINGS = ServerSettings(port=0, no_token=True, rate=1e6, burst=100_000)


def main() -> None:
    """Serve what is named."""
    with bind(_SETTINGS) as bound, tempfile.TemporaryDirectory() as folder:
        bound.listen(1000)
        print(bound.getsockname()[1], flush=True)
        models: dict[str, Words | Stamped] = {"turns": Words(), "paced": Stamped()}
        if model := models.get(sys.argv[1]):
            Server(_SETTINGS, _turns(Path(folder), model)).run([bound])
        else:
            app = Starlette(routes=[Route("/api/chat", _bare, methods=["POST"])])
            uvicorn.Server(uvicorn.Config(app, log_level="error")).run([bound])


if __name__ == "__main__":
    main()
