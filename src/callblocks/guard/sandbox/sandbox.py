"""Values of a sandbox: jobs, limits and results.

    job = Job(argv=("sh", "-c", "make test"), folder="/home/me/project")
    ended = await sandbox.run(job, lambda stream, piece: show(stream, piece))
    ended.exit_code, ended.changes.written, ended.changes.deleted

A job works on a copy of its folder. Nothing it does reaches the folder itself: files that it wrote
and deleted come back as values, and the caller decides what to do with them.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

from callblocks.core.errors import ToolError

if TYPE_CHECKING:
    from callblocks.guard.sandbox.cgroups import GroupHome

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
    "candidates",
    "find_sandbox",
    "forget_sandbox",
    "require_sandbox",
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


# --- The choice of a sandbox: bubblewrap, else Landlock, else none ---
#
# Version numbers and kernel features are not trusted: a small job is run, and must not be able to
# read a file of the host. Each candidate is tried with control groups first, and without them where
# they cannot be joined.


_FOLDERS = "/usr/local/bin:/usr/bin:/bin"
_NEEDED = {"--args", "--seccomp", "--size", "--perms", "--die-with-parent", "--unshare-all"}
_INSTALL = (
    "install bubblewrap (apt-get install bubblewrap, dnf install bubblewrap, apk add bubblewrap) "
    "and allow it user namespaces"
)
_found: list[Sandbox | Missing] = []


async def require_sandbox() -> Sandbox:
    """Return the sandbox of this machine; raise `ToolError("sandbox_unavailable")` with a hint."""
    found = await find_sandbox()
    if isinstance(found, Missing):
        raise ToolError("sandbox_unavailable", found.reason)
    return found


async def find_sandbox() -> Sandbox | Missing:
    """Find a sandbox that works, by running a small job in it; once per process."""
    if not _found:
        _found.append(await _search())
    return _found[0]


def forget_sandbox() -> None:
    """Forget the result, so that the next `find_sandbox` looks again after an installation."""
    _found.clear()


async def _search() -> Sandbox | Missing:
    reasons: list[str] = []
    for sandbox in candidates():
        if isinstance(sandbox, Missing):
            reasons.append(sandbox.reason)
        elif fault := await _try(sandbox):
            reasons.append(f"{sandbox.name}: {fault}")
        else:
            return sandbox
    return Missing(f"no sandbox works here ({'; '.join(dict.fromkeys(reasons))}); {_INSTALL}")


def candidates() -> Iterator[Sandbox | Missing]:
    """Yield candidates from the best to the weakest, each with control groups first, or why there
    is none.
    """
    from callblocks.guard.sandbox.cgroups import find_group_home
    from callblocks.guard.sandbox.seccomp import machine_is_known

    if not machine_is_known():
        yield Missing(f"no filter of system calls is known for {os.uname().machine}")
        return
    home = find_group_home()
    if home is not None:
        home.sweep()
    homes = (home, None) if home is not None else (None,)
    yield from _bubblewraps(homes)
    yield from _landlocks(homes)


def _bubblewraps(homes: tuple[GroupHome | None, ...]) -> Iterator[Sandbox | Missing]:
    from callblocks.guard.sandbox.bubblewrap import Bubblewrap

    program = shutil.which("bwrap", path=_FOLDERS)
    if program is None:
        yield Missing("bubblewrap is not installed")
        return
    options = _options(program)
    if lacks := _NEEDED - options:
        yield Missing(f"bubblewrap is too old: it lacks {', '.join(sorted(lacks))}")
        return
    for home in homes:
        yield Bubblewrap(program, options, home)


def _landlocks(homes: tuple[GroupHome | None, ...]) -> Iterator[Sandbox | Missing]:
    from callblocks.guard.sandbox.landlock import OLDEST, Landlock, landlock_version
    from callblocks.guard.sandbox.launch_plan import stranger

    if stranger() is None:
        yield Missing("Landlock alone is for root only")
        return
    version = landlock_version()
    if version < OLDEST:
        yield Missing("the kernel has no Landlock, or an old one")
        return
    for home in homes:
        yield Landlock(version, home)


def _options(program: str) -> frozenset[str]:
    """Return the options that a bubblewrap knows, as its help lists them."""
    try:
        done = subprocess.run(
            [program, "--help"], check=False, capture_output=True, text=True, timeout=10, env={}
        )
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    return frozenset(word for word in (done.stdout + done.stderr).split() if word.startswith("--"))


async def _try(sandbox: Sandbox) -> str:
    """Return the fault of a sandbox, or "": a job must run, and must not see a file of the host."""
    # A random word that only the file has: finding it in the output proves that the host's files
    # are readable, whatever the sandbox claims.
    word = secrets.token_hex(16)
    said: list[bytes] = []
    with tempfile.NamedTemporaryFile("w") as secret:
        secret.write(word)
        secret.flush()
        os.chmod(secret.name, 0o644)
        job = Job(
            argv=("/bin/sh", "-c", 'cat "$1"; echo works > trace; cat trace', "probe", secret.name),
            limits=Limits(seconds=10),
        )
        try:
            ended = await sandbox.run(job, lambda _, piece: said.append(piece))
        except ToolError as error:
            return error.message
    text = b"".join(said).decode("utf-8", "replace")
    if word in text:
        return "it does not keep the host's files apart"
    if ended.exit_code != 0 or "works" not in text:
        return f"a trial ended with {ended.exit_code}: {text.strip()[:200]}"
    if ended.changes.written != (Written("trace", b"works\n"),):
        return f"a file did not come out of it; {ended.changes.lost or 'GNU tar is needed'}"
    return ""
