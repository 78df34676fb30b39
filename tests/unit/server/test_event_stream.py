from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.server.http.event_stream import EventStream, event_bytes
from callblocks.server.settings import ServerSettings


@given(st.text(), st.sampled_from(["", "12.3"]))
def test_an_event_is_one_line_of_data_whatever_it_says(text: str, id: str) -> None:
    event = event_bytes({"text": text}, id)
    *lines, blank, rest = event.split(b"\n")
    assert (blank, rest) == (b"", b"")
    assert len(lines) == (2 if id else 1)
    assert b"\r" not in event
    assert lines[-1].startswith(b"data: {")


class Client:
    """Takes what is sent; it goes away after so many messages, and may stop taking."""

    def __init__(self, stays: int = 1000, takes: int = 1000) -> None:
        self.sent: list[dict[str, Any]] = []
        self._gone = asyncio.Event()
        self._stays = stays
        self._takes = takes

    async def receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if len(self.sent) >= self._stays:
            self._gone.set()
        if len(self.sent) > self._takes:
            await asyncio.sleep(60)

    def drop(self) -> None:
        self._gone.set()


def _run(client: Client, pieces: Any, method: str = "GET", **settings: Any) -> list[str]:
    told: list[str] = []

    @contextmanager
    def held() -> Any:
        told.append("in")
        yield
        told.append("out")

    async def run() -> None:
        known = ServerSettings(**settings)
        response = EventStream(pieces, known, held=held())
        extension = {"callblocks.drop": {"do": lambda: (told.append("dropped"), client.drop())}}
        scope = {"type": "http", "method": method, "extensions": extension}
        await asyncio.wait_for(response(scope, client.receive, client.send), 120)

    asyncio.run(run())
    return told


def _body(client: Client) -> bytes:
    return b"".join(message.get("body", b"") for message in client.sent)


async def _three() -> AsyncGenerator[bytes, None]:
    for piece in (b"a", b"b", b"c"):
        yield piece


def test_all_pieces_are_sent_and_the_response_ends() -> None:
    client = Client()
    assert _run(client, _three) == ["in", "out"]
    assert _body(client) == b"abc"
    assert client.sent[-1] == {"type": "http.response.body", "body": b""}


def test_a_head_asks_for_no_pieces() -> None:
    client = Client()
    assert _run(client, _three, "HEAD") == ["in", "out"]
    assert _body(client) == b""


def test_when_the_client_goes_the_source_is_closed() -> None:
    closed: list[bool] = []

    async def endless() -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b"x"
                await asyncio.sleep(0)
        finally:
            closed.append(True)

    assert _run(Client(stays=5), endless) == ["in", "out"]
    assert closed == [True]


async def _silence() -> AsyncGenerator[bytes, None]:
    yield b"x"
    await asyncio.sleep(60)


def test_silence_is_broken_by_comments() -> None:
    client = Client(stays=5)
    _run(client, _silence, quiet=0.02)
    assert _body(client).startswith(b"x: ")


def test_a_client_that_takes_nothing_is_dropped() -> None:
    client = Client(takes=2)

    async def endless() -> AsyncGenerator[bytes, None]:
        while True:
            yield b"x"

    assert _run(client, endless, send_timeout=0.05) == ["in", "dropped", "out"]


def test_what_goes_wrong_in_the_source_is_not_hidden() -> None:
    async def broken() -> AsyncGenerator[bytes, None]:
        yield b"x"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _run(Client(), broken)
