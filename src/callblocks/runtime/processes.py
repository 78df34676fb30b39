"""Whether the process that wrote something down still lives.

4711:88123     its number, and when it started: a later process with that number is another
4711           its number alone, where the system does not tell when it started
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ("lives", "this_process")


def this_process() -> str:
    """This process, told from a later one with the same number by when it started."""
    return _process(os.getpid()) or str(os.getpid())


def lives(process: str) -> bool:
    """Whether a process that `this_process` named is still there."""
    pid = int(process.partition(":")[0])
    if ":" in process:
        return _process(pid) == process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _process(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name in parentheses may hold anything; the start is the 20th field after it.
    return f"{pid}:{stat.rpartition(')')[2].split()[19]}"
