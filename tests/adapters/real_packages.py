"""`make test-adapters`: each adapter with its real package, in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"
CACHE = Path.home() / ".cache" / "callblocks" / "adapters"
# Beside each: what callblocks itself needs for it.
OURS = ("msgspec>=0.19", "PyYAML>=6.0.2", "click>=8.1.7")
PACKAGES = {
    "llm": ("llm==0.36",),
    "langchain": ("langchain-core==1.7.2",),
    "agents": ("openai-agents==0.24.0",),
    "litellm": ("litellm==1.83.0",),
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
