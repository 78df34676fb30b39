"""`make test-adapters`: each adapter with its real package, in an environment of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from callblocks import Registry, tool
from callblocks.core.calls import Call
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from support.scripted_sessions import Replies, run_turn, some_host, write

HERE = Path(__file__).parent
ALLOWED = Policy((Rule(decide="allow", tool=("weather",)),))
SOURCES = HERE.parents[1] / "src"
CACHE = Path.home() / ".cache" / "callblocks" / "adapters"
# Beside each: what callblocks itself needs for it.
OURS = ("msgspec>=0.19", "PyYAML>=6.0.2", "click>=8.1.7")
PACKAGES = {
    "llm": ("llm==0.36",),
    "langchain": ("langchain-core==1.7.2",),
    "agents": ("openai-agents==0.24.0",),
    "litellm": ("litellm==1.83.0",),
    "inspect": ("inspect_ai==0.3.285",),
    "transformers": ("transformers", "tokenizers", "jinja2"),
}


def _python(name: str) -> Path:
    folder = CACHE / name
    wanted, installed = "\n".join((*PACKAGES[name], *OURS)), folder / "installed"
    if not installed.exists() or installed.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=300)
        pip = (folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-qq")
        subprocess.run([*pip, "install", *PACKAGES[name], *OURS], check=True, timeout=900)
        installed.write_text(wanted)
    return folder / "bin" / "python"


def _made_timeline(folder: Path) -> dict[str, str]:
    """Make a timeline with a call in it, and an installed plugin; return where both are."""
    call = write("hermes", Call(id="c1", name="weather", input={"city": "Oslo"}))
    model = Replies(f"I look.\n{call}", "It rains in Oslo.")

    def weather(city: str) -> str:
        """Tell the weather."""
        return f"rain over {city}"

    tools = Registry([tool(weather)])
    with some_host(folder, model, policy=ALLOWED, tools=tools) as host:
        asyncio.run(run_turn(host.session("trip"), "Oslo?"))
    about = folder / "plugin" / "callblocks-0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: callblocks\nVersion: 0\n")
    (about / "entry_points.txt").write_text("[llm]\ncallblocks = callblocks.adapters.llm_plugin\n")
    return {
        "PYTHONPATH": os.pathsep.join((str(SOURCES), str(about.parent))),
        "CALLBLOCKS_HOME": str(folder / "state"),
        "LLM_USER_PATH": str(folder / "plugin"),
    }


def test_a_timeline_is_read_in_the_log_of_llm(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **_made_timeline(tmp_path)}
    command = [_python("llm"), HERE / "in_framework.py", "timeline"]
    subprocess.run(command, env=env, timeout=300, check=True)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_model_without_tools_calls_a_tool_through(name: str) -> None:
    done = subprocess.run(
        [_python(name), HERE / "in_framework.py", name],
        env={"PYTHONPATH": str(SOURCES), "PATH": "/usr/bin:/bin", "HOME": str(CACHE)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    # Whole and streamed: the tool ran with its input, and the model saw what it gave.
    assert [one.splitlines()[-1] for one in told["answers"]] == ["It rains in Oslo."] * 2
    assert told["inputs"] == ["Oslo"] * 2
    assert "weather" in told["asked"][0]
    assert "rain over" in told["asked"][-1]
