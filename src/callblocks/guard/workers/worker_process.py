"""A subprocess of ours that works on data of others and answers through pipes.

It gets no environment variable that could hold a key, and no open file but those passed to it. Each
wait calls `patience`, which may raise at any time, so a child that neither reads nor writes cannot
block its parent.

    worker = Worker("callblocks.toolkits.documents.render_program", cwd=folder)
    worker.write(b"…", patience)
    worker.read(patience)
"""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.json_values import to_json_value
from callblocks.tools.tool import Tool

__all__ = (
    "Patience",
    "Worker",
    "lives",
    "run_isolated",
    "this_process",
)

# A callback run at short intervals during a wait; it raises when nobody waits any more.
Patience: TypeAlias = Callable[[], None]

_GLANCE = 0.1
_PIECE = 1 << 20
# What Python and its libraries need to start.
_TOLD = re.compile(r"PYTHON\w*|PATH|LANG|LC_\w+|TZ|HOME|TMPDIR")


class Worker:
    """A Python module that runs in a subprocess; raises `OSError` where none can be started."""

    def __init__(
        self, module: str, *words: str, cwd: str = "/", fds: Iterable[int] = (), **env: str
    ) -> None:
        # An allow list: a deny list would pass on every key with an unusual name.
        told = {name: value for name, value in os.environ.items() if _TOLD.fullmatch(name)}
        self.child = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            pass_fds=tuple(fds),
            env={**told, **env},
            cwd=cwd,
            # Ctrl-C on the terminal is for us alone. Not a new session: Linux lets the priorities
            # of processes count within one session only (autogroups).
            process_group=0,
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self._sink, self._source = self.child.stdin.fileno(), self.child.stdout.fileno()
        # A process that does not read must not hold up the one that writes.
        os.set_blocking(self._sink, False)

    def write(self, content: bytes, patience: Patience) -> None:
        """Write bytes to the child; the death of the child is noticed by `read`, not here."""
        rest = memoryview(content)
        with suppress(BrokenPipeError):
            while rest:
                _wait(self._sink, selectors.EVENT_WRITE, patience)
                with suppress(BlockingIOError):
                    rest = rest[os.write(self._sink, rest) :]

    def read(self, patience: Patience, size: int = _PIECE) -> bytes:
        """Return the next bytes from the child, at most `size`; b"" where it has ended."""
        _wait(self._source, selectors.EVENT_READ, patience)
        return os.read(self._source, min(size, _PIECE))

    def end(self) -> int:
        """Kill the child if it still runs; return its exit status."""
        self.child.kill()
        status = self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None:
                pipe.close()
        return status


def _wait(pipe: int, event: int, patience: Patience) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, event)
        patience()
        while not selector.select(_GLANCE):
            patience()


# --- Identity of processes: is the process that wrote a record still alive? ---
#
#     4711:88123     pid and start time: a later process with the same pid is another one
#     4711           pid alone, where the system does not give the start time


def this_process() -> str:
    """Return an id of this process that a later process with the same pid does not share."""
    return _process(os.getpid()) or str(os.getpid())


def lives(process: str) -> bool:
    """Return whether the process that `this_process` named is still alive."""
    pid = int(process.partition(":")[0])
    # With a start time the answer is exact; a pid alone may have been reused, which errs towards
    # "alive".
    if ":" in process:
        return _process(pid) == process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # EPERM proves that a process with that pid exists.
    except PermissionError:
        return True
    return True


def _process(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name in parentheses may itself contain ")" and blanks, so the last ")" counts. The
    # start time is the 20th field after it.
    return f"{pid}:{stat.rpartition(')')[2].split()[19]}"


# --- A tool's function in a subprocess: a hang is killed, a crash takes nothing with it ---
#
# The child loads the function by its file and name, gets the values as JSON on standard input, and
# answers with one line of JSON on a separate pipe. Its standard output goes to /dev/null, so a
# `print` cannot forge an answer. It imports nothing from its working directory or from beside the
# file (`-P`), because a model may have written there.
#
# This is no sandbox: the function may do everything that this program may.

_ANSWER_LIMIT = 64 * 1024 * 1024


class WorkerAnswer(msgspec.Struct, omit_defaults=True):
    """The child's answer: a value, or the failure."""

    value: Any = None
    code: str = ""
    message: str = ""
    details: dict[str, Any] = {}


async def run_isolated(tool: Tool, values: dict[str, Any]) -> Any:
    """Run a tool's function in a child; cancelling this coroutine kills the child and its group."""
    file, name = _whereabouts(tool)
    given = msgspec.json.encode(to_json_value(values))
    reader, writer = os.pipe()
    try:
        child = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-P",
                "-m",
                "callblocks.guard.workers.isolated_program",
                file,
                name,
                str(writer),
            ),
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
        answer = msgspec.json.decode(line, type=WorkerAnswer)
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
