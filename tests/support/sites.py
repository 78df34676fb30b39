"""HTTP servers on loopback, which stand for the public network.

    async with Site(lambda asked: ok(b"hello")) as site:
        net = Net({"public.test": [["93.184.215.14"]]}, {"93.184.215.14": site.port})
        await net.client().request("http://public.test/")

The client, its guard and its checks are those of production. Only two things are put in
their place: who answers for a name, and to which local port a public address is wired.
Every other address is connected for real, so that a hole in the guard reaches its goal.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

import httpcore2

from callblocks.guard.net.client import Client, NetLimits

__all__ = ("PUBLIC", "SECOND", "Asked", "Net", "Site", "ok", "redirect")

PUBLIC = "93.184.215.14"
SECOND = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"


class Asked:
    """A request as a server saw it."""

    def __init__(self, head: bytes, body: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ")
        pairs = [line.split(": ", 1) for line in lines if line]
        self.headers = {name.lower(): value for name, value in pairs}
        self.body = body


Answer = Callable[[Asked], bytes | AsyncIterator[bytes]]


def ok(body: bytes = b"", status: int = 200, **headers: str) -> bytes:
    """A whole response; `content_type="…"` is the header `content-type`."""
    given = {"content-length": str(len(body)), **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
    head = "\r\n".join((f"HTTP/1.1 {status} Whatever", *lines, "", ""))
    return head.encode("latin-1") + body


def redirect(location: str, status: int = 302, **headers: str) -> bytes:
    """A response that sends the client on."""
    return ok(b"", status, location=location, **headers)


class Site:
    """A server that answers as told and remembers what it was asked, and how often it was met."""

    def __init__(self, answer: Answer | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.met = 0
        self.port = 0
        self._answer = answer or (lambda asked: ok(b"the secret"))
        self._tls = tls
        self._open: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Site:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.met += 1
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._speak(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()
            self._open.discard(task)

    async def _speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = Asked((await reader.readuntil(b"\r\n\r\n"))[:-4], b"")
        asked.body = await reader.readexactly(int(asked.headers.get("content-length", 0)))
        self.asked.append(asked)
        answer = self._answer(asked)
        if isinstance(answer, bytes):
            writer.write(answer)
            await writer.drain()
            return
        async for piece in answer:
            writer.write(piece)
            await writer.drain()


class Net(httpcore2.AsyncNetworkBackend):
    """A small internet. `names` has for each name its answers, one list per time it is asked.

    `wires` leads a public address to a local port. `made` are the connections that the guard
    let through, `resolved` the names that were looked up.
    """

    def __init__(
        self,
        names: Mapping[str, Sequence[Sequence[str]]] | None = None,
        wires: Mapping[str, int] | None = None,
    ) -> None:
        self._names = names or {}
        self._wires = wires or {}
        self.made: list[tuple[str, int]] = []
        self.resolved: list[str] = []

    def client(self, *, allow: Iterable[str] = (), **limits: Any) -> Client:
        """A client in this internet; limits are short, so that a failing test ends."""
        times = {"deadline": 5.0, "connect": 2.0, "read": 2.0, **limits}
        return Client(NetLimits(**times), allow, self.resolve, backend=self)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        answers = self._names.get(host)
        if answers is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        self.resolved.append(host)
        return answers[min(self.resolved.count(host), len(answers)) - 1]

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *rest: Any, **more: Any
    ) -> httpcore2.AsyncNetworkStream:
        self.made.append((host, port))
        backend: Any = httpcore2.AnyIOBackend()
        if host in self._wires:
            host, port = "127.0.0.1", self._wires[host]
        return await backend.connect_tcp(host, port, timeout)
