"""A small model behind llama.cpp's own server, in a process of its own.

with llama_server(qwen_weights(), NAME) as address: ...
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ("llama_server",)

_TESTS = Path(__file__).parents[1]


@contextmanager
def llama_server(weights: Path, name: str) -> Iterator[str]:
    """Start one; give its address without a path."""
    program = [sys.executable, "-m", "support.llama_program", os.fspath(weights), name]
    with subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.fspath(_TESTS)},
        text=True,
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), "the server did not start"
        try:
            yield address
        finally:
            server.kill()
