"""The routes of a gateway: which shape an error has, who may ask, what is offered."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator
from contextlib import ExitStack, suppress
from logging import INFO
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callblocks.core.errors import CallerError
from callblocks.gateway import server as server_module
from callblocks.gateway.application import AppSettings, GatewayApp
from callblocks.gateway.config import (
    GatewayConfig,
    config_of_models,
    parse_gateway,
    read_gateway,
)
from callblocks.gateway.exchange import Text
from callblocks.gateway.operation import Operation
from callblocks.gateway.server import all_wires, check_address
from callblocks.guard.net.addresses import listen_at
from support.gateways import RunningGateway, asking, events_of, running_gateway, until
from support.model_server import ModelServer, chat_events
from support.plain_wire import plain_wires

POSTS = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat", "/v1/completions"]


@pytest.fixture(scope="module")
def gateway() -> Any:
    with running_gateway(settings=AppSettings(max_body=100_000)) as gateway:
        yield gateway


def _operation(text: str) -> Operation:
    return Operation(lambda: parse_gateway(text))


def _kind(answer: httpx2.Response) -> str:
    return answer.json()["error"]["kind"]


@pytest.mark.parametrize("streams", [False, True])
def test_a_reply_is_given_whole_or_in_pieces(gateway: RunningGateway, streams: bool) -> None:
    answer = gateway.ask("hello", stream=streams)
    events = events_of(answer)
    assert answer.status_code == 200
    assert events[-1]["type"] == "finished"
    assert "I play scripts" in "".join(one.get("text", "") for one in events)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/chat/completions", "/v1/messages/"])
def test_a_path_is_found_as_clients_write_it(gateway: RunningGateway, path: str) -> None:
    assert gateway.client.post(path, json=asking()).status_code == 200


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("/v1/nothing", "chat"),
        ("/v1/messages/nothing", "messages"),
        ("/v1/responses/r-1", "responses"),
        ("/api/nothing", "ollama"),
        ("/", "chat"),
    ],
)
def test_an_error_has_the_shape_of_the_nearest_wire(
    gateway: RunningGateway, path: str, wire: str
) -> None:
    answer = gateway.client.post(path, json={})
    assert answer.status_code == (405 if path == "/" else 404)
    assert answer.json()["error"]["wire"] == wire


def test_a_path_says_which_method_it_takes(gateway: RunningGateway) -> None:
    answer = gateway.client.get("/v1/messages")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b'"text"', b"\xff", b'{"a": \xff}', b"[" * 90_000, b'{"model": 1}',
        b'{"messages": 1}', b'{"model": "\\ud800", "messages": [{"role": 7}]}', b"null",
        b'{"a": NaN}',
    ],
)  # fmt: skip
def test_a_malformed_body_is_a_mistake_of_the_client(
    gateway: RunningGateway, path: str, body: bytes
) -> None:
    assert gateway.client.post(path, content=body).status_code == 400


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    ["model", "messages", "tools", "stream", "input", "system", "tool_choice", "prompt", "n"]
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(path=st.sampled_from(POSTS), body=st.dictionaries(FIELDS, JSON, max_size=6))
def test_no_body_is_a_fault_of_the_gateway(
    gateway: RunningGateway, path: str, body: dict[str, Any]
) -> None:
    answer = gateway.client.post(path, content=json.dumps(body).encode("utf-8", "replace"))
    assert answer.status_code < 500


def test_half_a_character_and_a_byte_order_mark_are_no_mistake(
    gateway: RunningGateway,
) -> None:
    body = b'\xef\xbb\xbf{"messages": [{"role": "user", "content": "cut \\ud83d"}]}'
    assert gateway.client.post("/v1/chat/completions", content=body).status_code == 200


def test_a_body_has_a_limit_with_and_without_a_length(gateway: RunningGateway) -> None:
    large = b" " * 100_001
    said = gateway.client.post("/v1/messages", content=large)
    unsaid = gateway.client.post("/v1/messages", content=iter([large]))
    assert [(one.status_code, _kind(one)) for one in (said, unsaid)] == [(413, "too_large")] * 2
    assert said.json()["error"]["wire"] == "messages"


def test_a_compressed_body_is_refused_clearly(gateway: RunningGateway) -> None:
    answer = gateway.client.post(POSTS[0], content=b"x", headers={"content-encoding": "zstd"})
    assert "compressed" in answer.json()["error"]["message"]


def test_models_are_listed_for_each_kind_of_client(gateway: RunningGateway) -> None:
    listed = gateway.client.get("/v1/models").json()
    assert [one["id"] for one in listed["data"]] == ["scripted"]
    version = {"anthropic-version": "2023-06-01"}
    assert gateway.client.get("/v1/models", headers=version).json()["has_more"] is False
    assert gateway.client.get("/v1/models/scripted").json()["object"] == "model"
    assert gateway.client.get("/v1/models/scripted", headers=version).json()["type"] == "model"
    assert gateway.client.get("/models/other").status_code == 404
    assert gateway.client.get("/api/tags").json()["models"][0]["name"] == "scripted"
    shown = gateway.client.post("/api/show", json={"model": "scripted"}).json()
    assert "tools" in shown["capabilities"]
    assert gateway.client.post("/api/show", json={}).status_code == 400
    assert gateway.client.get("/api/version").json()["version"]


def test_tokens_are_estimated(gateway: RunningGateway) -> None:
    answer = gateway.client.post("/v1/messages/count_tokens", json=asking("word " * 100))
    assert 100 < answer.json()["input_tokens"] < 200


def test_what_clients_ask_beside_replies_is_answered() -> None:
    with running_gateway(wires=all_wires()) as gateway:
        post = gateway.client.post
        counted = post("/v1/responses/input_tokens", json={"model": "m", "input": "word " * 100})
        assert counted.json()["object"] == "response.input_tokens"
        assert 100 < counted.json()["input_tokens"] < 200
        assert gateway.client.get("/api/ps").json()["models"][0]["name"] == "scripted"
        assert post("/api/generate", json={"model": "m"}).json()["done_reason"] == "load"
        assert post("/api/chat", json={"model": 1}).status_code == 400
        answer = post("/api/generate", json={"model": "m", "prompt": "hello", "stream": False})
        assert "I play scripts" in answer.json()["response"]
        assert gateway.client.get("/health").json()["status"] == "ok"


def test_the_state_and_the_counts_need_no_key(gateway: RunningGateway) -> None:
    gateway.ask()
    assert gateway.client.get("/healthz").json()["status"] == "ok"
    counts = gateway.client.get("/metrics").text
    wanted = 'callblocks_gateway_requests_total{model="scripted",status="200",wire="chat"}'
    assert wanted in counts
    assert gateway.client.head("/").content == b""


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://[bad"},
        {"sec-fetch-site": "cross-site"},
        {"host": "evil.example"},
    ],
)
def test_a_page_of_another_site_gets_nothing(
    gateway: RunningGateway, headers: dict[str, str]
) -> None:
    answer = gateway.client.post(POSTS[0], json=asking(), headers=headers)
    assert (answer.status_code, _kind(answer)) == (403, "permission")


def test_its_own_page_may_ask(gateway: RunningGateway) -> None:
    assert gateway.client.get("/v1/models", headers={"origin": gateway.url}).status_code == 200


def test_a_page_that_the_config_names_may_ask() -> None:
    text = 'origins = ["http://localhost:5173"]\n[models.m]\naddress = "scripted"'
    origin = {"origin": "http://localhost:5173"}
    with running_gateway(operation=_operation(text)) as gateway:
        asked = {**origin, "access-control-request-headers": "x-stainless-os"}
        before = gateway.client.options(POSTS[0], headers=asked)
        answer = gateway.client.post(POSTS[0], json=asking(), headers=origin)
    assert before.headers["access-control-allow-headers"] == "x-stainless-os"
    assert answer.headers["access-control-allow-origin"] == origin["origin"]


KEYED = """
[models.m]
address = "scripted"
[models.other]
address = "scripted"
[clients.a]
key_env = "KEY_A"
models = ["m"]
requests_per_minute = 2
"""


def test_a_key_lets_its_client_do_what_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_A", "k1")
    with running_gateway(operation=_operation(KEYED)) as gateway:
        none = gateway.ask()
        gateway.client.headers["x-api-key"] = "k1"
        other = gateway.client.post(POSTS[0], json={**asking(), "model": "other"})
        listed = gateway.client.get("/v1/models").json()["data"]
        good = [gateway.ask().status_code for _ in range(3)]
        limited = gateway.client.post("/v1/messages", json=asking())
    assert (none.status_code, none.headers["www-authenticate"]) == (401, "Bearer")
    assert other.status_code == 403
    assert [one["id"] for one in listed] == ["m"]
    assert good == [200, 200, 429]
    assert 1 <= int(limited.headers["retry-after"]) <= 31
    assert limited.json()["error"]["wire"] == "messages"


def test_counts_of_all_models_need_a_key_that_may_use_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KEY_A", "k1")
    monkeypatch.setenv("KEY_B", "k2")
    operation = _operation(f'{KEYED}[clients.b]\nkey_env = "KEY_B"\n')
    with running_gateway(operation=operation) as gateway:
        answers = [
            gateway.client.get("/metrics", headers={"x-api-key": key}) for key in ("", "k1", "k2")
        ]
        health = gateway.client.get("/healthz")
    assert [one.status_code for one in (*answers, health)] == [401, 403, 200, 200]


def test_without_keys_only_this_machine_is_served() -> None:
    operation = _operation("")
    check_address("127.0.0.1", operation)
    with pytest.raises(CallerError, match="can be reached from other machines"):
        check_address("0.0.0.0", operation)
    check_address("0.0.0.0", Operation(GatewayConfig, key="k"))


def test_a_port_that_is_taken_is_said() -> None:
    with listen_at("127.0.0.1", 0) as bound, pytest.raises(CallerError, match="in use"):
        listen_at("127.0.0.1", bound.getsockname()[1])


def test_another_upstream_answers_where_one_fails() -> None:
    with ModelServer() as bad, ModelServer() as good:
        text = f"""[models.m]
            upstreams = [{{address = "{bad.url}#test", weight = 1000000 }},
                         {{address = "{good.url}#test", weight = 0.001}}]
        """.replace("1000000 ", "999999")
        good.answer(*chat_events("Well."))
        bad.answer(b"{}", status=500)
        with running_gateway(operation=_operation(text)) as gateway:
            first = events_of(gateway.ask(stream=True))
            # The one that failed is not asked again at once.
            second = gateway.ask()
            counts = gateway.client.get("/metrics").text
    assert [one["type"] for one in first] == ["begin", "text", "finished"]
    assert second.status_code == 200
    assert len(bad.requests) == 1
    assert 'upstream_faults_total{code="model_failed",model="m"} 1.0' in counts


def test_a_mistake_of_the_client_is_not_asked_again_elsewhere() -> None:
    with ModelServer() as one, ModelServer() as other:
        upstreams = ", ".join(f'{{address = "{server.url}#test"}}' for server in (one, other))
        for server in (one, other):
            server.answer(b'{"error": {"message": "no"}}', status=400)
        text = f"[models.m]\nupstreams = [{upstreams}]"
        with running_gateway(operation=_operation(text)) as gateway:
            assert gateway.ask().status_code == 400
        assert len(one.requests) + len(other.requests) == 1


def test_plain_completions_are_passed_on() -> None:
    body = {"model": "x", "prompt": "Once", "max_tokens": 5, "stream": True}
    with ModelServer() as server, running_gateway((f"{server.url}#test",)) as gateway:
        server.answer(b'data: {"choices": []}\n\n', b"data: [DONE]\n\n")
        answer = gateway.client.post("/v1/completions", json=body)
        server.answer(b'{"error": {"message": "no"}}', status=400)
        refused = gateway.client.post("/v1/completions", json=body)
        assert server.requests[0].body == {**body, "model": "test"}
    assert answer.content == b'data: {"choices": []}\n\ndata: [DONE]\n\n'
    assert answer.headers["content-type"] == "text/event-stream"
    assert refused.status_code == 400


def test_embeddings_are_passed_on_and_come_from_no_other_model() -> None:
    body = {"model": "test", "input": ["a", "b"], "encoding_format": "base64"}
    vectors = b'{"object": "list", "data": [], "usage": {"prompt_tokens": 2}}'
    with ModelServer() as server, running_gateway((f"{server.url}#test",)) as gateway:
        server.answer(vectors, kind="application/json")
        answer = gateway.client.post("/v1/embeddings", json=body)
        other = gateway.client.post("/v1/embeddings", json={**body, "model": "text-embedding-3"})
        (asked,) = server.requests
    assert (asked.path, asked.body) == ("/v1/embeddings", body)
    assert answer.content == vectors
    assert other.status_code == 404
    assert "model_not_found" in other.text


def test_one_client_too_many_is_told_so_and_far_too_many_are_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "_SPARE", 2)
    monkeypatch.setattr(server_module, "_REFUSED_SECONDS", 60)
    operation = _operation('connections = 2\n[models.m]\naddress = "scripted"\n')
    place = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with running_gateway(operation=operation) as gateway, ExitStack() as stack:
        clients: list[socket.socket] = []
        for _ in range(4):
            clients.append(
                stack.enter_context(socket.create_connection(("127.0.0.1", gateway.port)))
            )
            clients[-1].settimeout(30)
            clients[-1].sendall(place)
            clients[-1].recv(9)
        statuses = [one.recv(3) for one in clients]
        refused = clients[2].recv(4096)
        # Those that were told are gone; with two more that say nothing there is no place.
        until(lambda: gateway.connections() == 2)
        for _ in range(2):
            stack.enter_context(socket.create_connection(("127.0.0.1", gateway.port)))
        until(lambda: gateway.connections() == 4)
        last = stack.enter_context(socket.create_connection(("127.0.0.1", gateway.port)))
        last.settimeout(30)
        with suppress(ConnectionResetError):
            assert last.recv(1) == b""
    assert statuses == [b"200", b"200", b"503", b"503"]
    assert b"too_many_connections" in refused
    assert b"retry-after: 1" in refused


def test_the_config_is_read_again_when_it_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, now = tmp_path / "gateway.toml", [0.0]
    path.write_text('[models.a]\naddress = "scripted"\n')
    operation = Operation(lambda: read_gateway(path), files=(path,), clock=lambda: now[0])
    path.write_text('[models.bb]\naddress = "scripted"\n')
    operation.refresh()
    assert list(operation.config.models) == ["a"]
    now[0] += 1
    operation.refresh()
    assert list(operation.config.models) == ["bb"]
    path.write_text("[models.ccc]\nnothing = 1\n")
    for _ in range(3):
        now[0] += 1
        operation.refresh()
    assert list(operation.config.models) == ["bb"]
    assert [one.levelname for one in caplog.records if one.levelno > INFO] == ["ERROR"]
    assert "ccc" in caplog.text


def test_an_unforeseen_fault_says_nothing_of_itself(caplog: pytest.LogCaptureFixture) -> None:
    operation = _operation('[models.m]\naddress = "scripted"')
    with running_gateway(operation=operation) as gateway:
        operation.clients = None  # pyright: ignore[reportAttributeAccessIssue] it breaks every request
        answer = gateway.ask()
    assert (answer.status_code, _kind(answer)) == (500, "internal")
    assert "NoneType" not in answer.text
    assert answer.headers["x-request-id"] in answer.text
    assert answer.headers["request-id"] == answer.headers["x-request-id"]
    assert "NoneType" in caplog.text


# --- The log ---


def _logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "INFO"]


def test_the_log_has_a_line_for_each_request_with_its_model_and_its_end(
    gateway: RunningGateway, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "callblocks.gateway"):
        gateway.client.post("/v1/chat/completions", json={**asking(), "model": "gpt-5"})
        gateway.client.get("/v1/nothing")
        until(lambda: len(_logged(caplog)) == 2)
    replied, refused = _logged(caplog)
    assert re.match(r"POST /v1/chat/completions 200 in [\d.]+ s: gpt-5 -> scripted", replied)
    assert re.match(r"GET /v1/nothing 404 in [\d.]+ s: nothing is at /v1/nothing;", refused)


def test_the_log_leaves_out_what_monitoring_asks(
    gateway: RunningGateway, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "callblocks.gateway"):
        gateway.client.get("/healthz")
        gateway.client.get("/metrics")
        gateway.client.get("/v1/models")
        until(lambda: bool(_logged(caplog)))
    (line,) = _logged(caplog)
    assert line.startswith("GET /v1/models 200")


def test_a_path_that_is_not_there_is_no_missing_model(gateway: RunningGateway) -> None:
    answer = gateway.client.post("/v1/images", json={})
    assert answer.status_code == 404
    assert "model_not_found" not in answer.text


# --- The end ---


@pytest.mark.parametrize("streams", [True, False])
def test_a_reply_that_the_end_of_the_gateway_cuts_off_ends_with_a_fault(streams: bool) -> None:
    start, *_, end = asyncio.run(_stopped(asking(stream=streams)))
    assert start["status"] == (200 if streams else 503)
    assert b"the gateway stops" in end["body"]
    assert not end.get("more_body", False)


async def _stopped(asked: dict[str, Any]) -> list[Any]:
    """Return what is sent for a request that the gateway cancels in the middle of its reply."""
    has_begun = asyncio.Event()

    async def endless(*_: object) -> AsyncGenerator[Text, None]:
        yield Text("Wait.", (0, 5))
        has_begun.set()
        await asyncio.Event().wait()

    messages = iter([{"type": "http.request", "body": json.dumps(asked).encode()}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages, None) or await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    operation = Operation(lambda: config_of_models(("scripted",), GatewayConfig()))
    app = GatewayApp(operation, plain_wires(), engine=endless)
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/chat/completions",
        "headers": [(b"host", b"localhost")],
    }
    request = asyncio.create_task(app(scope, receive, send))
    async with asyncio.timeout(30):
        await has_begun.wait()
    app.stop()
    request.cancel()
    await request
    await operation.close()
    return sent
