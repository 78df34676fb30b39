"""The law of disconnects: a client that leaves at any byte ends the request to the model.

The upstream of these tests says a word every few milliseconds and never ends by itself: each
request to it that ends was ended by the gateway.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from support.gateways import RunningGateway, asking, running_gateway, until
from support.model_server import chat_chunk, event

REQUESTS = 1000
AT_ONCE = 25
# Behind the head of the answer, of about 300 bytes, stand the first events.
OFFSETS = 700


class Endless:
    """A server whose replies go on until the connection closes; `silent` ones say nothing."""

    def __init__(self) -> None:
        self.open = 0
        self.asked = 0
        self.is_silent = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        await reader.readexactly(length)
        self.asked += 1
        self.open += 1
        closed = asyncio.ensure_future(reader.read())
        try:
            if not self.is_silent:
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                    b"connection: close\r\n\r\n"
                )
            while not closed.done():
                if not self.is_silent:
                    writer.write(event(chat_chunk({"content": "word "})))
                await asyncio.wait([closed], timeout=0.005)
        finally:
            closed.cancel()
            self.open -= 1
            writer.close()


@contextmanager
def _endless() -> Generator[tuple[Endless, str], None, None]:
    endless, ready = Endless(), threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    ports: list[int] = []
    stop = asyncio.Event()

    async def run() -> None:
        server = await asyncio.start_server(endless.serve, "127.0.0.1", 0)
        loops.append(asyncio.get_running_loop())
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await stop.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert ready.wait(120)
    try:
        yield endless, f"http://127.0.0.1:{ports[0]}/v1#test"
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(120)


async def _leave_after(port: int, count: int, *, streams: bool) -> None:
    """Ask, take so many bytes of the answer, and go."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(asking(stream=streams)).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}"
    writer.write(f"{head}\r\n\r\n".encode() + body)
    if count:
        await reader.readexactly(count)
    else:
        await writer.drain()
    # An abort, as of a program that is ended: there is no polite close.
    writer.transport.abort()


async def _leave_many(gateway: RunningGateway, count: int, *, streams: bool) -> None:
    places = asyncio.Semaphore(AT_ONCE)

    async def leave(number: int) -> None:
        async with places:
            taken = number % OFFSETS if streams else 0
            await _leave_after(gateway.port, taken, streams=streams)

    async with asyncio.timeout(120):
        await asyncio.gather(*(leave(number) for number in range(count)))


def _sockets() -> int:
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return sum(os.path.islink(link) and "socket" in os.readlink(link) for link in links)


@pytest.mark.parametrize(
    ("streams", "is_silent", "count"),
    [(True, False, REQUESTS), (True, True, 100), (False, False, 100)],
)
def test_a_client_that_leaves_leaves_nothing_behind(
    streams: bool, is_silent: bool, count: int
) -> None:
    with _endless() as (endless, spec), running_gateway((spec,)) as gateway:
        endless.is_silent = is_silent
        # The first request opens what stays open.
        asyncio.run(_leave_many(gateway, 1, streams=False))
        until(lambda: endless.open == 0)
        tasks, sockets = gateway.tasks(), _sockets()
        taken = count if not is_silent else 0
        asyncio.run(_leave_many(gateway, count, streams=streams and bool(taken)))
        until(lambda: endless.open == 0)
        until(lambda: gateway.tasks() <= tasks)
        until(lambda: _sockets() <= sockets)
        streams_open = "callblocks_gateway_open_streams 0.0"
        until(lambda: streams_open in gateway.client.get("/metrics").text)
