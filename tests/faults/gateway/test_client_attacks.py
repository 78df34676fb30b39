"""What a client may try: other people's models, limits, memory, and the addresses behind."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from callblocks.gateway import server
from callblocks.gateway.application import AppSettings
from callblocks.gateway.config import parse_gateway, read_gateway
from callblocks.gateway.operation import Operation
from callblocks.gateway.server import all_wires
from support.gateways import RunningGateway, asking, running_gateway, until
from support.model_server import ModelServer, chat_events

CHAT = "/v1/chat/completions"
TWO = """
[models.mine]
address = "scripted"
[models.others-secret]
address = "scripted"
[clients.a]
key_env = "KEY_A"
models = ["mine"]
"""


def _operation(text: str) -> Operation:
    return Operation(lambda: parse_gateway(text))


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("KEY_A", "k1")
    with running_gateway(operation=_operation(TWO)) as gateway:
        gateway.client.headers["x-api-key"] = "k1"
        yield gateway


def _named(model: str) -> dict[str, Any]:
    return {**asking(), "model": model, "prompt": "x", "input": "x"}


@pytest.mark.parametrize(
    "path",
    [CHAT, "/v1/messages", "/v1/messages/count_tokens", "/v1/completions", "/api/show"],
)
def test_a_client_learns_nothing_of_models_that_are_not_its_own(
    keyed: RunningGateway, path: str
) -> None:
    answer = keyed.client.post(path, json=_named("none"))
    assert answer.status_code == 404
    assert "mine" in answer.text
    assert "others-secret" not in answer.text
    assert keyed.client.post(path, json=_named("others-secret")).status_code == 403


PLAIN = {"model": "m", "prompt": "x", "stream": True}
FAILING = """
[models.m]
address = "{url}#inner-name"
[clients.a]
key_env = "KEY_A"
tokens_per_day = 50
"""


@pytest.mark.parametrize(
    ("path", "streams"),
    [(CHAT, False), (CHAT, True), ("/v1/completions", True)],
)
def test_a_client_with_a_key_learns_nothing_of_the_server_behind(
    monkeypatch: pytest.MonkeyPatch, path: str, streams: bool
) -> None:
    monkeypatch.setenv("KEY_A", "k1")
    with ModelServer() as server:
        text = FAILING.format(url=server.url)
        with running_gateway(operation=_operation(text)) as gateway:
            gateway.client.headers["x-api-key"] = "k1"
            body = {**(PLAIN if path == "/v1/completions" else asking()), "stream": streams}
            for status in (400, 401, 404, 500):
                server.answer(b'{"error": {"message": "bad thing"}}', status=status)
                said = gateway.client.post(path, json=body).text
                assert server.url not in said
                assert "127.0.0.1" not in said
                assert "check the" not in said
                # What the client can mend it is told.
                assert ("bad thing" in said) == (status == 400)


def test_a_client_that_leaves_early_has_used_its_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_A", "k1")
    with ModelServer() as server:
        server.answer(*chat_events("word " * 100, end=False), 3.0)
        operation = _operation(FAILING.format(url=server.url))
        with running_gateway(operation=operation) as gateway:
            gateway.client.headers["x-api-key"] = "k1"
            with gateway.client.stream("POST", CHAT, json=asking(stream=True)) as answer:
                next(answer.iter_bytes())
            until(lambda: operation.clients.find({"x-api-key": "k1"}).streams == 0)
            assert gateway.ask().status_code == 429


def test_a_plain_completion_uses_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_A", "k1")
    with ModelServer() as server:
        server.answer(b'data: {"choices": []}\n\n' * 60)
        with running_gateway(operation=_operation(FAILING.format(url=server.url))) as gateway:
            gateway.client.headers["x-api-key"] = "k1"
            assert gateway.client.post("/v1/completions", json=PLAIN).status_code == 200
            assert gateway.ask().status_code == 429


def test_a_config_that_loses_its_clients_opens_no_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("KEY_A", "k1")
    path, now = tmp_path / "gateway.toml", [0.0]
    path.write_text(TWO)
    operation = Operation(lambda: read_gateway(path), files=(path,), clock=lambda: now[0])
    path.write_text('[models.m]\naddress = "scripted"\n')
    now[0] += 2
    operation.refresh()
    assert not operation.clients.is_open
    assert "everybody could ask" in caplog.text


def test_a_config_that_cannot_be_read_leaves_all_as_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, now = tmp_path / "gateway.toml", [0.0]
    path.write_text('[models.m]\naddress = "scripted"\n')
    operation = Operation(lambda: read_gateway(path), files=(path,), clock=lambda: now[0])
    for spoil in (
        lambda: path.write_bytes(b"\xff\xfe"),
        path.unlink,
        path.mkdir,
        lambda: path.with_name("gateway.toml").chmod(0o500),
    ):
        spoil()
        now[0] += 2
        operation.refresh()
        assert list(operation.config.models) == ["m"]
    assert caplog.records


@pytest.mark.parametrize(
    "more",
    [
        {"x": [[0] * 1000] * 600},
        {"stop": ["a" * 9000, "a" * 9000]},
        {"tools": [0] * 100_001},
    ],
)
def test_a_body_that_costs_too_much_is_refused(more: dict[str, Any]) -> None:
    with running_gateway(wires=all_wires()) as gateway:
        assert gateway.ask(**more).status_code == 400


def test_a_page_whose_name_was_made_to_lead_here_reads_no_counts() -> None:
    with running_gateway() as gateway:
        foreign = {"host": "evil.example"}
        assert gateway.client.get("/metrics", headers=foreign).status_code == 403
        assert gateway.client.get("/healthz", headers=foreign).status_code == 200
        assert gateway.client.get("/metrics").status_code == 200


def test_a_head_that_never_comes_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.1)
    with running_gateway() as gateway:
        for start in (b"", b"GET / HTTP/1.1\r\nHost: local"):
            with socket.create_connection(("127.0.0.1", gateway.port)) as one:
                one.settimeout(30)
                one.sendall(start)
                assert _is_cut_off(one)


def test_a_body_that_is_too_large_is_told_so_behind_all_of_it() -> None:
    head = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 8000000\r\n\r\n"
    with (
        running_gateway(settings=AppSettings(max_body=1000)) as gateway,
        socket.create_connection(("127.0.0.1", gateway.port)) as one,
    ):
        one.settimeout(30)
        one.sendall(head)
        # The answer is there before the body, which is sent nevertheless.
        assert one.recv(12) == b"HTTP/1.1 413"
        one.sendall(b" " * 8_000_000)
        answer = b"".join(iter(lambda: one.recv(65536), b""))
    assert answer.endswith(b"}}")


def test_headers_without_end_are_cut_off() -> None:
    with running_gateway() as gateway, socket.create_connection(("127.0.0.1", gateway.port)) as one:
        one.settimeout(30)
        one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        assert _is_cut_off(one, b"x" * 20_000_000)


def _is_cut_off(one: socket.socket, more: bytes = b"") -> bool:
    try:
        one.sendall(more)
        return one.recv(1) == b""
    except (ConnectionResetError, BrokenPipeError):
        return True


def test_many_headers_are_refused() -> None:
    with running_gateway() as gateway:
        headers = {f"x-{at}": "y" * 100 for at in range(2000)}
        try:
            status = gateway.client.get("/", headers=headers).status_code
        except httpx2.TransportError:
            status = 400
        assert status == 400
        assert gateway.client.get("/healthz").status_code == 200
