"""Record what Codex and Claude Code ask: `PYTHONPATH=tests python -m clients.recorder`.

Their requests pass a recorder before the gateway. What is kept of them, in `recorded/`, says
nothing of the machine, and long texts are cut short: it is their shape that a gateway must take.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2

from clients.__main__ import install_npm
from support.agents import AGENTS, run_agent
from support.gateway import gateway
from support.scripted_upstream import ScriptedUpstream

FOLDER = Path(__file__).with_name("recorded")
RECORDED = ("Codex", "Claude Code")
LONGEST = 160
_HEADERS = ("anthropic-beta", "anthropic-version", "content-type", "originator", "x-app")
_CLEAN = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "0" * 8),
    (re.compile(r"\b[0-9a-f]{64}\b"), "0" * 64),
    (re.compile(r"\d{4}-\d\d-\d\d(?!\d)(?=[^-\w]|$)"), "2026-01-01"),
    (re.compile(r"\b1\d{12}\b"), "1700000000000"),
    (re.compile(r"(OS Version: )[^\n]*"), r"\1Linux"),
    (re.compile(r"/tmp/[\w./-]*?/(Codex|Claude Code)/[\w-]+"), "/home/user"),
)


def main() -> None:
    """Write the requests of one round trip of each."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, ScriptedUpstream() as upstream:
        folder = Path(temporary)
        with gateway(upstream, folder) as url:
            for agent in AGENTS:
                if agent.name not in RECORDED:
                    continue
                modules = install_npm(agent.package, agent.version)
                upstream.play(agent.tool, **agent.input)
                kept: list[dict[str, Any]] = []
                with _recorder(url, kept) as recorder:
                    run_agent(agent, modules, recorder, "hermes", folder / agent.name / "home")
                for number, request in enumerate(kept, 1):
                    name = f"{agent.name.lower().replace(' ', '-')}-{number}.json"
                    cleaned = {**request, "body": _cleaned(request["body"])}
                    text = json.dumps(cleaned, indent=1, ensure_ascii=False)
                    (FOLDER / name).write_text(f"{text}\n", "utf-8")


@contextmanager
def _recorder(url: str, kept: list[dict[str, Any]]) -> Iterator[str]:
    """Pass requests on to a gateway, and keep them."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            kept.append(
                {
                    "path": self.path,
                    "headers": {name: headers[name] for name in _HEADERS if name in headers},
                    "body": json.loads(body),
                }
            )
            sent = {name: headers[name] for name in _HEADERS if name in headers}
            reply = httpx2.post(f"{url}{self.path}", content=body, headers=sent, timeout=120)
            self.send_response(reply.status_code)
            self.send_header("content-type", reply.headers["content-type"])
            self.send_header("content-length", str(len(reply.content)))
            self.end_headers()
            self.wfile.write(reply.content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _cleaned(value: Any) -> Any:
    """Return a JSON value without what names a machine or a moment, and with short texts."""
    if isinstance(value, dict):
        return {key: _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if not isinstance(value, str):
        return value
    for pattern, clean in _CLEAN:
        value = pattern.sub(clean, value)
    # JSON within JSON stays whole.
    if len(value) > LONGEST and not value.startswith(("{", "[")):
        return f"{value[:LONGEST].rstrip()} …"
    return value


if __name__ == "__main__":
    main()
