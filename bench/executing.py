"""What the sandbox adds to code with a contract: a program plain, alone in it, and as a call.

`plain` starts the interpreter as a process. `sandbox` runs it as a job, on an empty folder.
`a call` is all that `exec_tools.execute_code_*` does: the turn's folder is copied in, the program
runs, one promised file comes out and is written. The last rows have earlier files beside it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from bench.timing import print_table
from callblocks.core.paths import file_path
from callblocks.guard.sandbox.sandbox import Job, Missing, Sandbox, find_sandbox
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.exec.exec_tools import exec_tools
from callblocks.toolkits.exec.workdir import TurnPlace
from callblocks.toolkits.turn_files import FolderFiles, open_recorder
from callblocks.tools.tool import Context, Tool

__all__ = ("main",)

ROUNDS = 15
PYTHON = "open('files/a.txt', 'w').write('a')"
SHELL = "echo a > files/a.txt"
EARLIER = ((100, 10_000), (4, 8_000_000))
"""Files of an earlier turn, and bytes of each."""


def main() -> None:
    """Print the table."""
    asyncio.run(_table())


async def _table() -> None:
    sandbox = await find_sandbox()
    if isinstance(sandbox, Missing):
        print(f"\nno sandbox: {sandbox.reason}")
        return
    with tempfile.TemporaryDirectory() as folder, open_recorder(folder, "bench") as recorder:
        python, shell = _tools(recorder)
        rows = [
            await _rows("python", (_system("python3"), "-c", "1"), python, PYTHON, sandbox),
            await _rows("shell", (_system("bash"), "-c", ":"), shell, SHELL, sandbox),
        ]
        for count, size in EARLIER:
            _fill(recorder, count, size)
            took = await _median(lambda: _call(python, PYTHON))
            beside = f"python beside {count} files, {count * size // 10**6} MB"
            rows.append([beside, "", "", _shown(took), ""])
    head = ["code", "plain", sandbox.name, "a call", "sandbox adds"]
    print_table("code with a contract, median milliseconds of a run", head, rows)


def _system(name: str) -> str:
    """A program of the machine, which is the one that the sandbox has."""
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin") or name


def _tools(recorder: Recorder) -> tuple[Tool, ...]:
    files = recorder.holdings.files
    assert isinstance(files, FolderFiles)
    recorder.new_turn()
    return exec_tools(TurnPlace(recorder, files, recorder.new_turn()))


async def _rows(
    name: str, argv: tuple[str, ...], tool: Tool, code: str, sandbox: Sandbox
) -> list[str]:
    async def plain() -> None:
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)

    alone = await _median(plain)
    inside = await _median(lambda: sandbox.run(Job(argv=argv)))
    called = await _median(lambda: _call(tool, code))
    return [name, _shown(alone), _shown(inside), _shown(called), _shown(called - alone)]


async def _call(tool: Tool, code: str) -> None:
    assert tool.function is not None
    checked = tool.check({"code": code, "contract": ["a.txt"]})
    answer: Any = await tool.function(**checked.values, context=Context())
    assert answer["ret"]["produced"], answer


def _fill(recorder: Recorder, count: int, size: int) -> None:
    """Files of the first turn, which code can read."""
    for at in range(count):
        content = os.urandom(size)
        recorder.holdings.files.write(file_path("turn_1", f"{size}/{at}.bin"), content)


async def _median(run: Callable[[], Awaitable[object]]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        began = perf_counter()
        await run()
        times.append(perf_counter() - began)
    return statistics.median(times)


def _shown(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}"


if __name__ == "__main__":
    main()
