"""A tool's function in a subprocess: a hang is killed, a crash takes nothing with it.

The child loads the function by its file and name, gets the values as JSON on standard input, and
answers with one line of JSON on a separate pipe. Its standard output goes to /dev/null, so a
`print` cannot forge an answer. It imports nothing from its working directory or from beside the
file (`-P`), because a model may have written there.

This is no sandbox: the function may do everything that this program may.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
from contextlib import suppress
from typing import Any

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.plain import plain
from callblocks.tools.tool import Tool

__all__ = ("run_isolated",)

_ANSWER_LIMIT = 64 * 1024 * 1024


class Answer(msgspec.Struct, omit_defaults=True):
    """The child's answer: a value, or the failure."""

    value: Any = None
    code: str = ""
    message: str = ""
    details: dict[str, Any] = {}


async def run_isolated(tool: Tool, values: dict[str, Any]) -> Any:
    """Run a tool's function in a child; cancelling this coroutine kills the child and its group."""
    file, name = _whereabouts(tool)
    given = msgspec.json.encode(plain(values))
    reader, writer = os.pipe()
    try:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "callblocks.runtime.child", file, name, str(writer)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=(writer,),
            start_new_session=True,
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        # The parent must close its copy of the write end, or it would never see end-of-file.
        os.close(writer)
    try:
        answer = await _converse(child, reader, given)
    finally:
        _kill(child)
        await child.wait()
    return _value(answer, tool.name, child.returncode)


async def _converse(child: asyncio.subprocess.Process, reader: int, given: bytes) -> bytes:
    assert child.stdin is not None
    stream = asyncio.StreamReader(limit=_ANSWER_LIMIT)
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(reader, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
    try:
        # A child that dies early breaks the pipe; its exit status says more than that error.
        with suppress(ConnectionError):
            child.stdin.write(given)
            await child.stdin.drain()
        child.stdin.close()
        return await stream.readline()
    except ValueError:
        limit = _ANSWER_LIMIT >> 20
        raise ToolError("bad_output", f"the tool's answer is longer than {limit} MiB") from None
    finally:
        transport.close()


def _value(line: bytes, name: str, status: int | None) -> Any:
    if not line.endswith(b"\n"):
        # No complete line means that the child died before it answered; a partial answer is never
        # used.
        how = f"signal {-status}" if status is not None and status < 0 else f"exit code {status}"
        raise ToolError("tool_died", f"{name} ended without an answer ({how})")
    try:
        answer = msgspec.json.decode(line, type=Answer)
    except msgspec.MsgspecError as error:
        raise ToolError("bad_output", f"{name} answered with something else: {error}") from error
    if answer.code:
        failed = ToolError(answer.code, answer.message)
        failed.details = answer.details
        raise failed
    return answer.value


def _kill(child: asyncio.subprocess.Process) -> None:
    """Kill the child and every process that stayed in its process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _whereabouts(tool: Tool) -> tuple[str, str]:
    assert tool.function is not None
    # A context holds callbacks into this process, which cannot cross a process boundary.
    if tool.context is not None:
        raise ToolError(
            "not_runnable", f"{tool.name} cannot be isolated: it takes a Context, which stays here"
        )
    name = tool.function.__qualname__
    file = inspect.getsourcefile(tool.function)
    if file is None or "<" in name:
        raise ToolError(
            "not_runnable", f"{name} cannot be isolated: it is no function of a Python file"
        )
    return os.path.abspath(file), name
