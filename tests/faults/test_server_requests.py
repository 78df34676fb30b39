"""Requests that are none: wrong bodies, huge ones, odd paths, ranges and names."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Generator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import Running, chunks, posted, running_server

LIMIT = 100_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("requests")
    with running_server(folder, max_body=LIMIT, read_timeout=1.0, burst=5000) as running:
        yield running


def _post(server: Running, content: bytes, path: str = "/api/chat") -> tuple[int, str]:
    headers = {"content-type": "application/json"}
    response = server.client.post(path, content=content, headers=headers)
    return response.status_code, response.json()["error"]["code"]


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b'{"id": "\xff"}',
        b'{"id": "a", "messages": [{"a":' + b"[" * 50_000,
        b'{"a":' * 15_000,
        b'{"id": "\\ud800"}',
    ],
)
def test_what_is_no_json_is_refused_with_words(server: Running, content: bytes) -> None:
    assert _post(server, content) == (400, "bad_json")


@pytest.mark.parametrize(
    "body",
    [
        [],
        "text",
        None,
        {},
        {"id": "a"},
        {"id": 5, "messages": []},
        {"id": "a", "messages": []},
        {"id": "a", "messages": {}},
        {"id": "a", "messages": ["text"]},
        {"id": "a", "messages": [{}]},
        {"id": "a", "messages": [{"role": "user"}]},
        {"id": "a", "messages": [{"role": "user", "parts": "text"}]},
        {"id": "a", "messages": [{"role": "user", "parts": []}]},
        {"id": "a", "messages": [{"role": "user", "parts": [{}]}]},
        {"id": "a", "messages": [{"role": "user", "parts": [None]}]},
        {"id": "a", "messages": [{"role": "user", "parts": [{"type": "text", "text": 5}]}]},
        {"id": "a", "messages": [{"role": "user", "parts": [{"type": "text", "text": "  "}]}]},
        {"id": "a", "messages": [{"role": "user", "parts": [{"type": "file", "url": "http://x"}]}]},
        {"id": "a", "messages": [{"role": "assistant", "parts": [{"type": "text", "text": "x"}]}]},
        {"id": "a", "messages": [{"role": "system", "parts": [{"type": "text", "text": "x"}]}]},
        {
            "id": "a",
            "messages": [
                {"role": "assistant", "parts": [{"state": "approval-responded", "approval": {}}]}
            ],
        },
    ],
)
def test_a_body_of_another_shape_is_refused_with_words(server: Running, body: Any) -> None:
    assert _post(server, json.dumps(body).encode()) == (422, "invalid_request")
    assert server.client.get("/api/chat/a").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "given", "words"),
    [
        (
            "POST",
            "/api/approvals/a",
            {"json": {"verdict": "yes"}},
            "verdict is once, while, deny or revoke",
        ),
        (
            "POST",
            "/api/approvals/a",
            {"json": {"verdict": "while", "minutes": 7}},
            "minutes is 5, 10 or 30",
        ),
        ("GET", "/api/approvals", {"params": {"state": "open"}}, "state is pending, "),
        ("POST", "/api/chat", {"json": {"id": "a", "messages": [{"role": "user"}]}}, "messages[0]"),
    ],
)
def test_a_wrong_value_is_told_what_it_may_be(
    server: Running, method: str, path: str, given: Any, words: str
) -> None:
    response = server.client.request(method, path, **given)
    assert response.status_code == 422
    assert words in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "id", ["", ".", "..", "../x", "a/b", "a b", "ü", "a" * 101, "-a", "a\0b", "a\n"]
)
def test_a_chat_has_a_plain_name(server: Running, id: str) -> None:
    assert _post(server, json.dumps(posted("Hi", id)).encode()) == (400, "bad_name")


@pytest.mark.parametrize(
    "path",
    [
        "/api/timelines/..%2f..%2fetc%2fpasswd",
        "/api/timelines/%2e%2e",
        "/api/timelines/..",
        "/api/chat/%00",
        "/api/chat/a%0d%0aset-cookie:x",
        "/api/chat/%ff",
        "/api/artifacts/..%2f..%2fetc%2fpasswd",
        "/api/artifacts/" + "A" * 64,
        "/api/artifacts/" + "a" * 63,
        "/api/artifacts/" + "a" * 64,
        "/api/tools/%ed%a0%80",
        "/api/tools/" + "x" * 5000,
        "/api/approvals/x",
        "/api/../etc/passwd",
        "/%",
        "/api/timelines/x?after=-1",
        "/api/timelines/x?after=1&after=2",
        "/api/timelines/x?limit=999999999999999999999999999999999",
        "/api/timelines/x?view=all",
        "/api/chat/x/stream?after=x",
        "/api/chat/x/stream?sdk_version=9",
        "/api/chat/x?sdk_version=%ff",
    ],
)
def test_no_address_leads_elsewhere_or_breaks_the_server(server: Running, path: str) -> None:
    head = f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    answer = server.raw(head.encode())
    status = int(answer.split(b" ", 2)[1])
    assert 400 <= status < 500
    assert "error" in json.loads(answer.partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize("header", ["x-callblocks-sdk-version: 8", "last-event-id: x"])
def test_a_header_that_cannot_be_read_is_refused(server: Running, header: str) -> None:
    lines = ("GET /api/chat/x/stream HTTP/1.1", "host: localhost", header, "connection: close")
    assert b" 400 " in server.raw("\r\n".join((*lines, "", "")).encode())


@pytest.mark.parametrize(
    "path", ["/api/chat/gone", "/api/timelines/gone", "/api/timelines/gone/page"]
)
def test_what_is_not_there_is_404(server: Running, path: str) -> None:
    response = server.client.get(path)
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "unknown_timeline"


def test_another_method_is_405_and_says_which(server: Running) -> None:
    response = server.client.delete("/api/chats")
    assert response.status_code == 405
    assert response.json()["error"]["code"] == "method_not_allowed"
    assert "GET" in response.headers["allow"]


def test_a_huge_body_is_refused_before_it_is_read(server: Running) -> None:
    head = (
        "POST /api/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        "content-length: 99999999999999999999\r\nconnection: close\r\n\r\n"
    )
    answer = server.raw(head.encode())
    assert b" 413 " in answer or b" 400 " in answer


def test_a_huge_body_in_pieces_is_refused_while_it_is_read(server: Running) -> None:
    def pieces() -> Generator[bytes]:
        yield b'{"id": "a", "messages": ["'
        for _ in range(200):
            yield b"x" * 1000

    headers = {"content-type": "application/json"}
    response = server.client.post("/api/chat", content=pieces(), headers=headers)
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "body_too_large"


def test_a_body_that_does_not_come_is_not_waited_for(server: Running) -> None:
    head = (
        "POST /api/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        "content-length: 100\r\n\r\n{"
    )
    assert b" 408 " in server.raw(head.encode())


def test_a_request_that_does_not_begin_is_not_waited_for(server: Running) -> None:
    assert server.raw(b"GET /api/hea") == b""


ASK = b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "rest",
    [
        b"GET /api/hea",
        b"\r\n",
        b"POST /nothing HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9999\r\n\r\n",
    ],
)
def test_a_later_request_of_a_connection_is_not_waited_for_either(
    server: Running, rest: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as client:
        client.sendall(ASK)
        answer = client.recv(100_000)
        assert b" 200 " in answer
        client.sendall(rest)
        # Each byte ends the wait for the next request.
        with suppress(ConnectionError):
            for _ in range(200):
                threading.Event().wait(0.05)
                client.sendall(b"\r" if rest == b"\r\n" else b"a")
            raise AssertionError("it is still waited for")


def test_a_stream_may_take_longer_than_a_request(server: Running) -> None:
    with server.streaming("slow one", "patient") as stream:
        next(stream)
        threading.Event().wait(1.5)
        server.model.gate.set()
        assert [chunk["type"] for chunk in stream][-1] == "finish"


def test_too_many_files_are_refused_with_words(server: Running) -> None:
    part = {"type": "file", "filename": "a", "url": "data:,a"}
    body = {"id": "many", "messages": [{"id": "m", "role": "user", "parts": [part] * 51}]}
    assert _post(server, json.dumps(body).encode()) == (422, "invalid_request")


def test_headers_without_an_end_are_refused(server: Running) -> None:
    head = b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n"
    answer = server.raw(head + b"".join(b"x-%d: y\r\n" % number for number in range(2000)))
    assert b" 400 " in answer
    answer = server.raw(b"GET /" + b"a" * 66_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert b" 400 " in answer


@pytest.mark.parametrize("request_line", [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"\0" * 100])
def test_what_is_no_http_is_answered_in_json(server: Running, request_line: bytes) -> None:
    answer = server.raw(request_line)
    assert b" 400 " in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "bad_header"


def test_too_many_connections_are_told_so(tmp_path: Path) -> None:
    with running_server(tmp_path, max_connections=3) as server, ExitStack() as held:
        for _ in range(3):
            # One that only waits would make room.
            known = held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            known.sendall(b"GET /api/tools HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert b" 200 " in known.recv(65536)
        answer = server.raw(b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b" 503 " in answer
        assert b"retry-after" in answer


def test_too_many_streams_are_told_so(tmp_path: Path) -> None:
    with (
        running_server(tmp_path, max_streams=1) as server,
        server.streaming("slow one", "first") as stream,
    ):
        next(stream)
        refused = server.say("Hello", "second")
        assert refused.status_code == 503
        assert refused.headers["retry-after"]
        assert server.client.get("/api/chat/second").status_code == 404
        server.model.gate.set()
        list(stream)


def test_too_many_turns_are_told_so(tmp_path: Path) -> None:
    with (
        running_server(tmp_path, max_turns=1) as server,
        server.streaming("slow one", "first") as stream,
    ):
        next(stream)
        refused = server.say("Hello", "second")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "too_many_turns")
        assert refused.headers["retry-after"]
        assert server.client.get("/api/chat/second").status_code == 404
        server.model.gate.set()
        list(stream)
        assert chunks(server.say("Hello", "second"))


def test_who_asks_too_often_is_told_to_wait(tmp_path: Path) -> None:
    with running_server(tmp_path, rate=0.01, burst=3) as server:
        answers = [server.client.get("/api/health") for _ in range(5)]
        assert [one.status_code for one in answers] == [200, 200, 200, 429, 429]
        assert int(answers[-1].headers["retry-after"]) > 0


@pytest.fixture(scope="module")
def digest(server: Running) -> str:
    content = bytes(range(256)) * 4
    server.service.host.artifacts("all.bin", content)
    return hashlib.sha256(content).hexdigest()


def test_a_part_of_a_file_is_sent(server: Running, digest: str) -> None:
    response = server.client.get(f"/api/artifacts/{digest}", headers={"range": "bytes=250-260"})
    assert response.status_code == 206
    assert response.content == bytes([*range(250, 256), *range(5)])
    assert response.headers["content-range"] == "bytes 250-260/1024"


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("bytes=1024-", 416),
        ("bytes=-0", 416),
        ("bytes=0-0,-1", 200),
        ("bytes=" + ",".join("0-" for _ in range(1000)), 200),
        ("bytes=9-1", 200),
        ("bytes=0-" + "9" * 500, 200),
        ("bytes=-" + "9" * 15, 206),
        ("items=0-1", 200),
    ],
)
def test_no_range_gets_more_than_the_file_once(
    server: Running, digest: str, header: str, status: int
) -> None:
    response = server.client.get(f"/api/artifacts/{digest}", headers={"range": header})
    assert response.status_code == status
    assert len(response.content) <= 1024


def test_a_file_that_the_client_has_is_not_sent_again(server: Running, digest: str) -> None:
    etag = server.client.head(f"/api/artifacts/{digest}").headers["etag"]
    known = server.client.get(f"/api/artifacts/{digest}", headers={"if-none-match": f'"x", {etag}'})
    assert (known.status_code, known.content) == (304, b"")
    headers = {"range": "bytes=0-1", "if-range": '"other"'}
    assert server.client.get(f"/api/artifacts/{digest}", headers=headers).status_code == 200
    headers = {"range": "bytes=0-1", "if-range": etag}
    assert server.client.get(f"/api/artifacts/{digest}", headers=headers).status_code == 206


def test_a_name_cannot_add_a_header(server: Running, digest: str) -> None:
    name = 'a"\r\nset-cookie: x=1\r\n\r\n<script>.html'
    response = server.client.get(f"/api/artifacts/{digest}", params={"name": name})
    assert response.status_code == 200
    assert "set-cookie" not in response.headers
    assert response.headers["content-disposition"].startswith("attachment; ")


def test_a_name_that_is_too_long_is_refused(server: Running, digest: str) -> None:
    response = server.client.get(f"/api/artifacts/{digest}", params={"name": "x" * 2000})
    assert response.status_code == 422


def test_a_file_that_was_changed_is_not_sent(server: Running) -> None:
    artifact = server.service.host.artifacts("a.txt", b"as it was")
    path = server.service.host.artifacts.folder / artifact.path
    path.chmod(0o600)
    path.write_bytes(b"forged it")
    response = server.client.get(f"/api/artifacts/{artifact.digest}")
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "artifact_damaged"
    assert "forged" not in response.text


def test_scripts_of_a_chat_do_not_run_on_its_page(server: Running) -> None:
    chunks(server.say("<script>alert(1)</script>", "html"))
    response = server.client.get("/api/timelines/html/page")
    assert "<script" not in response.text
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
