"""One run of code: set up the sandbox, watch the run, copy promised files out, report.

Order and why: the taint for network access is set before the run, because its output is shown while
it runs; the taint for foreign files after it, because a failed start has read nothing. Promised
files are copied out before the failure is determined: a failed run may still have produced some.
"""

from __future__ import annotations

import asyncio
import codecs
import io
import math
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from callblocks.core.call_text import format_size
from callblocks.core.errors import ToolError
from callblocks.core.outcomes import Failure
from callblocks.core.text import brief
from callblocks.guard.sandbox.sandbox import MIB, Changes, Job, JobEnd, Limits, Sandbox
from callblocks.timeline.artifacts.validate import check_written
from callblocks.toolkits.exec.workdir import (
    PACKAGES,
    ExecWorkdir,
    Ground,
    Language,
    Promised,
    command,
    environment,
    file_name,
)
from callblocks.tools.tool import Context, envelope

__all__ = (
    "Brought",
    "CodeRun",
    "Printed",
    "bring",
    "failure_of",
    "with_packages",
)

# --- The failure of a run, derived from its exit code, signals and limits ---
#
#     execution_failed   it ended with an error; the message is the last that it said
#     timeout            its time was over
#     out_of_memory      out_of_processes      out_of_disk
#
# Promised files that exist by then are kept, unless the sandbox itself was killed.

# Code that catches nothing prints these messages of the kernel; the sandbox cannot always tell a
# full quota from an ordinary error.
_NO_ROOM = ("No space left on device", "File too large", "Disk quota exceeded")


def failure_of(ended: JobEnd, said: str, limits: Limits, seconds: float) -> Failure | None:
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


def _out_of_memory(ended: JobEnd, said: str, limits: Limits) -> Failure | None:
    if not ended.out_of_memory and not said.startswith("MemoryError"):
        return None
    words = f"it needed more memory than {format_size(limits.memory)}; work on less at once"
    return Failure(code="out_of_memory", message=words)


def _out_of_processes(ended: JobEnd, limits: Limits) -> Failure | None:
    if not ended.out_of_processes:
        return None
    words = f"it started more than {limits.processes} processes or threads"
    return Failure(code="out_of_processes", message=words)


def _out_of_disk(ended: JobEnd, said: str, limits: Limits) -> Failure | None:
    if not ended.out_of_disk and not any(words in said for words in _NO_ROOM):
        return None
    words = f"it wrote more than {format_size(limits.files)}; write less, or compress it"
    return Failure(code="out_of_disk", message=words)


def _timeout(ended: JobEnd, seconds: float) -> Failure | None:
    if not ended.timed_out and not _was_stopped(ended, seconds):
        return None
    words = f"stopped after {seconds:g} s; give a longer timeout, or do less at once"
    return Failure(code="timeout", message=words)


def _was_stopped(ended: JobEnd, seconds: float) -> bool:
    """Tell if the `timeout` program inside of the sandbox ended the code."""
    # `timeout` exits with 124 after SIGTERM and with 137 after SIGKILL, which comes later by the
    # grace period. Code may exit with these numbers itself, so the elapsed time must agree, with a
    # second of tolerance between the two clocks.
    after = {124: -1.0, 137: 1.0}.get(ended.exit_code or 0)
    return after is not None and ended.seconds >= seconds + after


def _failed(ended: JobEnd, said: str) -> Failure:
    if ended.signal:
        words = f"killed by {ended.signal}"
    elif ended.exit_code is None:
        words = "stopped"
    else:
        words = said or f"exit code {ended.exit_code}"
    return Failure(code="execution_failed", message=words)


# --- The packages that are installed in the sandbox, named after a failed import ---

_LOOK = "import importlib.util as u, sys; print(*(p for p in sys.argv[1:] if u.find_spec(p)))"
_known: dict[str, str] = {}


async def with_packages(failure: Failure, sandbox: Sandbox) -> Failure:
    """Return the failure with a list of the installed packages, which is determined once per
    sandbox.
    """
    if sandbox.name not in _known:
        _known[sandbox.name] = await _installed(sandbox)
    there = _known[sandbox.name] or "none but Python's own"
    words = f"{failure.message}; packages that are installed here: {there}"
    return msgspec.structs.replace(failure, message=words)


async def _installed(sandbox: Sandbox) -> str:
    said: list[bytes] = []
    # The list is determined inside of the sandbox: its Python is not the one that runs this code.
    job = Job(argv=("python3", "-c", _LOOK, *PACKAGES), limits=Limits(seconds=10))
    await sandbox.run(job, lambda stream, piece: said.append(piece) if stream == "stdout" else None)
    return ", ".join(b"".join(said).decode("utf-8", "replace").split())


# --- The output of running code: reported in batches, and kept at both ends if it is long ---
#
# Output of 100 ms is collected and reported at once, in whole lines where there are any. Of more
# than 20 lines only the last are reported, with a count, so a loop that prints a million lines
# costs ten reports per second and bounded memory.

_MOMENT = 0.1
_LINES = 20
_HELD = 4_000
_LINE = 300
# Control characters that move a cursor or ring a bell. Carriage returns were translated to newlines
# before, so progress bars become lines.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Printed:
    """Both streams of one run; each keeps half of `keep` characters."""

    def __init__(self, context: Context, keep: int) -> None:
        self._kept = {"stdout": _Ends(keep // 2), "stderr": _Ends(keep // 2)}
        self._shown = _Shown(context)

    def take(self, stream: str, piece: bytes) -> None:
        """Take a piece of bytes in any encoding."""
        if text := self._kept[stream].take(piece):
            self._shown.add(text, len(piece))

    def close(self) -> None:
        """Report the text that was held back."""
        self._shown.flush()

    def texts(self) -> dict[str, str]:
        """Return both streams without the empty ones."""
        texts = {stream: ends.text() for stream, ends in self._kept.items()}
        return {stream: text for stream, text in texts.items() if text}

    @property
    def last_error(self) -> str:
        """The last line of standard error that is not blank."""
        lines = [line.strip() for line in self._kept["stderr"].last.splitlines()]
        said = next((line for line in reversed(lines) if line), "")
        return said if len(said) <= _LINE else f"{said[:_LINE]}…"


class _Ends:
    """The start and the end of a stream, without control characters."""

    def __init__(self, keep: int) -> None:
        self._half = keep // 2
        utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = io.IncrementalNewlineDecoder(utf8, translate=True)
        self._first = ""
        self._left_out = 0
        self._rest = ""
        self.last = ""

    def take(self, piece: bytes, *, final: bool = False) -> str:
        plain = self._decoder.decode(piece, final=final)
        text = _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", plain)
        self.last = (self.last + text)[-_HELD:]
        # Invariant: `_first` is full before anything goes to `_rest`, and `_rest` never exceeds
        # `_half`, so memory is bounded by `keep` however much is printed.
        room = self._half - len(self._first)
        self._first += text[:room]
        rest = self._rest + text[room:]
        self._left_out += max(0, len(rest) - self._half)
        self._rest = rest[len(rest) - self._half :] if len(rest) > self._half else rest
        return text

    def text(self) -> str:
        self.take(b"", final=True)
        between = f"\n… {self._left_out:,} characters left out …\n" if self._left_out else ""
        return f"{self._first}{between}{self._rest}"


class _Shown:
    """Debounce of reports: one report per moment."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._timer: asyncio.TimerHandle | None = None
        self._held = ""
        self._skipped = False
        self._lines = 0
        self._bytes = 0

    def add(self, text: str, size: int) -> None:
        self._lines += text.count("\n")
        self._bytes += size
        held = self._held + text
        self._skipped = self._skipped or len(held) > _HELD
        self._held = held[-_HELD:]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_MOMENT, self._moment_is_over)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._show(self._held)

    def _moment_is_over(self) -> None:
        self._timer = None
        # Hold an incomplete last line back until its end arrives, unless there is no newline at
        # all: a prompt or a row of dots must still be shown.
        whole = self._held.rfind("\n") + 1 or len(self._held)
        said, self._held = self._held[:whole], self._held[whole:]
        self._show(said)

    def _show(self, said: str) -> None:
        lines = said.split("\n")
        if self._skipped or len(lines) > _LINES:
            size = format_size(self._bytes)
            told = f"… {self._lines:,} lines, {size} printed so far\n"
            said = "\n".join(lines[-_LINES:]).rstrip("\n") + f"\n{told}"
        self._skipped = False
        if said:
            self._context.report(said)


# --- Copying promised files out of the sandbox; all other files are discarded with it ---

NOT_PRODUCED = "file not produced"


class Brought(msgspec.Struct, frozen=True):
    """The promised files that were produced, and the problem of each other one."""

    produced: tuple[str, ...] = ()
    problems: dict[str, str] = {}


def bring(
    changes: Changes, contract: Sequence[Promised], place: ExecWorkdir, context: Context
) -> Brought:
    """Write each promised file that was made; one that cannot be written does not stop the rest."""
    made = {written.path: written.content for written in changes.written}
    left_out = {left.path: left.reason for left in changes.left_out}
    produced: list[str] = []
    problems: dict[str, str] = {}
    for promised in _told(contract, made, context):
        content = made.get(promised.inside)
        if content is None:
            why = left_out.get(promised.inside) or _instead(promised, contract, made)
            problems[promised.path] = f"{NOT_PRODUCED}: {why}" if why else NOT_PRODUCED
        elif problem := _put(promised, content, place):
            problems[promised.path] = problem
        else:
            produced.append(promised.path)
    return Brought(tuple(produced), problems)


def _instead(promised: Promised, contract: Sequence[Promised], made: Iterable[str]) -> str:
    """Name the path of an unpromised file with the same base name, or return ""."""
    # The usual mistake of a model: it promises `sales.csv` (that is `files/sales.csv`) and writes
    # `sales.csv` into the current folder. Naming the wrong path lets it repair the code at once.
    name = posixpath.basename(promised.inside)
    others = {one.inside for one in contract}
    found = (path for path in made if posixpath.basename(path) == name and path not in others)
    wrong = next(found, "")
    return f"the code wrote {brief(wrong, 200)}" if wrong else ""


def _told(
    contract: Sequence[Promised], made: dict[str, bytes], context: Context
) -> Iterator[Promised]:
    """Yield each promised file after reporting its progress; stop when the call is cancelled."""
    for number, promised in enumerate(contract, 1):
        if context.cancelled:
            return
        content = made.get(promised.inside)
        size = NOT_PRODUCED if content is None else format_size(len(content))
        context.report(f"file {number} of {len(contract)}: {promised.path} ({size})\n")
        yield promised


def _put(promised: Promised, content: bytes, place: ExecWorkdir) -> str:
    """Write a file and return its problem, or "". A damaged file does not replace an
    existing one.
    """
    if not content:
        return "file is empty"
    if fault := check_written(promised.path, content).error:
        return fault.message
    try:
        place.put(promised, content)
    except ToolError as error:
        return f"{error.code}: {error.message}"
    except OSError as error:
        return f"file_error: {error.strerror or type(error).__name__}"
    return ""


# --- One run of code: set up the sandbox, watch the run, copy promised files out, report ---

# Seconds after which the sandbox stops what did not stop by itself.
_AFTER = 5.0

# Bytes of output that are read; the rest is only counted.
_HEARD = 64 * MIB


class CodeRun:
    """One run; `limits.seconds` is the time limit of the code itself."""

    def __init__(
        self,
        language: Language,
        place: ExecWorkdir,
        context: Context,
        limits: Limits,
        printed: Printed,
        *,
        network: bool,
    ) -> None:
        self._language = language
        self._place = place
        self._context = context
        self._limits = limits
        self._printed = printed
        self._network = network

    async def run(
        self, sandbox: Sandbox, code: str, prog_name: str, contract: tuple[Promised, ...]
    ) -> dict[str, Any]:
        """Run the code, copy its promised files out, and return the result."""
        # The walk over the folders of all turns blocks, so it runs in a thread.
        ground = await asyncio.to_thread(self._place.ground, code)
        name = file_name(prog_name, self._language)
        if self._network:
            self._context.taint("code that could reach the network")
        try:
            job = self._job(ground, code, name, contract)
            ended = await sandbox.run(job, self._printed.take)
        finally:
            self._printed.close()
        if ground.foreign:
            self._context.taint("code that could read files of others")
        changes = ended.changes if ended.copied else Changes()
        brought = await asyncio.to_thread(bring, changes, contract, self._place, self._context)
        said = self._printed.last_error
        failure = failure_of(ended, said, self._limits, self._limits.seconds)
        if failure is not None and "ModuleNotFoundError" in said:
            failure = await with_packages(failure, sandbox)
        if failure is not None and brought.produced and not ground.turns:
            # In a turn the produced files are listed in a report of their own; here the failure's
            # message is all that the model sees.
            words = f"{failure.message}; made all the same: {', '.join(brought.produced)}"
            failure = msgspec.structs.replace(failure, message=words)
        told = {**self._told(ended, name), "produced": list(brought.produced)}
        return envelope(
            told | ({"problems": brought.problems} if brought.problems else {}), failure
        )

    def _job(self, ground: Ground, code: str, name: str, contract: tuple[Promised, ...]) -> Job:
        seconds = self._limits.seconds
        # Create the parent folders of promised files, so code that promises charts/a.png can write
        # it directly.
        above = {posixpath.dirname(one.inside) for one in contract}
        folders = sorted(posixpath.relpath(folder, ground.cwd or ".") for folder in above)
        return Job(
            argv=command(self._language, name, seconds, folders, turns=ground.turns),
            folder=ground.folder,
            cwd=ground.cwd,
            without=ground.without,
            read_only=ground.read_only,
            watched=tuple(one.inside for one in contract),
            stdin=_bytes(code),
            env=environment(),
            network=self._network,
            # The outer limits leave the inner `timeout` the first word. CPU time is doubled for two
            # threads.
            limits=msgspec.structs.replace(
                self._limits,
                seconds=seconds + _AFTER,
                cpu_seconds=math.ceil(2 * seconds + _AFTER),
                output=_HEARD,
            ),
        )

    def _told(self, ended: JobEnd, name: str) -> dict[str, Any]:
        told: dict[str, Any] = {"program": name, "exit_code": ended.exit_code}
        told |= {"seconds": round(ended.seconds, 2), **self._printed.texts()}
        return told | ({"printed_bytes": ended.output_bytes} if ended.output_bytes else {})


def _bytes(code: str) -> bytes:
    try:
        return code.encode()
    except UnicodeEncodeError:
        raise ToolError("invalid_input", "the code is not Unicode text") from None
