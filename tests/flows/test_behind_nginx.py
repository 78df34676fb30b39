"""A server on loopback behind nginx on the same machine, by the very block that the docs show."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.chat_server import Running, lines, posted, running_server, said
from support.pages import ROOT, code_blocks

TOKEN = "correct-horse-battery-staple"
NAME = "chat.example"
PAGE = ROOT / "docs" / "tasks" / "serve-behind-a-proxy.md"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("server")
    settings: dict[str, Any] = {"token": TOKEN, "public_urls": (f"https://{NAME}",)}
    with running_server(folder, **settings) as running:
        yield running


@pytest.fixture(scope="module")
def proxy(server: Running, tmp_path_factory: pytest.TempPathFactory) -> Generator[httpx2.Client]:
    folder = tmp_path_factory.mktemp("nginx")
    key, certificate, port = folder / "key", folder / "certificate", _free_port()
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"),
            *("-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    (block,) = [one.text for one in code_blocks(PAGE.read_text("utf-8")) if one.language == "nginx"]
    for shown, here in (
        (r"listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        (r"/etc/ssl/chat\.example\.pem", str(certificate)),
        (r"/etc/ssl/chat\.example\.key", str(key)),
        (r"127\.0\.0\.1:8765", f"127.0.0.1:{server.port}"),
    ):
        block, count = re.subn(shown, here, block)
        assert count == 1, shown
    trusted = ssl.create_default_context(cafile=str(certificate))
    with (
        nginx(folder, block),
        httpx2.Client(
            base_url=f"https://127.0.0.1:{port}",
            verify=trusted,
            headers={"host": NAME, "authorization": f"Bearer {TOKEN}"},
            timeout=120,
        ) as client,
    ):
        client.event_hooks["request"].append(_name_the_server)
        yield client


def _name_the_server(request: httpx2.Request) -> None:
    request.extensions["sni_hostname"] = NAME


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_a_stream_arrives_as_it_is_written(server: Running, proxy: httpx2.Client) -> None:
    server.model.gate.clear()
    with proxy.stream("POST", "/api/chat", json=posted("slow boat", "streamed")) as response:
        assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
        chunks = lines(response.iter_lines())
        first = next(chunk for chunk in chunks if chunk["type"] == "text-delta")
        # The model says no more before this was read.
        assert first["delta"] == "One. "
        server.model.gate.set()
        assert said(chunks).startswith("Two. ")


def test_the_page_and_what_it_asks_are_answered(proxy: httpx2.Client) -> None:
    assert "<!doctype html>" in proxy.get("/").text.lower()
    own = {"origin": f"https://{NAME}", "sec-fetch-site": "same-origin"}
    assert proxy.get("/api/tools", headers=own).status_code == 200
    answer = proxy.post("/api/chat", json=posted("Hello", "paged"), headers=own)
    assert said(lines(answer.text.splitlines())) == "You said: Hello"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"host": "evil.example"}, "foreign_host"),
        ({"host": f"{NAME}.evil.example"}, "foreign_host"),
        ({"origin": "https://evil.example"}, "foreign_origin"),
        ({"origin": f"http://{NAME}"}, "foreign_origin"),
        ({"sec-fetch-site": "cross-site"}, "foreign_origin"),
        ({"authorization": "Bearer none-of-this-server"}, "unauthorized"),
    ],
)
def test_all_others_get_nothing(proxy: httpx2.Client, headers: dict[str, str], code: str) -> None:
    answer = proxy.get("/api/tools", headers=headers)
    assert json.loads(answer.text)["error"]["code"] == code


def test_a_body_of_any_allowed_size_passes(proxy: httpx2.Client) -> None:
    prompt = posted("Hello", "large")
    file = {"type": "file", "mediaType": "text/plain", "filename": "words.txt"}
    url = f"data:text/plain,{'word,' * 1_000_000}"
    prompt["messages"][0]["parts"].append({**file, "url": url})
    answer = proxy.post("/api/chat", json=prompt)
    assert said(lines(answer.text.splitlines())) == "You said: Hello"


_PLACES = (Path(sys.prefix) / "nginx" / "usr" / "sbin" / "nginx", Path("/usr/sbin/nginx"))

_FRAME = """
{user}
pid nginx.pid;
error_log error.log;
worker_processes 1;
events {{}}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
{server}
}}
"""


@contextmanager
def nginx(folder: Path, server: str) -> Generator[None]:
    """Run a `server` block; what nginx complains of fails the test."""
    # Started by root, its worker would be somebody else, who cannot enter the folder.
    user = f"user {getuser()};" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(_FRAME.format(user=user, server=server))
    known = shutil.which("nginx") or next((os.fspath(one) for one in _PLACES if one.exists()), "")
    assert known, "run scripts/setup first"
    command = [known, "-e", "error.log", "-p", os.fspath(folder), "-c", "nginx.conf"]
    # It goes into the background once it listens.
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    try:
        yield
    finally:
        os.kill(int((folder / "nginx.pid").read_text()), signal.SIGTERM)
    assert (folder / "error.log").read_text() == ""
