"""Who may ask: wrong tokens, foreign pages, names that were made to lead here."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from callblocks.cli.options.state_folder import TOKEN as TOKEN_FILE
from callblocks.cli.options.state_folder import kept_token
from callblocks.core.errors import CallerError
from callblocks.server.access import OPEN
from callblocks.server.app import ENDPOINTS
from callblocks.server.http.protocol import Strangers
from callblocks.server.pages import PAGES, is_page
from callblocks.server.settings import ServerSettings
from support.chat_server import Running, posted, running_server

TOKEN = "correct-horse-battery-staple"
PAGE = "http://localhost:5173"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running_server(tmp_path_factory.mktemp("access"), origins=(PAGE,)) as running:
        yield running


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("locked")
    with running_server(folder, token=TOKEN) as running:
        yield running


def _code(running: Running, **headers: str) -> str:
    response = running.client.get(
        "/api/tools", headers={k.replace("_", "-"): v for k, v in headers.items()}
    )
    return response.json()["error"]["code"] if response.status_code != 200 else "ok"


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN.upper()}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer \u00ff\u00fe",
    ],
)
def test_a_wrong_token_is_refused(locked: Running, authorization: str) -> None:
    headers = [(b"authorization", authorization.encode("latin-1"))] if authorization else []
    response = locked.client.get("/api/tools", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["error"]["code"] == "unauthorized"


def test_the_token_opens_everything(locked: Running) -> None:
    headers = {"authorization": f"bearer {TOKEN}"}
    assert locked.client.get("/api/tools", headers=headers).status_code == 200
    said = locked.client.post("/api/chat", json=posted("Hello"), headers=headers)
    assert said.status_code == 200


def test_two_tokens_are_none(locked: Running) -> None:
    headers = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer other")]
    assert locked.client.get("/api/tools", headers=headers).status_code == 401


@pytest.mark.parametrize(
    "path", ["/api/tools", "/metrics", "/api/openapi.json", "/nothing", "/api/chat"]
)
def test_without_the_token_nothing_is_told_not_even_what_there_is(
    locked: Running, path: str
) -> None:
    assert locked.client.get(path).status_code == 401


def test_health_is_told_to_all_and_its_details_only_with_the_token(locked: Running) -> None:
    assert locked.client.get("/api/health").json() == {"status": "ok"}
    told = locked.client.get("/api/health", headers={"authorization": f"Bearer {TOKEN}"}).json()
    assert told["model"] == "talker"


@pytest.mark.parametrize(
    "path", ["/api/health/", "//api/health", "/api/health/../tools", "/API/health"]
)
def test_no_spelling_of_health_opens_another_address(locked: Running, path: str) -> None:
    assert b" 401 " in locked.raw(
        f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode()
    )


@pytest.mark.parametrize(
    "host", ["evil.net", "evil.net:80", "localhost.evil.net", "127.0.0.1.nip.io", "192.168.0.1"]
)
def test_a_name_that_was_made_to_lead_here_gets_nothing(server: Running, host: str) -> None:
    assert _code(server, host=host) == "foreign_host"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]", "127.9.9.9"])
def test_names_of_this_machine_are_answered(server: Running, host: str) -> None:
    assert _code(server, host=host) == "ok"


PUBLIC = ("https://Chat.Example", "http://[2001:db8::1]:8080", "https://bücher.example:8443")


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("public")
    with running_server(folder, token=TOKEN, public_urls=PUBLIC, rate=0.001, burst=200) as running:
        running.client.headers["authorization"] = f"Bearer {TOKEN}"
        yield running


@pytest.mark.parametrize(
    ("host", "code"),
    [
        *(("chat.example", "ok"), ("CHAT.example.:99", "ok"), ("[2001:DB8::0:1]", "ok")),
        *(("xn--bcher-kva.example", "ok"), ("localhost", "ok"), ("127.0.0.1:1", "ok")),
        *(("www.chat.example", "foreign_host"), ("chat.example.evil.net", "foreign_host")),
        *(("evilchat.example", "foreign_host"), ("[2001:db8::2]", "foreign_host")),
    ],
)
def test_the_names_of_public_urls_are_answered(public: Running, host: str, code: str) -> None:
    assert _code(public, host=host) == code


@pytest.mark.parametrize(
    ("host", "origin", "code"),
    [
        ("chat.example", "https://chat.example", "ok"),
        # A proxy may name the address that it asks.
        ("127.0.0.1:8765", "https://chat.example", "ok"),
        ("[2001:db8::1]", "http://[2001:db8::1]:8080", "ok"),
        ("xn--bcher-kva.example", "https://xn--bcher-kva.example:8443", "ok"),
        ("localhost:8765", "http://localhost:8765", "ok"),
        ("chat.example", "http://chat.example", "foreign_origin"),
        ("chat.example:8443", "https://chat.example:8443", "foreign_origin"),
        ("chat.example", "https://www.chat.example", "foreign_origin"),
        ("chat.example", "null", "foreign_origin"),
        ("evil.net", "https://chat.example", "foreign_host"),
    ],
)
def test_the_pages_of_public_urls_may_ask(
    public: Running, host: str, origin: str, code: str
) -> None:
    assert _code(public, host=host, origin=origin) == code


def test_a_public_url_opens_nothing_without_the_token(public: Running) -> None:
    assert _code(public, host="chat.example", authorization="") == "unauthorized"


def test_clients_of_a_proxy_are_counted_one_by_one(public: Running) -> None:
    def codes(address: str) -> set[str]:
        return {_code(public, x_forwarded_for=f"spoofed, {address}") for _ in range(205)}

    assert codes("192.0.2.7") == {"ok", "too_many_requests"}
    assert _code(public, x_forwarded_for="192.0.2.8") == "ok"
    assert _code(public, x_forwarded_for="192.0.2.8, 192.0.2.7") == "too_many_requests"


def test_without_a_proxy_nobody_says_who_they_are(tmp_path: Path) -> None:
    with running_server(tmp_path, rate=0.001, burst=1) as running:
        assert _code(running, x_forwarded_for="192.0.2.7") == "ok"
        assert _code(running, x_forwarded_for="192.0.2.8") == "too_many_requests"


@pytest.mark.parametrize(
    ("network", "is_believed"), [("127.0.0.0/8", True), ("10.0.0.0/8", False), ("fd00::/8", False)]
)
def test_proxies_of_a_network_say_who_asks(tmp_path: Path, network: str, is_believed: bool) -> None:
    with running_server(tmp_path, rate=0.001, burst=1, proxies=(network,)) as running:
        assert _code(running, x_forwarded_for="192.0.2.7") == "ok"
        code = _code(running, x_forwarded_for="192.0.2.8")
    assert code == ("ok" if is_believed else "too_many_requests")


@pytest.mark.parametrize(
    "head", ["", "host: localhost\r\nhost: evil.net\r\n", "host: a b\r\n", "host: \r\n"]
)
def test_a_request_has_one_host(server: Running, head: str) -> None:
    request = f"GET /api/tools HTTP/1.1\r\n{head}connection: close\r\n\r\n"
    assert b" 400 " in server.raw(request.encode())


@pytest.mark.parametrize(
    "origin",
    [
        *("null", "http://evil.net", "http://localhost:5174", "https://localhost:5173", "file://"),
        *("http://localhost:5173.evil.net", "http://[", "http://127.0.0.1", ""),
    ],
)
def test_a_page_of_another_origin_gets_nothing(server: Running, origin: str) -> None:
    assert _code(server, origin=origin) == "foreign_origin"
    response = server.client.post(
        "/api/chat", json=posted("Hi", "foreign"), headers={"origin": origin}
    )
    assert response.status_code == 403
    assert "access-control-allow-origin" not in response.headers
    assert server.client.get("/api/chat/foreign").status_code == 404


def test_our_own_pages_may_ask(server: Running) -> None:
    assert (
        _code(server, origin=f"http://127.0.0.1:{server.port}", sec_fetch_site="same-origin")
        == "ok"
    )


def test_a_picture_or_link_on_a_foreign_page_gets_nothing(server: Running) -> None:
    assert _code(server, sec_fetch_site="cross-site") == "foreign_origin"
    assert _code(server, sec_fetch_site="none") == "ok"


def test_a_page_that_is_named_may_ask_and_read(server: Running) -> None:
    headers = {"origin": PAGE, "sec-fetch-site": "cross-site"}
    response = server.client.get("/api/tools", headers=headers)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == PAGE
    assert "Origin" in response.headers["vary"]


def test_only_a_page_that_is_named_gets_through_its_browser(server: Running) -> None:
    asked = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    allowed = server.client.options("/api/chat", headers={"origin": PAGE, **asked})
    assert allowed.status_code == 204
    assert "content-type" in allowed.headers["access-control-allow-headers"]
    refused = server.client.options("/api/chat", headers={"origin": "http://evil.net", **asked})
    assert refused.status_code == 403


def test_a_named_page_still_needs_the_token(tmp_path: Path) -> None:
    with running_server(tmp_path, token=TOKEN, origins=(PAGE,)) as running:
        response = running.client.get("/api/tools", headers={"origin": PAGE})
        assert response.status_code == 401
        assert response.headers["access-control-allow-origin"] == PAGE


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json", ""],
)
@pytest.mark.parametrize("path", ["/api/chat", "/api/chat/x/stop", "/api/approvals/a"])
def test_a_form_cannot_post(server: Running, path: str, content_type: str) -> None:
    response = server.client.post(path, content=b"{}", headers={"content-type": content_type})
    assert response.status_code == 415


@pytest.mark.parametrize("action", ["stop", "resume"])
def test_what_needs_no_body_needs_no_type(server: Running, action: str) -> None:
    server.say("Hello", "bare")
    path, status = f"/api/chat/bare/{action}", 200 if action == "stop" else 409
    assert server.client.post(path).status_code == status
    assert server.client.post(path, content=b"{}").status_code == 415
    assert server.client.post(path, content=b"{", headers=JSON).status_code == 400
    assert server.client.post(path, headers={"content-type": "text/plain"}).status_code == 415


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.net"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"origin": "http://evil.net", "sec-fetch-site": "cross-site"},
    ],
)
@pytest.mark.parametrize("action", ["stop", "resume"])
def test_a_foreign_page_cannot_post_without_a_body(
    server: Running, action: str, headers: dict[str, str]
) -> None:
    response = server.client.post(f"/api/chat/bare/{action}", headers=headers)
    assert response.json()["error"]["code"] == "foreign_origin"


def test_a_web_socket_is_not_opened(server: Running) -> None:
    request = (
        "GET /api/chats HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, close\r\n"
        "upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: eA==\r\n\r\n"
    )
    assert b" 101 " not in server.raw(request.encode())


def test_a_foreign_page_does_not_use_up_the_requests_of_others(tmp_path: Path) -> None:
    with running_server(tmp_path, rate=0.01, burst=2) as running:
        assert {_code(running, origin="http://evil.net") for _ in range(5)} == {"foreign_origin"}
        assert _code(running) == "ok"


def test_a_request_that_is_refused_with_its_body_ends_the_connection(server: Running) -> None:
    head = "POST /api/chat HTTP/1.1\r\nhost: localhost\r\norigin: http://evil.net\r\n"
    for body in ("content-length: 100", "transfer-encoding: chunked"):
        answer = server.raw(f"{head}{body}\r\n\r\n".encode())
        assert b" 403 " in answer
        assert b"connection: close" in answer


def _cookie(locked: Running) -> tuple[str, str]:
    signed = locked.client.post("/api/sign-in", headers={"authorization": f"Bearer {TOKEN}"})
    locked.client.cookies.clear()
    cookie, _, flags = signed.headers["set-cookie"].partition(";")
    return cookie, flags


_AS_ANOTHER = """
import encodings.idna, http.client, json, os, sys
routes = json.load(sys.stdin)
if os.geteuid() == 0:  # what is imported is not readable afterwards
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    token = open({file!r}).read()
except OSError as error:
    token = type(error).__name__
answers = []
for method, path in routes:
    connection = http.client.HTTPConnection("127.0.0.1", {port}, timeout=120)
    body = b"{{}}" if method == "POST" else None
    named = path.replace("{{", "").replace("}}", "").replace(":", "")
    connection.request(method, named, body, {{"content-type": "application/json"}})
    answers.append((path, connection.getresponse().status))
    connection.close()
print(json.dumps({{"token": token, "answers": answers}}))
"""


def test_no_server_starts_without_a_token_unless_that_is_said() -> None:
    with pytest.raises(CallerError, match="every user of this machine"):
        ServerSettings(port=0).check()
    ServerSettings(port=0, no_token=True).check()


def test_without_the_token_every_route_is_closed(locked: Running) -> None:
    closed = [one for one in ENDPOINTS if one.path not in OPEN and not is_page(one.path)]
    assert len(closed) > 20
    for one in closed:
        path = re.sub(r"\{\w+\}", "x", one.path)
        response = locked.client.request(one.method, path)
        assert response.status_code == 401, path
        assert response.json()["error"]["code"] == "unauthorized"


def test_another_user_of_this_machine_gets_nothing_from_a_server_on_loopback(
    locked: Running, tmp_path: Path
) -> None:
    # Whoever cannot become another user asks as this one, who has no token either.
    kept_token(tmp_path)
    assert stat.S_IMODE((tmp_path / TOKEN_FILE).stat().st_mode) == 0o600
    program = _AS_ANOTHER.format(file=str(tmp_path / TOKEN_FILE), port=locked.port)
    routes = [(one.method, one.path) for one in ENDPOINTS]
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(routes),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    told = json.loads(done.stdout)
    assert os.geteuid() != 0 or told["token"] == "PermissionError"
    opened = {path for path, status in told["answers"] if status not in (401, 403)}
    assert opened == {*OPEN, *PAGES, "/web/{path}"}


def test_a_browser_exchanges_the_token_for_a_cookie_that_no_script_reads(locked: Running) -> None:
    cookie, flags = _cookie(locked)
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {one.strip() for one in flags.split(";")}
    assert TOKEN not in cookie
    assert str(locked.port) in cookie
    for site in ({}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}):
        assert _code(locked, cookie=cookie, **site) == "ok"
    health = locked.client.get("/api/health", headers={"cookie": cookie}).json()
    assert health["model"] == "talker"


def test_nobody_gets_a_cookie_without_the_token(locked: Running) -> None:
    cookie, _ = _cookie(locked)
    for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": f"{cookie}0"}):
        response = locked.client.post("/api/sign-in", headers=headers)
        assert response.status_code == 401
        assert "set-cookie" not in response.headers


def test_a_cookie_is_for_our_own_pages_alone(
    locked: Running, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cookie, _ = _cookie(locked)
    name, _, value = cookie.partition("=")
    assert _code(locked, cookie=f"{name}={TOKEN}") == "unauthorized"
    assert _code(locked, cookie=f"{name}x={value}") == "unauthorized"
    # A page of another port of this machine is the same site.
    assert _code(locked, cookie=cookie, sec_fetch_site="same-site") == "unauthorized"
    assert _code(locked, cookie=cookie, authorization="Bearer wrong") == "unauthorized"
    folder = tmp_path_factory.mktemp("allowed")
    with running_server(folder, token=TOKEN, origins=(PAGE,)) as other:
        own = f"callblocks-{other.port}={value}"
        assert _code(other, cookie=own) == "ok"
        assert _code(other, cookie=own, origin=PAGE) == "unauthorized"


def _idle(server: Running, count: int) -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", server.port), timeout=120) for _ in range(count)]


def test_idle_connections_without_the_token_keep_nobody_out(tmp_path: Path) -> None:
    many = {"max_connections": 20, "max_strangers": 10, "stranger_timeout": 600.0}
    with running_server(tmp_path, token=TOKEN, **many) as server:
        headers = {"authorization": f"Bearer {TOKEN}"}
        with httpx2.Client(base_url=server.client.base_url, headers=headers, timeout=120) as known:
            assert known.get("/api/tools").status_code == 200
            idle = _idle(server, 100)
            try:
                # The oldest are gone, and so are those that asked without a token.
                assert idle[0].recv(1) == b""
                assert server.client.get("/api/tools").status_code == 401
                assert server.client.get("/api/tools", headers=headers).status_code == 200
                assert len(server.server.server_state.connections) <= 20
                # Who was known before the flood is still connected.
                assert known.get("/api/tools").status_code == 200
            finally:
                for one in idle:
                    one.close()


def test_strangers_of_the_address_that_has_most_go_first() -> None:
    strangers, gone = Strangers(3), list[str]()

    def stranger(address: str, *, is_answering: bool = False) -> Any:
        def abort() -> None:
            gone.append(address)

        transport = SimpleNamespace(abort=abort)
        return _Stranger(address=address, is_answering=is_answering, transport=transport)

    for one in ("a", "b", "b"):
        strangers.add(stranger(one))
    strangers.add(stranger("c"))
    assert gone == ["b"]
    assert len(strangers) == 3
    busy = Strangers(0)
    answering = stranger("a", is_answering=True)
    busy.add(answering)
    assert not busy.make_room(but=stranger("b"))
    busy.discard(answering)
    busy.discard(answering)
    assert len(busy) == 0


class _Stranger(SimpleNamespace):
    """A connection; each is itself."""

    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType] they are told apart
    __eq__ = object.__eq__


def test_a_stranger_who_only_waits_is_cut_off(tmp_path: Path) -> None:
    with running_server(tmp_path, token=TOKEN, stranger_timeout=0.05) as server:
        (waiting,) = _idle(server, 1)
        with waiting:
            assert waiting.recv(1) == b""


def test_a_stranger_who_asks_again_before_the_answer_is_cut_off(tmp_path: Path) -> None:
    with running_server(tmp_path, token=TOKEN) as server:
        one = b"GET /playground HTTP/1.1\r\nhost: localhost\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=120) as asking:
            asking.sendall(one * 300)
            received = b""
            with suppress(ConnectionError):
                while more := asking.recv(65536):
                    received += more
        assert received.count(b"HTTP/1.1 200") <= 1
        assert server.client.get("/api/health").status_code == 200


def test_strangers_do_not_use_up_the_requests_of_their_machine(tmp_path: Path) -> None:
    with running_server(tmp_path, token=TOKEN, rate=0.001, burst=3) as server:
        codes = [server.client.get("/api/health").status_code for _ in range(5)]
        assert codes == [200, 200, 200, 429, 429]
        known = {"authorization": f"Bearer {TOKEN}"}
        codes = [server.client.get("/api/health", headers=known).status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
