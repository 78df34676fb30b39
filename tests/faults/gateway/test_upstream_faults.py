"""What goes wrong behind a gateway is an error of the right kind before it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callblocks.gateway.application import AppSettings
from support.gateways import RunningGateway, events_of, running_gateway
from support.model_server import DONE, ModelServer, Step, chat_events, event

PAGE = b"<html><title>Sign in</title></html>"
HALF = b'data: {"choices": [{"delta": {"cont'
JSON = "application/json"


@pytest.fixture
def server() -> Any:
    with ModelServer() as server:
        yield server


@pytest.fixture
def gateway(server: ModelServer) -> Any:
    with running_gateway((f"{server.url}#test",)) as gateway:
        yield gateway


def error_of(body: bytes) -> bytes:
    return json.dumps({"error": {"message": body.decode(), "type": "x"}}).encode()


BEFORE: list[tuple[str, int, tuple[Step, ...], int, str]] = [
    ("a wrong field", 400, (error_of(b"bad field"),), 400, "invalid_request"),
    ("the key of the gateway", 401, (error_of(b"invalid key"),), 502, "upstream"),
    ("too large", 413, (error_of(b"too large"),), 413, "too_large"),
    ("no such path", 404, (error_of(b"nothing here"),), 404, "not_found"),
    ("a failure", 500, (error_of(b"oops"),), 502, "upstream"),
    ("a gateway behind", 502, (PAGE,), 502, "upstream"),
    ("a page", 200, (PAGE,), 502, "upstream"),
    ("no JSON", 200, (b"data: {nothing}\n\n",), 502, "upstream"),
    ("half an event", 200, (HALF,), 502, "upstream"),
    ("bytes that are no text", 200, (b"data: \xff\xfe\xff\n\n",), 502, "upstream"),
    ("nothing at all", 200, (), 502, "upstream"),
    ("a cut", 200, ("cut",), 502, "upstream"),
]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(("title", "status", "steps", "answer", "kind"), BEFORE)
def test_a_fault_before_the_first_event_has_its_status(
    server: ModelServer,
    gateway: RunningGateway,
    title: str,
    status: int,
    steps: tuple[Step, ...],
    answer: int,
    kind: str,
    streams: bool,
) -> None:
    server.answer(*steps, status=status, kind=JSON if status != 200 else "text/event-stream")
    got = gateway.ask(title, stream=streams)
    assert (got.status_code, got.json()["error"]["kind"]) == (answer, kind)


def test_a_busy_upstream_says_when_to_come_again(
    server: ModelServer, gateway: RunningGateway
) -> None:
    # Its clients wait themselves: nothing is asked twice here, and a stream has not begun.
    busy = (error_of(b"slow down"),)
    for after, streams in (("30", False), ("7", True)):
        server.answer(*busy, status=429, kind=JSON, headers={"retry-after": after})
        got = gateway.ask(stream=streams)
        assert got.status_code == 429
        assert got.headers["retry-after"] == after
    assert len(server.requests) == 2


def test_a_line_without_end_does_not_fill_the_memory(
    server: ModelServer, gateway: RunningGateway
) -> None:
    server.answer(b"data: " + b"x" * (17 << 20))
    got = gateway.ask()
    assert (got.status_code, got.json()["error"]["code"]) == (502, "model_too_long")


def test_a_line_of_ten_megabytes_is_a_reply(server: ModelServer, gateway: RunningGateway) -> None:
    text = "x" * (10 << 20)
    server.answer(*chat_events(text))
    events = events_of(gateway.ask())
    assert "".join(one["text"] for one in events if one["type"] == "text") == text


IN_THE_MIDDLE: list[tuple[str, tuple[Step, ...]]] = [
    ("a cut", (*chat_events("Hel", end=False), "cut")),
    ("half an event", (*chat_events("Hel", end=False), HALF)),
    ("an error", (*chat_events("Hel", end=False), event({"error": {"message": "oops"}}))),
    ("no end", chat_events("Hel", end=False)),
]


@pytest.mark.parametrize(("title", "steps"), IN_THE_MIDDLE)
def test_a_fault_in_the_middle_ends_the_stream_with_an_error(
    server: ModelServer, gateway: RunningGateway, title: str, steps: tuple[Step, ...]
) -> None:
    server.answer(*steps)
    got = gateway.ask(title, stream=True)
    events = events_of(got)
    assert got.status_code == 200
    assert [one["type"] for one in events] == ["begin", "text", "error"]


def test_a_stream_is_kept_alive_while_nothing_comes(server: ModelServer) -> None:
    server.answer(*chat_events("Hel", end=False), 0.5, event({"choices": [_STOP]}), DONE)
    settings = AppSettings(quiet=0.1)
    with running_gateway((f"{server.url}#test",), settings=settings) as gateway:
        got = gateway.ask(stream=True)
    assert b": wait\n\n" in got.content
    assert events_of(got)[-1]["type"] == "finished"


def test_a_stream_begins_before_an_upstream_that_takes_long(server: ModelServer) -> None:
    server.answer(0.5, error_of(b"oops"), status=200, kind=JSON)
    settings = AppSettings(quiet=0.1)
    with running_gateway((f"{server.url}#test",), settings=settings) as gateway:
        got = gateway.ask(stream=True)
    assert got.status_code == 200
    assert [one["type"] for one in events_of(got)] == ["begin", "error"]


_STOP = {"index": 0, "delta": {}, "finish_reason": "stop"}
