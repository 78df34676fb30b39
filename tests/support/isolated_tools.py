"""Misbehaving tools for worker processes.

The file stands alone: a child loads it by its path.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from callblocks.core.errors import ToolError
from callblocks.tools.context import Context
from callblocks.tools.declare import tool

HANG_SECONDS = 1.5


@tool(isolated=True)
def double(number: int) -> int:
    """Double a number."""
    return number * 2


@tool(isolated=True)
async def double_later(number: int) -> int:
    """Double a number, later."""
    await asyncio.sleep(0)
    return number * 2


@tool(isolated=True)
def kind_of(path: Path, names: set[str]) -> list[str]:
    """Say what came."""
    return [type(path).__name__, type(names).__name__, str(path), *sorted(names)]


@tool(isolated=True)
def place() -> dict[str, Any]:
    """Say where it runs."""
    return {"pid": os.getpid(), "group": os.getpgid(0), "path": sys.path}


@tool(isolated=True, timeout=HANG_SECONDS)
def hang_in_c(pid_file: str) -> None:
    """Sleep in foreign code."""
    Path(pid_file).write_text(str(os.getpid()))
    ctypes.CDLL(None).sleep(3600)


@tool(isolated=True, timeout=HANG_SECONDS)
def count_for_ever(pid_file: str) -> int:
    """Add numbers in one instruction that does not end."""
    Path(pid_file).write_text(str(os.getpid()))
    return sum(range(10**15))


@tool(isolated=True, timeout=HANG_SECONDS)
def hang_with_child(pid_file: str) -> None:
    """Leave a child behind, and hang."""
    _leave_child(pid_file)
    time.sleep(3600)


@tool(isolated=True)
def leave_child(pid_file: str) -> str:
    """Leave a child behind, and end."""
    _leave_child(pid_file)
    return "done"


def _leave_child(pid_file: str) -> None:
    child = os.fork()
    if child == 0:
        time.sleep(3600)
        os._exit(0)
    Path(pid_file).write_text(str(child))


@tool(isolated=True)
def die(how: str) -> None:
    """End the process."""
    if how == "exit":
        os._exit(7)
    if how == "segfault":
        # No core file, and no words of the interpreter.
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        ctypes.string_at(0)
    os.kill(os.getpid(), signal.SIGKILL)


@tool(isolated=True)
def flood() -> str:
    """Print a lot, on both streams."""
    for stream in (sys.stdout, sys.stderr):
        for _ in range(200):
            stream.write("x" * 100_000)
        stream.flush()
    return "dry"


@tool(isolated=True)
def fail(how: str) -> None:
    """Fail in some way."""
    if how == "tool":
        raise ToolError("no_tea", "there is no tea", left=0)
    if how == "exit":
        raise SystemExit(3)
    raise ValueError("out of range")


@tool(isolated=True)
def answer(how: str) -> Any:
    """Answer oddly."""
    if how == "huge":
        return "x" * 300_000
    if how == "cyclic":
        cyclic: list[Any] = []
        cyclic.append(cyclic)
        return cyclic
    if how == "object":
        return Path("a/b")
    return 10**5000


@tool(isolated=True)
def speak_out_of_turn(text: str) -> str:
    """Write to the pipe that the answer goes to."""
    for handle in map(int, os.listdir("/proc/self/fd")):
        if handle > 2:
            try:
                os.write(handle, text.encode())
            except OSError:
                continue
    return "the answer"


@tool(isolated=True)
def swallow(text: str) -> int:
    """Take a long text."""
    return len(text)


@tool(isolated=True)
def ask_back(context: Context) -> None:
    """Ask for what a child cannot have."""


def undeclared(number: int) -> int:
    """Add one to a number."""
    return number + 1
