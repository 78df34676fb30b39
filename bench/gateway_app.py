"""The servers that `gateway` measures: python -m bench.gateway_app upstream|bare UPSTREAM-PORT

Each prints its port, and serves until it is ended. The upstream streams chat completions whose
pieces are moments of its clock: paced, or as fast as they are taken where `seed` says so.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncGenerator
from time import monotonic

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

__all__ = ("FAST_PIECES", "PACE", "PACED_PIECES")

PACE = 0.2
PACED_PIECES = 10
FAST_PIECES = 100


def _chunk(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: %s\n\n" % json.dumps({**head, "choices": [choice]}).encode()


async def _complete(request: Request) -> Response:
    asked = await request.json()
    is_fast = asked.get("seed") == 1

    async def events() -> AsyncGenerator[bytes, None]:
        yield _chunk({"role": "assistant", "content": ""})
        for _ in range(FAST_PIECES if is_fast else PACED_PIECES):
            yield _chunk({"content": f"{monotonic():.6f}; "})
            await asyncio.sleep(0 if is_fast else PACE)
        yield _chunk({}, "stop")
        yield b"data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


async def _pass_on(request: Request) -> Response:
    body = await request.body()
    client: httpx2.AsyncClient = request.app.state.client

    async def pieces() -> AsyncGenerator[bytes, None]:
        headers = {"content-type": "application/json"}
        async with client.stream("POST", request.url.path, content=body, headers=headers) as reply:
            async for piece in reply.aiter_raw():
                yield piece

    return StreamingResponse(pieces(), media_type="text/event-stream")


def main(kind: str, upstream: str = "") -> None:
    """Serve one of them."""
    run = _complete if kind == "upstream" else _pass_on
    app = Starlette(routes=[Route("/v1/chat/completions", run, methods=["POST"])])
    if kind == "bare":
        # The upstream ends what is idle after five seconds: a request must not meet that.
        limits = httpx2.Limits(max_connections=None, keepalive_expiry=2.0)
        base = f"http://127.0.0.1:{upstream}"
        app.state.client = httpx2.AsyncClient(base_url=base, limits=limits, timeout=60)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="error", access_log=False, loop="uvloop")
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
