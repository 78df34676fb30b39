"""Trials, and the file that keeps them: a line of JSON each, behind a header of what was run.

States of a trial
    right, wrong    the model was measured; only these count in shares
    endless         its reply was cut at its largest length, or the trial at its time
    context         the prompt did not fit into the model's context
    unsayable       the setup cannot ask it: the dialect cannot say the tools or a call that is
                    expected, the server holds to no grammar, or it takes no tools
    endpoint        the server could not be reached, refused, broke off, or said nothing in time
    fault           the check raised an exception, or something of ours did

A trial is appended once it has ended, so that a process that is killed loses what was under way and
nothing else; a last line that was broken off is dropped. A trial that was run again stands twice,
and the later line counts. One process at a time holds the folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import msgspec

from callblocks.core.errors import CallerError
from callblocks.evals.task import Made
from callblocks.models.model import NATIVE

__all__ = (
    "FOLDER_FILE",
    "GRAMMAR",
    "SILENT",
    "RunHeader",
    "Setup",
    "State",
    "Trial",
    "TrialFile",
    "locked",
    "read_trials",
)

State: TypeAlias = Literal["right", "wrong", "endless", "context", "unsayable", "endpoint", "fault"]

VERSION = 1
FOLDER_FILE = "trials.jsonl"
GRAMMAR = " + grammar"
"""What the name of a setup with a grammar ends with."""
SILENT = "it said nothing"
"""Why a trial is wrong in which the model said nothing at all."""
_AGAIN = ("endpoint", "fault")
"""The states of trials that a further run does anew: they say nothing about the model."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How the model is asked: in a dialect, held to its grammar or not, or natively."""

    dialect: str = ""
    grammar: bool = False
    native: bool = False

    @property
    def name(self) -> str:
        """Return the name in reports."""
        if self.native:
            return NATIVE
        return f"{self.dialect}{GRAMMAR}" if self.grammar else self.dialect


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One task in one setup, once. Times are in seconds, `first_call` to the first call's end."""

    setup: str
    task: str
    kind: str
    repeat: int
    seed: int
    state: State
    why: str = ""
    made: tuple[Made, ...] = ()
    broken: int = 0
    """Blocks that were begun and are no calls."""
    repairs: int = 0
    foreign: int = 0
    """Calls in another dialect than that of the setup."""
    tokens_in: int = 0
    tokens_out: int = 0
    first_call: float | None = None
    seconds: float = 0.0
    timeline: str = ""
    block: int = 0
    """The block of the timeline that shows what was wrong; 0 for none."""
    prompt: str = ""
    """The digest of the system prompt, which stands in `prompts.jsonl`."""

    @property
    def is_measured(self) -> bool:
        """Return whether the trial says something about the model."""
        return self.state in ("right", "wrong")

    @property
    def key(self) -> tuple[str, str, int]:
        """Return what no two trials of a run share."""
        return self.setup, self.task, self.repeat


class RunHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of the trials: what was run. `prompts` are the system prompts, by setup."""

    version: int = VERSION
    digest: str
    model: str
    setups: tuple[Setup, ...]
    tasks: tuple[tuple[str, str], ...]
    """Each task with its class."""
    repeats: int
    max_tokens: int
    temperature: float | None
    prompts: dict[str, str] = {}


class _Version(msgspec.Struct):
    version: int


def read_trials(path: str | Path) -> tuple[RunHeader, list[Trial]]:
    """Read the trials of a run, each one once; a last line that was broken off is left out."""
    header, trials, _ = _read(Path(path))
    return header, trials


def _read(path: Path) -> tuple[RunHeader, list[Trial], int]:
    """Return header, trials, and how many bytes are whole lines."""
    lines = path.read_bytes().splitlines(keepends=True)
    trials: dict[tuple[str, str, int], Trial] = {}
    try:
        version = msgspec.json.decode(lines[0], type=_Version).version
        if version != VERSION:
            raise CallerError(
                f"{path} is of another version of callblocks ({version}, and not {VERSION}); "
                "name another folder, or say --fresh"
            )
        header = msgspec.json.decode(lines[0], type=RunHeader)
        size = len(lines[0])
        for number, line in enumerate(lines[1:], 2):
            if not line.endswith(b"\n") and number == len(lines):
                break
            trial = msgspec.json.decode(line, type=Trial)
            trials[trial.key] = trial
            size += len(line)
    except (msgspec.DecodeError, IndexError) as error:
        raise CallerError(f"{path}: these are no trials: {error}") from error
    return header, list(trials.values()), size


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Hold a folder; raise `CallerError` where another process does."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CallerError(f"{folder}: another evaluation is at work there") from None
        yield


class TrialFile:
    """The trials of a folder, held open to append. What an earlier run left is in `known`."""

    def __init__(self, folder: Path, header: RunHeader, *, fresh: bool) -> None:
        path = folder / FOLDER_FILE
        self.known: dict[tuple[str, str, int], Trial] = {}
        if fresh or not path.exists():
            self._begin(path, header)
        else:
            self._go_on(path, header)
        self._file = path.open("ab")
        self._prompts = _Prompts(folder / "prompts.jsonl", fresh=fresh)

    def _begin(self, path: Path, header: RunHeader) -> None:
        # A name of its own first: a process that is killed here leaves no half a header.
        new = path.with_name(f".{path.name}.{os.getpid()}.new")
        new.write_bytes(msgspec.json.encode(header) + b"\n")
        new.replace(path)

    def _go_on(self, path: Path, header: RunHeader) -> None:
        found, trials, size = _read(path)
        if found.digest != header.digest:
            raise CallerError(
                f"{path} holds another evaluation (model, tasks, setups or repeats differ); "
                "name another folder, or say --fresh"
            )
        os.truncate(path, size)
        self.known = {trial.key: trial for trial in trials if trial.state not in _AGAIN}

    def write(self, trial: Trial) -> None:
        """Append a trial that has ended."""
        _append(self._file, msgspec.json.encode(trial))

    def keep_prompt(self, system: str, tools: Sequence[dict[str, Any]]) -> str:
        """Keep a system prompt once, with the tools that go beside it; return its digest."""
        return self._prompts.keep(system, tools)

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        self._prompts.close()


class _Prompts:
    """What the model was told before the task; most trials of a setup share a few of these."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        lines = [] if fresh or not path.exists() else path.read_bytes().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        if len(whole) < len(lines):
            os.truncate(path, sum(map(len, whole)))
        self._seen = {line[:40] for line in whole}
        self._file = path.open("wb" if fresh else "ab")

    def keep(self, system: str, tools: Sequence[dict[str, Any]]) -> str:
        content = msgspec.json.encode({"system": system, "tools": tools})
        digest = hashlib.sha256(content).hexdigest()[:16]
        line = msgspec.json.encode({"prompt": digest, "system": system, "tools": tools})
        if line[:40] not in self._seen:
            self._seen.add(line[:40])
            _append(self._file, line)
        return digest

    def close(self) -> None:
        self._file.close()


def _append(file: IO[bytes], line: bytes) -> None:
    try:
        file.write(line + b"\n")
        file.flush()
    except OSError as error:  # it names no file
        raise OSError(error.errno, error.strerror, file.name) from error
