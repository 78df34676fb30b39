"""The failure of a run, derived from its exit code, signals and limits.

    execution_failed   it ended with an error; the message is the last that it said
    timeout            its time was over
    out_of_memory      out_of_processes      out_of_disk

Promised files that exist by then are kept, unless the sandbox itself was killed.
"""

from __future__ import annotations

from callblocks.model.outcomes import Failure
from callblocks.model.shown import format_size
from callblocks.runtime.sandbox.sandbox import Ended, Limits

__all__ = ("failure_of",)

# Code that catches nothing prints these messages of the kernel; the sandbox cannot always tell a
# full quota from an ordinary error.
_NO_ROOM = ("No space left on device", "File too large", "Disk quota exceeded")


def failure_of(ended: Ended, said: str, limits: Limits, seconds: float) -> Failure | None:
    """Return the failure of a run, or `None`.

    `said` is the last line of standard error, `seconds` the time limit of the code.
    """
    if not ended.copied:
        return _not_copied(limits)
    lost = ended.changes.lost
    if ended.exit_code == 0:
        return Failure(code="execution_failed", message=lost) if lost else None
    # The order matters: an out-of-memory kill also looks like a signal, and a fork bomb often ends
    # in a timeout. The most specific cause comes first.
    failure = (
        _out_of_memory(ended, said, limits)
        or _out_of_processes(ended, limits)
        or _out_of_disk(ended, said, limits)
        or _timeout(ended, seconds)
        or _failed(ended, said)
    )
    return Failure(code=failure.code, message=f"{failure.message}; {lost}") if lost else failure


def _not_copied(limits: Limits) -> Failure:
    most = f"{format_size(limits.copy_bytes)} or {limits.copy_files:,} files"
    words = (
        f"the folder has more than {most}: it is too large to be copied, so nothing can come out "
        "of it; a person can choose a smaller workspace, or a timeline, whose turns have their own"
    )
    return Failure(code="sandbox_failed", message=words)


def _out_of_memory(ended: Ended, said: str, limits: Limits) -> Failure | None:
    if not ended.out_of_memory and not said.startswith("MemoryError"):
        return None
    words = f"it needed more memory than {format_size(limits.memory)}; work on less at once"
    return Failure(code="out_of_memory", message=words)


def _out_of_processes(ended: Ended, limits: Limits) -> Failure | None:
    if not ended.out_of_processes:
        return None
    words = f"it started more than {limits.processes} processes or threads"
    return Failure(code="out_of_processes", message=words)


def _out_of_disk(ended: Ended, said: str, limits: Limits) -> Failure | None:
    if not ended.out_of_disk and not any(words in said for words in _NO_ROOM):
        return None
    words = f"it wrote more than {format_size(limits.files)}; write less, or compress it"
    return Failure(code="out_of_disk", message=words)


def _timeout(ended: Ended, seconds: float) -> Failure | None:
    if not ended.timed_out and not _was_stopped(ended, seconds):
        return None
    words = f"stopped after {seconds:g} s; give a longer timeout, or do less at once"
    return Failure(code="timeout", message=words)


def _was_stopped(ended: Ended, seconds: float) -> bool:
    """Tell if the `timeout` program inside of the sandbox ended the code."""
    # `timeout` exits with 124 after SIGTERM and with 137 after SIGKILL, which comes later by the
    # grace period. Code may exit with these numbers itself, so the elapsed time must agree, with a
    # second of tolerance between the two clocks.
    after = {124: -1.0, 137: 1.0}.get(ended.exit_code or 0)
    return after is not None and ended.seconds >= seconds + after


def _failed(ended: Ended, said: str) -> Failure:
    if ended.signal:
        words = f"killed by {ended.signal}"
    elif ended.exit_code is None:
        words = "stopped"
    else:
        words = said or f"exit code {ended.exit_code}"
    return Failure(code="execution_failed", message=words)
