"""The chat server in a thread, models that follow their prompt, and HTTP clients."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from callblocks.models.model import Piece, Request, Spoken, Stopped
from callblocks.server.app import Server, bind, make_app
from callblocks.server.settings import ServerSettings
from callblocks.session.host import Host
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.command_home import fence
from support.scripted_sessions import some_host

__all__ = (
    "Noted",
    "Running",
    "Served",
    "Talker",
    "chunks",
    "client_of",
    "posted",
    "running_server",
    "said",
    "served_host",
    "settings_of",
)


class Talker:
    """`slow …` waits for the gate, `note …` calls the tool, `long N` says N words,
    `wide N` N kilobytes, others echo."""

    writes_results = False

    def __init__(self) -> None:
        self.name = "talker"
        self.gate = threading.Event()
        self.closed = False

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        for piece in self._pieces(request):
            while piece is None and not self.gate.is_set():
                await asyncio.sleep(0.002)
            await asyncio.sleep(0)
            yield Spoken(piece or "")
        yield Stopped("stop")

    def _pieces(self, request: Request) -> Iterable[str | None]:
        word, _, rest = request.prompt.partition(" ")
        if word in ("note", "twice", "hang"):
            return _CALLS[word](rest) if request.round == 1 else ("Done.",)
        if word == "slow":
            return ("One. ", None, "Two. ", rest)
        if word == "long":
            return ("word " for _ in range(int(rest)))
        if word == "wide":
            return (f"{'word ' * 200}{at} " for at in range(int(rest)))
        return (f"You said: {request.prompt}",)

    async def close(self) -> None:
        self.closed = True


_CALLS: dict[str, Callable[[str], Iterable[str]]] = {
    "note": lambda text: ("I note it.\n\n", fence("note", text=text)),
    "twice": lambda text: [fence("note", f"c{at}", text=f"{text} {at}") for at in (1, 2)],
    "hang": lambda text: ("It takes long.\n\n", fence("hang")),
}


class Noted:
    """What the tool `note` was called with, also in a file."""

    def __init__(self, file: Path | None = None) -> None:
        self.texts: list[str] = []
        self._file = file

    def registry(self) -> Registry:
        @tool
        def note(text: str) -> str:
            """Write a note down.

            Args:
                text: what to write
            """
            self.texts.append(text)
            if self._file is not None:
                with self._file.open("a") as file:
                    file.write(f"{text}\n")
            return "noted"

        return Registry([note])


class Served:
    """A server that runs; `client` has its address."""

    def __init__(self, port: int, server: Server, client: httpx2.Client) -> None:
        self.port = port
        self.server = server
        self.client = client

    @property
    def service(self) -> Any:
        return self.server.config.app.state.service  # pyright: ignore[reportAttributeAccessIssue] the app of a test

    def say(self, text: str, chat: str = "trip", **more: Any) -> httpx2.Response:
        """Post a message and read its stream to the end."""
        return self.client.post("/api/chat", json=posted(text, chat), **more)

    @contextmanager
    def streaming(self, text: str, chat: str = "trip", **more: Any) -> Generator[Any]:
        """Post a message; the stream as chunks that arrive."""
        with self.client.stream("POST", "/api/chat", json=posted(text, chat), **more) as response:
            assert response.status_code == 200, response.read()
            yield lines(response.iter_lines())

    def raw(self, request: bytes) -> bytes:
        """Send bytes, and read until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as connection:
            connection.sendall(request)
            answer = b""
            while more := connection.recv(65536):
                answer += more
        return answer


class Running(Served):
    """One with a talker."""

    def __init__(self, served: Served, model: Talker, noted: Noted) -> None:
        super().__init__(served.port, served.server, served.client)
        self.model = model
        self.noted = noted


def posted(text: str, chat: str = "trip") -> dict[str, Any]:
    """The body of a message."""
    part = {"type": "text", "text": text}
    return {"id": chat, "messages": [{"id": "m1", "role": "user", "parts": [part]}]}


def lines(given: Iterable[str]) -> Generator[dict[str, Any]]:
    """The chunks of a stream, as they arrive."""
    for line in given:
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data: "))


def chunks(response: httpx2.Response) -> list[dict[str, Any]]:
    """The chunks of a stream that is over."""
    assert response.status_code == 200, response.text
    assert response.text.endswith("data: [DONE]\n\n")
    return list(lines(response.text.splitlines()))


def said(given: Iterable[dict[str, Any]]) -> str:
    """The prose of chunks."""
    return "".join(chunk["delta"] for chunk in given if chunk["type"] == "text-delta")


@contextmanager
def running_server(
    folder: Path, *, host: dict[str, Any] | None = None, **settings: Any
) -> Generator[Running]:
    """A server on a free port, and a host in a folder, whose model is a talker."""
    model, noted = Talker(), Noted()

    def open_host() -> Host:
        return some_host(folder, model, tools=noted.registry(), **(host or {}))

    with served_host(open_host, **settings) as served:
        try:
            yield Running(served, model, noted)
        finally:
            model.gate.set()


@contextmanager
def served_host(open_host: Callable[[], Host], **settings: Any) -> Generator[Served]:
    """A server on a free port for any host; it is ended gracefully."""
    known = settings_of(**settings)
    bound = bind(known)
    began = threading.Event()
    server = Server(known, make_app(known, open_host), began.set)
    thread = threading.Thread(target=_run, args=(server, bound))
    thread.start()
    port = bound.getsockname()[1]
    client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)
    try:
        assert began.wait(120)
        yield Served(port, server, client)
    finally:
        client.close()
        server.should_exit = True
        thread.join(120)
        bound.close()
        assert not thread.is_alive()


def settings_of(**settings: Any) -> ServerSettings:
    """Settings of a server under test: a free port, and no token unless the test gives one."""
    has_token = bool(settings.get("token"))
    return ServerSettings(**{"port": 0, "grace": 0.2, "no_token": not has_token, **settings})


def client_of(address: str) -> httpx2.Client:
    """A client of a server that printed its address, with the token in it."""
    base, _, token = address.partition("/#token=")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx2.Client(base_url=base, headers=headers, timeout=120)


def _run(server: Server, bound: socket.socket) -> None:
    with asyncio.Runner(loop_factory=_loops()) as runner:
        runner.run(server.serve([bound]))


def _loops() -> Callable[[], asyncio.AbstractEventLoop]:
    from uvicorn.loops.auto import auto_loop_factory

    return auto_loop_factory()
