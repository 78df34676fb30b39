"""Values of a sandbox: jobs, limits and results.

    job = Job(argv=("sh", "-c", "make test"), folder="/home/me/project")
    ended = await sandbox.run(job, lambda stream, piece: show(stream, piece))
    ended.exit_code, ended.changes.written, ended.changes.deleted

A job works on a copy of its folder. Nothing it does reaches the folder itself: files that it wrote
and deleted come back as values, and the caller decides what to do with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

import msgspec

__all__ = (
    "MIB",
    "Changes",
    "Job",
    "JobEnd",
    "LeftOut",
    "Limits",
    "Missing",
    "OnOutput",
    "Sandbox",
    "Stream",
    "Written",
)

MIB = 1024 * 1024

Stream: TypeAlias = Literal["stdout", "stderr"]

# Callback with each piece of output as it comes: raw bytes in an unknown encoding.
OnOutput: TypeAlias = Callable[[Stream, bytes], None]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a job. Sizes are in bytes.

    `files` is what it may add to its copy of the folder. Of its output the first `output` bytes are
    passed on; the rest is counted and dropped. A folder of more than `copy_bytes` or `copy_files`
    is not copied but shown read-only.
    """

    seconds: float = 60.0
    cpu_seconds: int = 120
    memory: int = 512 * MIB
    processes: int = 64
    open_files: int = 256
    files: int = 256 * MIB
    output: int = 4 * MIB
    copy_bytes: int = 256 * MIB
    copy_files: int = 20_000


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One command to run.

    `folder` is copied in and is where the command starts, or `cwd` below it; without one it starts
    in an empty folder. `without` are paths below the folder that stay behind. Paths below
    `read_only` can be read and not written, and never come out. A file of `watched` that was
    written again counts as written also where its content is the same. `env` is added to an
    environment that is otherwise empty. With `network` the job can connect to everything that this
    machine can, including services of the machine; it cannot be connected to. All other limits hold
    as without.
    """

    argv: tuple[str, ...]
    folder: str | None = None
    cwd: str = ""
    without: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    stdin: bytes = b""
    env: dict[str, str] = {}
    limits: Limits = Limits()
    network: bool = False


class Written(msgspec.Struct, frozen=True):
    """A file that is new or different; `path` is relative, with `/`, and has no `..`."""

    path: str
    content: bytes
    executable: bool = False


class LeftOut(msgspec.Struct, frozen=True):
    """An entry that did not go in or come out, such as a link or a device, and the reason."""

    path: str
    reason: str


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a job to its copy of the folder. Delete first, then write.

    `lost` says why no changes came out at all: the job was stopped, or the result was too large or
    not readable. It is "" when they did.
    """

    written: tuple[Written, ...] = ()
    deleted: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    lost: str = ""


class JobEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a job.

    `exit_code` is `None` when it was stopped. A job that died by a signal has the shell's code, 128
    plus the number, and `signal` names it. `copied` is false when the folder was too large to copy,
    and so was read-only; `changes` is empty then. An `out_of_…` is reliable only for limits that
    `Sandbox.holds` names, and `out_of_disk` only where the job was stopped for it.
    """

    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False
    out_of_memory: bool = False
    out_of_processes: bool = False
    out_of_disk: bool = False
    output_bytes: int = 0
    truncated: bool = False
    copied: bool = True
    changes: Changes = Changes()
    seconds: float = 0.0


class Missing(msgspec.Struct, frozen=True):
    """No sandbox works on this machine: why, and how to get one."""

    reason: str


class Sandbox(Protocol):
    """A sandbox that runs jobs.

    `holds` names what it isolates or limits here: filesystem, network, syscalls, uid, processes,
    memory, disk. What is not named is not enforced, and neither is the network for a job that is
    given it.
    """

    @property
    def name(self) -> str: ...

    @property
    def holds(self) -> tuple[str, ...]: ...

    async def run(self, job: Job, on_output: OnOutput | None = None) -> JobEnd:
        """Run a job to its end.

        When its time is over, or this is cancelled, every process of it is killed and gone before
        this returns or raises. Raise `ToolError("sandbox_failed")` when the job could not be
        started.
        """
        ...
