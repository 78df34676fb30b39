"""Clients that read slowly or not at all: they cost nobody else anything, and are dropped."""

from __future__ import annotations

import json
import re
import socket
import threading
from contextlib import suppress
from pathlib import Path

from callblocks.server.http.protocol import LimitedHttp
from callblocks.session.model_choice import SessionSettings
from support.chat_server import Running, chunks, posted, running_server, said

LONG = {"session": SessionSettings(text=100_000_000)}


def _deaf(server: Running, text: str, chat: str) -> socket.socket:
    """A client that posts, and takes nothing of what comes back."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.connect(("127.0.0.1", server.port))
    body = json.dumps(posted(text, chat)).encode()
    head = f"POST /api/chat HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
    deaf.sendall(f"{head}content-type: application/json\r\n\r\n".encode() + body)
    return deaf


def _rest(client: socket.socket) -> bytes:
    """All that comes, until the response or the connection ends."""
    text = b""
    with suppress(ConnectionResetError):
        while not text.endswith(b"0\r\n\r\n") and (more := client.recv(1 << 20)):
            text += more
    return text


def _until(condition: object) -> None:
    for _ in range(1000):
        if condition():  # pyright: ignore[reportCallIssue] a function of no arguments
            return
        threading.Event().wait(0.02)
    raise AssertionError("it does not happen")


def test_a_client_that_takes_nothing_is_dropped_and_its_turn_goes_on(tmp_path: Path) -> None:
    with running_server(tmp_path, host=LONG, send_timeout=0.3) as server:
        with _deaf(server, "wide 12000", "deaf") as deaf:
            _until(lambda: server.service.slots.taken == 1)
            assert said(chunks(server.say("Hello", "other"))) == "You said: Hello"
            _until(lambda: server.service.slots.taken == 0)
            _until(lambda: len(server.service.chats) == 0)
            assert b"[DONE]" not in _rest(deaf)
        assert server.client.get("/api/chat/deaf").json()["status"] == "idle"
        _until(lambda: len(server.server.server_state.connections) <= 1)


def test_a_slow_reader_gets_everything_in_the_end(tmp_path: Path) -> None:
    with running_server(tmp_path, host=LONG) as server:
        with _deaf(server, "wide 4000", "slow") as slow:
            _until(lambda: server.client.get("/api/chat/slow").json().get("status") == "idle")
            text = _rest(slow)
        numbers = [int(found) for found in re.findall(rb'word ([0-9]+) "}', text)]
        assert numbers == list(range(4000))
        assert b"[DONE]" in text


def test_a_silent_stream_is_kept_open_by_comments(tmp_path: Path) -> None:
    with running_server(tmp_path, quiet=0.1) as server:
        with server.client.stream("POST", "/api/chat", json=posted("slow one")) as response:
            comments = 0
            for line in response.iter_lines():
                comments += line.startswith(":")
                if comments == 2:
                    break
        server.model.gate.set()


def test_a_client_that_goes_away_frees_its_place(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        with server.streaming("slow one") as stream:
            next(stream)
            assert server.service.slots.taken == 1
        _until(lambda: server.service.slots.taken == 0)
        server.model.gate.set()


def _ports(server: Running) -> list[int]:
    """The ports of all clients that are connected."""
    known = list(server.server.server_state.connections)
    return [one.client[1] for one in known if isinstance(one, LimitedHttp) and one.client]


def test_a_client_that_takes_nothing_of_a_plain_answer_is_dropped(tmp_path: Path) -> None:
    with running_server(tmp_path, host=LONG, send_timeout=0.3) as server:
        server.say("wide 6000", "long")
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", server.port))
            port = deaf.getsockname()[1]
            _until(lambda: port in _ports(server))
            deaf.sendall(b"GET /api/chat/long HTTP/1.1\r\nhost: localhost\r\n\r\n")
            _until(lambda: port not in _ports(server))
            assert len(_rest(deaf)) < 5_000_000
        assert server.client.get("/api/chat/long").json()["status"] == "idle"
