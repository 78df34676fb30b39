"""Identity of processes: is the process that wrote a record still alive?

4711:88123     pid and start time: a later process with the same pid is another one
4711           pid alone, where the system does not give the start time
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ("lives", "this_process")


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
