from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from click.testing import Result

from callblocks.cli.options.state_folder import TOKEN, kept_token, state_folder
from callblocks.server.app import NO_TOKEN
from support.chat_server import chunks, client_of, posted, said
from support.command import run
from support.command_home import move_in

PROGRAM = "from callblocks.cli.commands.serve import command; command()"


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CALLBLOCKS_TOKEN", raising=False)
    return move_in(tmp_path, monkeypatch)


def _serve(*args: str) -> Result:
    return run("serve", *args)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_an_address_that_others_reach_needs_a_token(host: str) -> None:
    result = _serve("--host", host)
    assert result.exit_code == 2
    assert "give a token" in result.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--role", "worker"], "needs --store postgresql://"),
        (["--role", "api", "--store", "here.sqlite"], "needs --store postgresql://"),
        (["--limit", "running=3"], "for processes with a --role"),
        (["--proxy", "everywhere"], "is no network"),
        (["--proxy", "10.0.0.1/8"], "is no network"),
    ],
)
def test_a_cluster_without_what_it_needs_is_usage(args: list[str], words: str) -> None:
    result = _serve(*args)
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_token_that_is_none_is_usage() -> None:
    result = _serve("--token", "short")
    assert result.exit_code == 2
    assert "a token has at least 16" in result.stderr


def test_an_origin_that_is_none_is_usage() -> None:
    result = _serve("--origin", "*")
    assert result.exit_code == 2
    assert "is no origin" in result.stderr


def test_a_port_that_is_taken_is_usage() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = _serve("--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "name another with --port" in result.stderr


def test_a_model_that_is_none_is_usage() -> None:
    result = _serve("--port", "0", "--model", "nobody")
    assert result.exit_code == 2
    assert "nobody" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_store_that_cannot_be_opened_is_told_without_its_password(tmp_path: Path) -> None:
    result = _serve("--port", "0", "--store", "postgresql://me:hidden@127.0.0.1:1/x")
    assert result.exit_code == 1
    assert "store_unavailable" in result.stderr
    assert "hidden" not in result.stderr


def test_it_says_its_address_serves_and_ends_when_told(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/hello.md").write_text("---\nmatch: [hello]\npace: 0\n---\nHello too.\n")
    model = f"scripted:{tmp_path / 'scripts'}"
    server = subprocess.Popen(
        [
            *(sys.executable, "-c", PROGRAM, "--port", "0", "--sdk-version", "6"),
            *("--model", model, "--public-url", "https://Chat.example:443/"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "CALLBLOCKS_TOKEN": "a-token-of-16-or-more"},
        text=True,
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert server.stdout.readline() == "https://chat.example\n"
        headers = {"authorization": "Bearer a-token-of-16-or-more"}
        with httpx2.Client(base_url=address, headers=headers, timeout=120) as client:
            assert client.get("/api/health").json()["sdk_version"] == 6
            assert said(chunks(client.post("/api/chat", json=posted("Hello"))))
            assert client.get("/api/models").json()["models"][0]["suggestions"]
        server.send_signal(signal.SIGTERM)
        output, errors = server.communicate(timeout=120)
        assert server.returncode == -signal.SIGTERM
        assert output == ""
        assert errors.strip() == (
            "callblocks: no call runs: give --ask, --allow, --allow-trait or --policy"
        )
    finally:
        server.kill()
        server.communicate()


def _printed(*args: str) -> tuple[str, str]:
    """What a server prints first, and its errors once it has ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "--port", "0", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with client_of(address) as client:
            assert client.get("/api/tools").status_code == 200
        process.send_signal(signal.SIGTERM)
        return address, process.communicate(timeout=120)[1]
    finally:
        process.kill()
        process.communicate()


def test_a_server_on_loopback_has_a_token_that_only_its_owner_reads() -> None:
    first, errors = _printed()
    assert "no token" not in errors
    token = first.partition("/#token=")[2]
    kept = state_folder() / TOKEN
    assert kept.read_text().strip() == token
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept_token(state_folder()) == token
    kept.chmod(0o644)
    assert kept_token(state_folder()) != token, "others may have read it"


def test_a_server_without_a_token_says_it_aloud() -> None:
    address, errors = _printed("--no-token")
    assert "#token" not in address
    assert NO_TOKEN in errors


def test_a_token_and_none_exclude_each_other() -> None:
    result = _serve("--no-token", "--token", "a-token-of-16-or-more")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr
