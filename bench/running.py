"""What a runtime adds to a call, and what the sandbox adds to a command.

Each row is the same trivial tool: called directly, and as an allowed call that is judged,
checked, run, redacted and made an outcome. A change is also recorded before and after, where
there is a journal.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from time import perf_counter

from bench.timing import best_of, print_table
from callblocks.core.calls import Call
from callblocks.guard.sandbox.sandbox import Job, Missing, find_sandbox
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.journal import Journal
from callblocks.runtime.runtime import Runtime
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry

__all__ = ("main",)

CALLS = 500
ALLOW = Policy((Rule(decide="allow", tool=("*",)),))


@tool(read_only=True)
def look(left: int, right: int) -> int:
    """Add two numbers in a thread."""
    return left + right


@tool(read_only=True)
async def peek(left: int, right: int) -> int:
    """Add two numbers in the event loop."""
    return left + right


@tool
async def change(left: int, right: int) -> int:
    """Add two numbers as if that changed something."""
    return left + right


def main() -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.sqlite")
        rows = [
            _row("async, read-only", peek.name),
            _row("sync, read-only: in a thread", look.name),
            _bare_thread(),
            _row("async, changes, no journal", change.name),
            _row("async, changes, journal on disk", change.name, journal),
        ]
        journal.close()
    print_table("one allowed call, in microseconds", ["tool", "processor", "clock"], rows)
    asyncio.run(_sandbox())


def _row(label: str, name: str, journal: Journal | None = None) -> list[str]:
    runtime = Runtime(Registry([look, peek, change]), ALLOW, journal=journal)
    # Alone in its batch: each call waits for the one before.
    calls = [
        Call(id=f"c{at}", name=name, input={"left": at, "right": 1}, extra={"priority": -at})
        for at in range(CALLS)
    ]

    async def run() -> None:
        async for outcome in runtime.run(calls):
            assert outcome.ok

    used, clock = _timed(run)
    return [label, f"{used:,.0f}", f"{clock:,.0f}"]


def _timed(run: Callable[[], Coroutine[None, None, None]]) -> tuple[float, float]:
    """Microseconds of a call: of the processor, and by the clock."""
    took: list[float] = []

    def timed() -> None:
        began = perf_counter()
        asyncio.run(run())
        took.append(perf_counter() - began)

    (used,) = best_of([timed], rounds=20)
    return used / CALLS * 1e6, min(took) / CALLS * 1e6


def _bare_thread() -> list[str]:
    """What a thread costs by itself on this machine: most of a sync call is that."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(CALLS):
            await loop.run_in_executor(None, lambda: 1)

    used, clock = _timed(run)
    return ["  a thread alone, without us", f"{used:,.0f}", f"{clock:,.0f}"]


async def _sandbox() -> None:
    sandbox = await find_sandbox()
    if isinstance(sandbox, Missing):
        print(f"\nno sandbox: {sandbox.reason}")
        return
    plain = _best(lambda: subprocess.run(["/bin/true"], check=True))
    times: list[float] = []
    for _ in range(10):
        began = perf_counter()
        await sandbox.run(Job(argv=("/bin/true",)))
        times.append(perf_counter() - began)
    rows = [["plain", f"{plain * 1e3:.1f}"], [sandbox.name, f"{min(times) * 1e3:.1f}"]]
    print_table("`true` as a command, in milliseconds", ["where", "clock"], rows)


def _best(job: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(10):
        began = perf_counter()
        job()
        times.append(perf_counter() - began)
    return min(times)
