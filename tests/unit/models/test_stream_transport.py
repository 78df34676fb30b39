"""The transport of replies: framing, connections that are kept, and what breaks one."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

import httpx2
import pytest
import uvloop

from callblocks.models.openai.stream_transport import (
    StreamFault,
    StreamTransport,
    UnreadableReply,
)

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = []


@pytest.fixture(autouse=True, params=[asyncio.new_event_loop, uvloop.new_event_loop])
def event_loops(request: pytest.FixtureRequest) -> Iterator[None]:
    LOOPS.append(request.param)
    yield
    LOOPS.pop()


class Host:
    """A server that sends its answers as they stand, one for each request; `None` closes."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.connections = 0
        self.left = asyncio.Event()
        self.tasks: set[asyncio.Task[None] | None] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.tasks.add(asyncio.current_task())
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                self.requests.append(head + await reader.readexactly(size))
                answer = self.answers.pop(0)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
                if b"\r\n\r\n" in answer and b"chunked" not in answer and b"length" not in answer:
                    break
        except (asyncio.IncompleteReadError, OSError):
            self.left.set()
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


def run(host: Host, use: Callable[[StreamTransport, httpx2.URL], Awaitable[None]]) -> None:
    async def whole() -> None:
        server = await asyncio.start_server(host.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        transport = StreamTransport(60, None)
        await use(transport, httpx2.URL(f"http://127.0.0.1:{port}/v1/x?a=b"))
        transport.close()
        server.close()
        await asyncio.gather(*filter(None, host.tasks))
        await server.wait_closed()

    with asyncio.Runner(loop_factory=LOOPS[-1]) as runner:
        runner.run(whole())


async def body_of(transport: StreamTransport, url: httpx2.URL, content: bytes = b"{}") -> bytes:
    reply = await transport.post(url, {"x-a": "b"}, content)
    body = bytearray()
    try:
        while piece := await reply.piece():
            body += piece
    finally:
        await reply.aclose()
    return bytes(body)


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (OK + b"content-length: 2\r\n\r\nhi", b"hi"),
        (CHUNKED + b"2;x=y\r\nhi\r\n4\r\n you\r\n0\r\n\r\n", b"hi you"),
        (CHUNKED + b"0\r\ntrailer: x\r\n\r\n", b""),
        # Without a length the end of the connection is the end of the body.
        (OK + b"connection: close\r\n\r\nhi", b"hi"),
        (b"HTTP/1.1 100 Continue\r\nx: y\r\n\r\n" + OK + b"content-length: 2\r\n\r\nhi", b"hi"),
        (OK + b"content-encoding: gzip\r\ncontent-length: 0\r\n\r\n", b""),
    ],
)
def test_a_body_is_read_as_it_is_framed(answer: bytes, body: bytes) -> None:
    host = Host(answer)

    async def use(transport: StreamTransport, url: httpx2.URL) -> None:
        assert await body_of(transport, url, b'{"a": 1}') == body

    run(host, use)
    assert host.requests[0].startswith(b"POST /v1/x?a=b HTTP/1.1\r\nhost: 127.0.0.1:")
    assert host.requests[0].endswith(b'\r\nx-a: b\r\ncontent-length: 8\r\n\r\n{"a": 1}')


def test_a_compressed_body_is_unpacked_in_small_pieces() -> None:
    packed = gzip.compress(b"x" * 3_000_000)
    host = Host(OK + b"content-encoding: GZIP\r\ncontent-length: %d\r\n\r\n" % len(packed) + packed)

    async def use(transport: StreamTransport, url: httpx2.URL) -> None:
        reply = await transport.post(url, {}, b"")
        sizes: list[int] = []
        while piece := await reply.piece():
            sizes.append(len(piece))
        assert sum(sizes) == 3_000_000
        assert max(sizes) <= 65536
        await reply.aclose()

    run(host, use)


def test_an_encoding_that_was_not_asked_for_is_a_fault() -> None:
    async def use(transport: StreamTransport, url: httpx2.URL) -> None:
        with pytest.raises(UnreadableReply, match="br"):
            await body_of(transport, url)

    run(Host(OK + b"content-encoding: br\r\ncontent-length: 0\r\n\r\n"), use)


def test_what_came_before_a_fault_is_given_first() -> None:
    async def use(transport: StreamTransport, url: httpx2.URL) -> None:
        reply = await transport.post(url, {}, b"")
        assert await reply.piece() == b"hi"
        with pytest.raises(StreamFault, match="no HTTP"):
            await reply.piece()
        await reply.aclose()

    run(Host(CHUNKED + b"2\r\nhi\r\nno length\r\n"), use)


def test_a_whole_reply_leaves_its_connection_to_the_next() -> None:
    whole = CHUNKED + b"2\r\nhi\r\n0\r\n\r\n"
    host = Host(whole, whole, OK + b"connection: close\r\ncontent-length: 2\r\n\r\nhi", whole)

    async def use(transport: StreamTransport, url: httpx2.URL) -> None:
        for _ in range(4):
            assert await body_of(transport, url) == b"hi"

    run(host, use)
    assert host.connections == 2


def test_a_reply_that_is_left_closes_its_connection() -> None:
    host = Host(CHUNKED + b"2\r\nhi\r\n", CHUNKED + b"0\r\n\r\n")

    async def use(transport: StreamTransport, url: httpx2.URL) -> None:
        reply = await transport.post(url, {}, b"")
        await reply.aclose()
        await reply.aclose()
        await host.left.wait()
        assert await body_of(transport, url) == b""

    run(host, use)
    assert host.connections == 2


def test_bytes_behind_a_whole_reply_are_no_reply_to_the_next_request() -> None:
    forged = OK + b"content-length: 6\r\n\r\nforged"
    host = Host(CHUNKED + b"0\r\n\r\n" + forged, OK + b"content-length: 4\r\n\r\ntrue")

    async def use(transport: StreamTransport, url: httpx2.URL) -> None:
        assert await body_of(transport, url) == b""
        assert await body_of(transport, url) == b"true"

    run(host, use)


def test_a_kept_connection_that_the_server_closes_meanwhile_is_made_anew() -> None:
    whole = CHUNKED + b"0\r\n\r\n"
    host = Host(whole, None, whole)

    async def use(transport: StreamTransport, url: httpx2.URL) -> None:
        assert await body_of(transport, url) == b""
        assert await body_of(transport, url) == b""

    run(host, use)
    assert (host.connections, len(host.requests)) == (2, 3)


def test_a_new_connection_that_the_server_closes_is_a_fault() -> None:
    host = Host(None)

    async def use(transport: StreamTransport, url: httpx2.URL) -> None:
        with pytest.raises(StreamFault, match="without a reply"):
            await body_of(transport, url)

    run(host, use)
    assert host.connections == 1


def test_a_reply_that_nobody_reads_stops_its_server() -> None:
    size = 40_000_000
    host = Host(OK + b"content-length: %d\r\n\r\n" % size + b"x" * size)

    async def use(transport: StreamTransport, url: httpx2.URL) -> None:
        reply = await transport.post(url, {}, b"")
        for _ in range(200):
            await asyncio.sleep(0)
        piece = await reply.piece()
        assert len(piece) < 2_000_000
        taken = len(piece)
        while piece := await reply.piece():
            taken += len(piece)
        assert taken == size
        await reply.aclose()

    run(host, use)
