"""One run of one job: its input, its output and report, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable

from callblocks.model.errors import ToolError
from callblocks.runtime.sandbox.cgroups import Group
from callblocks.runtime.sandbox.changes import Collector, Refused
from callblocks.runtime.sandbox.output import Output
from callblocks.runtime.sandbox.packing import Note
from callblocks.runtime.sandbox.report import Report
from callblocks.runtime.sandbox.sandbox import Changes, Ended, Job, OnOutput
from callblocks.runtime.sandbox.supervision import Watch, death_of, read_pipe
from callblocks.runtime.sandbox.survey import Survey
from callblocks.runtime.sandbox.unpacking import Unpacker

__all__ = ("Run",)

_START_SECONDS = 30
_LEAVE_SECONDS = 30
_DEATH_SECONDS = 30
_PAGE = 4096
_SPARE_PROCESSES = 16
_TOO_LARGE = (
    "; the folder is too large to copy, so every user must be able to read it, or the limits of "
    "the copy must be raised"
)


class Run:
    """The state of a run, from the survey of its folder to its end."""

    def __init__(self, job: Job, survey: Survey, watch: Watch, on_output: OnOutput | None) -> None:
        self.job = job
        self.survey = survey
        self.watch = watch
        self.notes: dict[str, Note] = {}
        self.collector = Collector(
            self.notes,
            frozenset(entry.path for entry in survey.entries if entry.target),
            bytes_limit=self.room,
            count_limit=2 * (job.limits.copy_files + len(survey.entries)),
        )
        self.output = Output(job.limits.output, on_output, watch.stop)
        unpacker = Unpacker(self.collector) if self.copied else None
        self.report = Report(unpacker, self._known, self._ready, self._left, watch.stop)
        self.first: int | None = None
        self.out_of_disk = False
        self._began = 0.0
        self._ended = 0.0

    @property
    def copied(self) -> bool:
        return self.survey.fits

    @property
    def way(self) -> str:
        """Return how the folder gets in: bound, copied, or not at all."""
        if not self.copied:
            return "bound"
        return "copy" if self.survey.entries else "none"

    @property
    def room(self) -> int:
        """Return the most bytes of the job's folder: the input in whole pages, and the limit."""
        inside = self.survey.size + _PAGE * len(self.survey.entries) if self.copied else 0
        return inside + self.job.limits.files

    def rlimits(self, *, grouped: bool) -> dict[int, int]:
        """Return the limits of each process. With a group the kernel counts all processes
        together.
        """
        limits = self.job.limits
        rlimits = {
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: limits.open_files,
            resource.RLIMIT_FSIZE: self.room,
            resource.RLIMIT_CPU: limits.cpu_seconds,
        }
        return rlimits if grouped else rlimits | {resource.RLIMIT_DATA: limits.memory}

    def processes(self, *, grouped: bool) -> int:
        """Return the limit per user beside that of the group, which is to be reached first."""
        return self.job.limits.processes + (_SPARE_PROCESSES if grouped else 0)

    def began(self) -> None:
        """Start the clock for the set-up: the job must be ready soon."""
        self._began = time.monotonic()
        self.watch.allow(_START_SECONDS)

    def _known(self, pid: int) -> None:
        # A pidfd refers to this process for good; the number could be reused after its death.
        with contextlib.suppress(ProcessLookupError):
            # A pidfd names this very process; a pid could be reused by the time it is waited for.
            self.first = os.pidfd_open(pid)

    def _ready(self) -> None:
        self._began = time.monotonic()
        self.watch.allow(self.job.limits.seconds)
        self.output.release()

    def _left(self) -> None:
        self._ended = time.monotonic()
        self.watch.allow(_LEAVE_SECONDS)

    async def listen(self, child: Process, reported: int) -> list[Awaitable[None]]:
        """Return the coroutines that read output and report until every writer is gone."""
        return [
            self.output.pump("stdout", child.stdout),
            self.output.pump("stderr", child.stderr),
            self.report.pump(await read_pipe(reported)),
        ]

    async def first_is_dead(self) -> None:
        """Wait for the first process inside: it dies last, and is killed when its parent is."""
        if self.first is not None:
            await asyncio.wait_for(death_of(self.first), _DEATH_SECONDS)

    def ended(self, group: Group | None, code: int | None, changes: Changes) -> Ended:
        """Return how the run ended; raise the consumer's exception, or `sandbox_failed`."""
        if self.output.fault is not None:
            raise self.output.fault
        if not self.report.ready:
            hint = "" if self.copied else _TOO_LARGE
            raise ToolError("sandbox_failed", _why(self.output.early) + hint)
        return Ended(
            exit_code=code,
            signal=_signal(code),
            timed_out=code is None and self.watch.timed_out,
            out_of_memory=group is not None and group.out_of_memory(),
            out_of_processes=group is not None and group.out_of_processes(),
            out_of_disk=self.out_of_disk,
            output_bytes=self.output.total,
            truncated=self.output.truncated,
            copied=self.copied,
            changes=changes if self.copied else Changes(),
            seconds=(self._ended or time.monotonic()) - self._began,
        )

    def archived(self) -> Changes:
        """Return the changes in the report's archive."""
        if self.report.exit_code is None:
            return Changes(lost="the job was stopped, so its changes were dropped")
        if not self.report.complete:
            reason = self.report.refused or "the sandbox ended before they came out"
            return Changes(lost=f"the changes were dropped: {reason}")
        try:
            return self.collector.changes(self.survey.left_out)
        except Refused as refused:
            return Changes(lost=f"the changes were dropped: {refused}")


def _why(early: str) -> str:
    said = " ".join(early.split())[:500]
    return f"the sandbox did not start: {said or 'it said nothing'}"


def _signal(code: int | None) -> str | None:
    try:
        return signal.Signals((code or 0) - 128).name
    except ValueError:
        return None
