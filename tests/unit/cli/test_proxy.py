"""`callblocks proxy`: what it finds, checks and explains, and that clients are answered."""

from __future__ import annotations

import base64
import json
import logging
import re
import socket
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest

from callblocks.gateway import server
from callblocks.gateway.config import GatewayConfig
from callblocks.gateway.explanation import playground_link, wire_of_body
from callblocks.gateway.server import Found, config_of_found, discover, ready_lines
from support.command import run
from support.model_server import ModelServer

TOOL = {"name": "look", "description": "Look.", "parameters": {"type": "object"}}
REQUEST = {
    "model": "any",
    "messages": [{"role": "user", "content": "What is there?"}],
    "tools": [{"type": "function", "function": TOOL}],
}


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CALLBLOCKS_CONFIG", "CALLBLOCKS_GATEWAY", "XDG_CONFIG_HOME", "CALLBLOCKS_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two servers that run; at the ports of all others nobody listens."""
    with ModelServer(models=("qwen3", "nomic-embed-text")) as ollama, ModelServer() as silent:
        found = {
            name: msgspec.structs.replace(server.SERVERS[name], address=address)
            for name, address in (
                ("ollama", ollama.url),
                ("vllm", silent.url),
                ("llama.cpp", "http://127.0.0.1:1/v1"),
            )
        }
        monkeypatch.setattr("callblocks.models.openai.known_servers.SERVERS", found)
        monkeypatch.setattr("callblocks.models.open_model.SERVERS", found)
        monkeypatch.setattr("callblocks.gateway.server.SERVERS", found)
        monkeypatch.delenv("OLLAMA_HOST", raising=False)
        yield ollama


def test_what_runs_on_this_machine_is_found(servers: ModelServer) -> None:
    (found,) = discover()
    assert (found.server, found.models) == ("ollama", ("qwen3", "nomic-embed-text"))


def test_models_for_embeddings_are_no_default(servers: ModelServer) -> None:
    config = config_of_found(discover(), GatewayConfig())
    assert list(config.models) == ["ollama:qwen3", "ollama:nomic-embed-text"]
    assert config.default == "ollama:qwen3"
    alone = [Found("ollama", "", "", ("nomic-embed-text", "bge-rerank"))]
    assert not config_of_found(alone, GatewayConfig()).models


def test_where_nothing_runs_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callblocks.gateway.server.discover", list)
    result = run("proxy")
    assert result.exit_code == 2
    for words in ("ollama (http://127.0.0.1:11434/v1)", "lmstudio", "--model scripted"):
        assert words in result.stderr


def test_a_check_asks_each_upstream(tmp_path: Path) -> None:
    with ModelServer(models=("qwen3",)) as server:
        path = tmp_path / "gateway.toml"
        entry = f'address = "{server.url}#'
        path.write_text(f'[models.a]\n{entry}qwen3"\n[models.b]\naddress = "scripted"\n')
        good = run("proxy", "--config", str(path), "--check")
        path.write_text(f'[models.a]\n{entry}qwen"\n[clients.c]\nkey_env = "NO_SUCH_KEY"\n')
        bad = run("proxy", "--config", str(path), "--check")
    assert good.exit_code == 0
    assert "has qwen3" in good.stdout
    assert "on this machine" in good.stdout
    assert bad.exit_code == 1
    assert "has no qwen; did you mean qwen3?" in bad.stdout
    assert "NO_SUCH_KEY is not set" in bad.stderr


def test_a_broken_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text("[models.a]\nadress = 1\n")
    result = run("proxy", "--config", str(path), "--check")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "did you mean address?" in result.stderr


def test_a_key_that_is_not_set_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    result = run("proxy", "-m", "scripted", "--key-env", "NO_SUCH_KEY")
    assert result.exit_code == 2
    assert "NO_SUCH_KEY is not set" in result.stderr


def test_other_machines_need_a_key() -> None:
    result = run("proxy", "-m", "scripted", "--host", "0.0.0.0", "--port", "0")
    assert result.exit_code == 2
    assert "--key-env" in result.stderr


def test_a_port_in_use_is_said_with_the_way_out() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("proxy", "-m", "scripted", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "it is in use; name another with --port" in result.stderr


def _started(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    """Run the command up to where it would serve; return what it says."""

    def told_at_once(*given: Any) -> None:
        given[-1]("http://127.0.0.1:8787")

    monkeypatch.setattr("callblocks.gateway.server.serve", told_at_once)
    return run("proxy", *arguments)


def test_where_an_unknown_name_leads_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gateway.toml"
    models = '[models.a]\naddress = "scripted"\n[models.b]\naddress = "scripted"\n'
    path.write_text(models)
    without = _started(monkeypatch, "--config", str(path))
    path.write_text(f'default = "b"\n{models}')
    given = _started(monkeypatch, "--config", str(path))
    assert "models: a, b; any other name is a 404\n" in without.stdout
    assert "models: a, b; any other name is b\n" in given.stdout


def test_the_printed_lines_use_the_short_name_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _started(monkeypatch, "-m", "http://127.0.0.1:1/v1#tiny")
    assert "ANTHROPIC_MODEL=tiny" in result.stdout


def test_keys_that_are_not_set_are_said_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    path = tmp_path / "gateway.toml"
    address = 'address = "http://127.0.0.1:1/v1#m"'
    path.write_text(
        f'[models.a]\n{address}\nkey_env = "NO_SUCH_KEY"\n[clients.c]\nkey_env = "NO_SUCH_KEY"\n'
    )
    result = _started(monkeypatch, "--config", str(path))
    assert "clients.c: NO_SUCH_KEY is not set; nobody gets in by it" in result.stderr
    assert "models.a: NO_SUCH_KEY is not set; export it, or requests fail" in result.stderr


@pytest.mark.parametrize(("option", "lines"), [((), 2), (("--quiet",), 1)])
def test_the_log_has_each_request_or_faults_alone(
    option: tuple[str, ...],
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = logging.getLogger("callblocks.gateway")
    state = log.level, log.propagate, log.handlers

    def serve(*_: object) -> None:
        log.info("a request for %s", "/\n\x1b[31m")
        log.warning("a fault")

    monkeypatch.setattr("callblocks.gateway.server.serve", serve)
    result = run("proxy", "-m", "scripted", *option)
    log.setLevel(state[0])
    log.propagate, log.handlers = state[1:]
    assert len(result.stderr.splitlines()) == lines
    assert "\x1b" not in result.stderr


def test_an_explanation_has_the_prompt_and_the_reading(tmp_path: Path) -> None:
    request, reply = tmp_path / "request.json", tmp_path / "reply.txt"
    request.write_text(json.dumps(REQUEST))
    reply.write_text('<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>')
    result = run("proxy", "-m", "scripted", "--explain", str(request), "--reply", str(reply))
    assert result.exit_code == 0
    for words in ("wire: chat", "dialect: hermes", "## look", "What is there?", "call: look {}"):
        assert words in result.stdout
    assert re.search(r"/playground#text=\S+&dialect=hermes", result.stdout)


def test_an_explanation_of_no_request_is_usage(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text("nothing")
    assert run("proxy", "-m", "scripted", "--explain", str(path)).exit_code == 2
    assert run("proxy", "-m", "scripted", "--reply", str(path)).exit_code == 2


@pytest.mark.parametrize(
    ("body", "wire"),
    [
        ({"input": "Hi"}, "responses"),
        ({"messages": [], "system": "S"}, "messages"),
        ({"messages": [], "tools": [{"input_schema": {}}]}, "messages"),
        ({"messages": [], "options": {}}, "ollama"),
        ({"messages": [], "tools": "x"}, "chat"),
    ],
)
def test_a_body_tells_its_wire(body: dict[str, Any], wire: str) -> None:
    assert wire_of_body(body) == wire


def test_a_link_has_the_text_as_the_page_reads_it() -> None:
    given = parse_qs(playground_link("Größe 🛠️", "auto").partition("#")[2])
    packed = given["text"][0]
    padded = packed + "=" * (-len(packed) % 4)
    assert zlib.decompress(base64.urlsafe_b64decode(padded), -15).decode() == "Größe 🛠️"


@pytest.mark.parametrize("has_key", [False, True])
def test_five_clients_have_ready_lines(has_key: bool) -> None:
    lines = dict(ready_lines("http://127.0.0.1:8787", "m", has_key=has_key))
    assert len(lines) == 5
    for own in lines.values():
        assert "http://127.0.0.1:8787" in "\n".join(own)
        assert ("CALLBLOCKS_KEY" in "\n".join(own)) is has_key
    assert json.loads(" ".join(lines["opencode (opencode.json)"]))
