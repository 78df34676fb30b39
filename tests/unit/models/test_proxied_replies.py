"""A server that the environment has a proxy for is asked through it, and fails as any other."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest

from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoints import ChatEndpoint
from support.model_replies import reply_of, spoken
from support.model_server import chat_events

SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
EVENTS = b"".join(chat_events("Hel", "lo"))
HALF = b"".join(chat_events("Hel", end=False))


@contextmanager
def proxy(answer: bytes) -> Generator[tuple[str, list[bytes]], None, None]:
    """One that answers each request itself, and closes; with the requests that it got."""
    asked: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                one, _ = listener.accept()
            except OSError:
                return
            with one:
                asked.append(one.recv(1 << 16))
                with suppress(OSError):
                    one.sendall(answer)
                    one.shutdown(socket.SHUT_WR)
                    while one.recv(1 << 16):
                        pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    ("answer", "text", "code"),
    [
        (SSE + b"content-length: %d\r\n\r\n" % len(EVENTS) + EVENTS, "Hello", ""),
        (SSE + b"\r\n" + EVENTS, "Hello", ""),
        (SSE + b"content-length: 9999\r\n\r\n" + HALF, "Hel", "model_unreachable"),
        (SSE + b"content-encoding: gzip\r\n\r\n" + EVENTS, "", "model_broken"),
        (b"HTTP/1.1 401 No\r\ncontent-length: 3\r\n\r\nkey", "", "model_refused"),
        (b"no HTTP\r\n\r\n", "", "model_unreachable"),
    ],
)
def test_a_reply_comes_through_a_proxy(
    answer: bytes, text: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with proxy(answer) as (address, asked):
        monkeypatch.setenv("HTTP_PROXY", address)
        monkeypatch.setenv("http_proxy", address)
        settings = EndpointSettings(
            base_url="http://me:pw@model.example/v1", model="m", tries=1, first_seconds=60.0
        )
        pieces, error = reply_of(ChatEndpoint(settings))
    assert spoken(pieces) == text
    assert (error.code if error else "") == code
    assert asked[0].startswith(b"POST http://model.example/v1/chat/completions HTTP/1.1\r\n")
    assert b": Basic bWU6cHc=\r\n" in asked[0]


def test_a_silent_proxy_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        monkeypatch.setenv("HTTP_PROXY", address)
        monkeypatch.setenv("http_proxy", address)
        settings = EndpointSettings(
            base_url="http://model.example/v1", model="m", tries=1, first_seconds=0.05
        )
        _, error = reply_of(ChatEndpoint(settings))
    assert error is not None
    assert error.code == "model_timeout"
