"""One run of one job: its input, its output and report, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import resource
import signal
import time
from asyncio import StreamReader
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from callblocks.core.errors import ToolError
from callblocks.guard.sandbox.cgroups import ControlGroup
from callblocks.guard.sandbox.inputs import Survey
from callblocks.guard.sandbox.sandbox import Changes, Job, JobEnd, OnOutput, Stream
from callblocks.guard.sandbox.tar_streams import Collector, Note, Refused, Unpacker

__all__ = (
    "JobRun",
    "Output",
    "Report",
    "Watch",
    "death_of",
    "read_pipe",
    "supervise",
    "to_its_end",
)

# --- Supervision from the start of a job's processes to the death of the last one ---
#
# A run is a task that nobody cancels. It is told to stop, by the clock or by the caller, and then
# kills, waits and cleans up before it ends. If it were cancelled instead, a second cancellation
# could interrupt the cleaning and leave processes alive.


T = TypeVar("T")


class Watch:
    """The stop signal of a run: its time is over, or a caller asked for it."""

    def __init__(self) -> None:
        self._stopped = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.timed_out = False

    def allow(self, seconds: float) -> None:
        """Restart the clock with this many seconds."""
        self.release()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._time_is_over)

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        self._stopped.set()

    def release(self) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()

    async def during(self, work: asyncio.Future[Any]) -> None:
        """Wait for the work, or for the stop."""
        stopped = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()

    def _time_is_over(self) -> None:
        self.timed_out = True
        self._stopped.set()


async def to_its_end(run: Coroutine[Any, Any, T], watch: Watch) -> T:
    """Wait for a run. When cancelled, tell it to stop, wait all the same, and raise then."""
    task = asyncio.ensure_future(run)
    cancelled = False
    # A loop, because each further cancellation interrupts the wait again; none may abandon the
    # task.
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            cancelled = True
            watch.stop()
    if cancelled:
        with contextlib.suppress(BaseException):
            task.result()
        raise asyncio.CancelledError
    return task.result()


async def supervise(
    child: Process,
    watch: Watch,
    *,
    stdin: bytes,
    beside: Iterable[Awaitable[object]],
    group: ControlGroup | None,
    kill_rest: Callable[[], Awaitable[None]],
) -> None:
    """Supervise a job's processes until they end or must stop; afterwards none of them lives.

    The job has ended when `child` has; `kill_rest` then kills what it left. `beside` are coroutines
    that end by themselves when the processes do: readers of their output.
    """
    exited = asyncio.ensure_future(_exit_of(child))
    work: asyncio.Future[list[object]] = asyncio.gather(
        exited, child.wait(), _give(child, stdin), *beside
    )
    try:
        # Only the exit of the child or the stop ends the wait; the readers may go on as long as a
        # daemon of the job holds the pipes open.
        await watch.during(exited)
    finally:
        watch.release()
        _kill(child)
        try:
            if group is not None:
                await group.kill()
            await kill_rest()
        except asyncio.CancelledError:
            # The loop is ending: the readers are cancelled, but still awaited.
            work.cancel()
            raise
        finally:
            await work


def _kill(child: Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


async def _exit_of(child: Process) -> None:
    """Wait until the child itself has ended, whoever holds its pipes."""
    with contextlib.suppress(ProcessLookupError):
        await death_of(os.pidfd_open(child.pid))


async def death_of(pidfd: int) -> None:
    """Wait until a process is dead (its pidfd becomes readable); close the pidfd."""
    loop = asyncio.get_running_loop()
    dead = asyncio.Event()
    loop.add_reader(pidfd, dead.set)
    try:
        await dead.wait()
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)


async def _give(child: Process, stdin: bytes) -> None:
    if child.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        child.stdin.write(stdin)
        await child.stdin.drain()
    child.stdin.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await child.stdin.wait_closed()


async def read_pipe(fd: int) -> StreamReader:
    """Return a reader of a pipe, which it closes at the end."""
    reader = StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
    )
    return reader


# --- The output of a job, passed on up to a limit; the rest is counted and dropped ---

_PIECE = 64 * 1024


class Output:
    """Both streams of one job.

    Until `release`, nothing is passed on: what a sandbox prints before the job starts is not the
    job's, and is in `early` if it never does. When the consumer raises, `fault` keeps the exception
    and nothing more is passed on.
    """

    def __init__(
        self, limit: int, on_output: OnOutput | None, on_fault: Callable[[], None]
    ) -> None:
        self._left = limit
        self._on_output = on_output
        self._on_fault = on_fault
        self._held: list[tuple[Stream, bytes]] | None = []
        self._dropped = 0
        self.total = 0
        self.fault: Exception | None = None

    @property
    def truncated(self) -> bool:
        """Return whether some output was dropped."""
        return self._dropped > 0

    @property
    def early(self) -> str:
        """Return the held output, as text."""
        return b"".join(piece for _, piece in self._held or ()).decode("utf-8", "replace")

    async def pump(self, stream: Stream, reader: StreamReader | None) -> None:
        """Read a stream to its end, also after the limit, so that the job never blocks on a full
        pipe.
        """
        while reader is not None and (piece := await reader.read(_PIECE)):
            self.take(stream, piece)

    def take(self, stream: Stream, piece: bytes) -> None:
        """Count a piece, and pass on as much of it as the limit allows."""
        self.total += len(piece)
        kept = piece[: self._left]
        self._left -= len(kept)
        self._dropped += len(piece) - len(kept)
        if not kept:
            return
        # Output before `ready` comes from bubblewrap or the shell: it explains a failed start, and
        # is not the job's.
        if self._held is not None:
            self._held.append((stream, kept))
        else:
            self._pass_on(stream, kept)

    def release(self) -> None:
        """Pass on the held output, and from now on everything at once."""
        held, self._held = self._held, None
        for stream, piece in held or ():
            self._pass_on(stream, piece)

    def _pass_on(self, stream: Stream, piece: bytes) -> None:
        if self._on_output is None or self.fault is not None:
            return
        try:
            self._on_output(stream, piece)
        except Exception as fault:
            self.fault = fault
            self._on_fault()


# --- The report of bubblewrap and the shell inside, on a pipe that the job does not get ---
#
#     { "child-pid": 4711, … }
#     ready
#     exit 0
#     …a tar archive of the folder…
#     end 0
#
# A job might still find that pipe and write to it. Then it can only lie about itself: every line is
# read once, in this order, and the archive is read as hostile. Lines before `ready` are not the
# job's, because it has not started.

_REPORT_PIECE = 256 * 1024
_LINE = 64
_PID = re.compile(rb'"child-pid": ([0-9]{1,9})')


class Report:
    """The reader of the report.

    The callbacks are called when the first process inside is known by its pid here, when the job
    starts, when it has ended, and when the report is invalid. `refused` says why the archive was
    not taken; it is "" while it may still be.
    """

    def __init__(
        self,
        unpacker: Unpacker | None,
        on_pid: Callable[[int], None],
        on_ready: Callable[[], None],
        on_exit: Callable[[], None],
        on_refused: Callable[[], None],
    ) -> None:
        self._unpacker = unpacker
        self._on_pid = on_pid
        self._on_ready = on_ready
        self._on_exit = on_exit
        self._on_refused = on_refused
        self._line = b""
        self.ready = False
        self.exit_code: int | None = None
        self.refused = ""

    @property
    def complete(self) -> bool:
        """Return whether the archive is complete and tar ended with 0 or 1.

        1 means that a file changed while it was read, for example as the last daemon died.
        """
        if self._unpacker is None or not self._unpacker.ended or self.refused:
            return False
        return self._unpacker.rest.strip(b"\0") in (b"end 0\n", b"end 1\n")

    async def pump(self, reader: StreamReader) -> None:
        """Read the report to its end, also when it is no longer trusted, so that the writer never
        blocks.
        """
        while piece := await reader.read(_REPORT_PIECE):
            self.feed(piece)

    def feed(self, piece: bytes) -> None:
        """Process a piece; never raises."""
        while piece and not self.refused and self.exit_code is None:
            line, newline, rest = piece.partition(b"\n")
            # Bounded: a job that finds the pipe could send a line without end.
            self._line += line[: _LINE + 1]
            if len(self._line) > _LINE:
                self._refuse("the report is not readable")
            elif newline:
                self._read_line()
            piece = rest
        if piece and self._unpacker is not None and not self.refused:
            self._unpack(self._unpacker, piece)

    def _unpack(self, unpacker: Unpacker, piece: bytes) -> None:
        try:
            unpacker.feed(piece)
            if len(unpacker.rest) > _REPORT_PIECE:
                raise Refused("the archive does not end")
        except Refused as refused:
            self._refuse(str(refused))

    def _read_line(self) -> None:
        line, self._line = self._line, b""
        word, _, number = line.partition(b" ")
        if not self.ready:
            self._read_early(line)
        elif self.ready and word == b"exit" and number.isdigit() and len(number) <= 3:
            self.exit_code = int(number)
            self._on_exit()
        else:
            self._refuse("the report is not readable")

    def _read_early(self, line: bytes) -> None:
        if line == b"ready":
            self.ready = True
            self._on_ready()
        elif found := _PID.search(line):
            self._on_pid(int(found[1]))

    def _refuse(self, reason: str) -> None:
        self.refused = reason
        self._on_refused()


# --- One run of one job: its input, its output and report, and its end ---

_START_SECONDS = 30
_LEAVE_SECONDS = 30
_DEATH_SECONDS = 30
_PAGE = 4096
_SPARE_PROCESSES = 16
_TOO_LARGE = (
    "; the folder is too large to copy, so every user must be able to read it, or the limits of "
    "the copy must be raised"
)


class JobRun:
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

    def ended(self, group: ControlGroup | None, code: int | None, changes: Changes) -> JobEnd:
        """Return how the run ended; raise the consumer's exception, or `sandbox_failed`."""
        if self.output.fault is not None:
            raise self.output.fault
        if not self.report.ready:
            hint = "" if self.copied else _TOO_LARGE
            raise ToolError("sandbox_failed", _why(self.output.early) + hint)
        return JobEnd(
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
