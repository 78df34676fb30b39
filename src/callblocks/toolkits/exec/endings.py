"""How code ended, as a failure with a code of its own, or as none.

    execution_failed   it ended with an error; the message is the last that it said
    timeout            its time was over
    out_of_memory      out_of_processes      out_of_disk

What it wrote until then is kept, except where the sandbox itself had to end.
"""

from __future__ import annotations

from callblocks.model.outcomes import Failure
from callblocks.model.shown import format_size
from callblocks.runtime.sandbox.sandbox import Ended, Limits

__all__ = ("failure_of",)

_NO_ROOM = ("No space left on device", "File too large", "Disk quota exceeded")


def failure_of(ended: Ended, said: str, limits: Limits, seconds: float) -> Failure | None:
    """What went wrong; `said` is the last line of standard error, `seconds` the code's time."""
    if not ended.copied:
        return _not_copied(limits)
    lost = ended.changes.lost
    if ended.exit_code == 0:
        return Failure(code="execution_failed", message=lost) if lost else None
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
    """Whether `timeout` ended it, by its code and the time; both clocks may differ a little."""
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
