"""The fallback where namespaces are forbidden: Landlock, a seccomp filter, and a private user id.

The job sees the host's process ids and can probe whether a path exists; it can open only what is
listed here, create no socket unless it has the network, and signal nobody. Only root can switch to
another user, so only root has this sandbox. The kernel does not limit the disk here: usage is
polled, and a job that takes too much is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import mimetypes
import os
import resource
import stat
import sys
import tempfile
from collections.abc import AsyncGenerator, Collection, Iterable

from callblocks.core.errors import ToolError
from callblocks.guard.sandbox.bubblewrap import certificates, environment, names
from callblocks.guard.sandbox.cgroups import ControlGroup, GroupHome, group_of
from callblocks.guard.sandbox.inputs import InputEntry, WalkEntry, survey, walk
from callblocks.guard.sandbox.job import JobRun, Watch, supervise, to_its_end
from callblocks.guard.sandbox.launch_plan import (
    Plan,
    check_job,
    kill_all_of,
    setting_up,
    start,
    stranger,
)
from callblocks.guard.sandbox.launcher import Doors
from callblocks.guard.sandbox.sandbox import Changes, Job, JobEnd, OnOutput
from callblocks.guard.sandbox.seccomp import machine_is_known, syscall_filter
from callblocks.guard.sandbox.tar_streams import (
    Collector,
    Note,
    Refused,
    note_of,
    open_file,
    read_exactly,
)

__all__ = (
    "DEVICE_CONTROL",
    "EXECUTE",
    "LIST",
    "MAKE_BLOCK",
    "MAKE_CHARACTER",
    "OLDEST",
    "READ",
    "TRUNCATE",
    "WRITE",
    "Landlock",
    "Scratch",
    "every_right",
    "landlock_version",
    "lock_in",
    "own_places",
    "ruleset",
    "scratch",
)

# --- Landlock's access rights, in the numbers of the kernel ---

# The first version of Landlock that controls truncation.
OLDEST = 3

EXECUTE, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHARACTER, MAKE_BLOCK, TRUNCATE, DEVICE_CONTROL = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_LET_IN, _GO_OUT = 1 << 0, 1 << 1


def landlock_version() -> int:
    """Return the version of Landlock that the kernel offers, 0 for none."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    ask_version = ctypes.c_ulong(1)
    return max(0, libc.syscall(ctypes.c_long(444), None, ctypes.c_ulong(0), ask_version))


def every_right(version: int) -> int:
    """Return every file-system right that a version knows."""
    return (1 << 15) - 1 if version < 5 else (1 << 16) - 1


def ruleset(version: int, *, network: bool = False) -> bytes:
    """Return the ruleset attributes, as far as this version knows them.

    They cover the whole file system, incoming and outgoing TCP, abstract sockets and signals. With
    `network`, outgoing TCP is not restricted.
    """
    words = [every_right(version)]
    words += [_LET_IN if network else _LET_IN | _GO_OUT] if version >= 4 else []
    words += [0b11] if version >= 6 else []
    return b"".join(word.to_bytes(8, "little") for word in words)


# --- A job's copy of its folder on the host's disk, for a sandbox without a tmpfs of its own ---
#
#     <temporary>/workspace   the copy          <temporary>/tmp   for temporary files
#
# The job's user owns both. Afterwards, when all its processes are dead, the result is read as
# hostile: no link is followed, and only regular files of that user are taken.


class Scratch:
    """The two folders of one job, owned by its user."""

    def __init__(self, top: str, user: int) -> None:
        self._top = top
        self._user = user
        self.workspace = os.path.join(top, "workspace")
        self.temporary = os.path.join(top, "tmp")

    def set_up(self) -> None:
        # Others may pass through but not list it: the job needs to reach its two folders and
        # nothing else.
        os.chmod(self._top, 0o711)
        for path in (self.workspace, self.temporary):
            os.mkdir(path, 0o700)
            os.chown(path, self._user, self._user)

    def fill(self, folder: str, entries: tuple[InputEntry, ...], notes: dict[str, Note]) -> None:
        """Copy the entries in, and note each file. No job runs in there yet."""
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for entry in entries:
                self._copy(root, entry, notes)
        finally:
            os.close(root)

    def _copy(self, root: int, entry: InputEntry, notes: dict[str, Note]) -> None:
        path = os.path.join(self.workspace, entry.path)
        if entry.is_file:
            source = open_file(root, entry.path)
            if source is None:
                return
            digest = hashlib.sha256()
            with open(path, "xb") as file:
                for piece in read_exactly(source, entry.size):
                    digest.update(piece)
                    file.write(piece)
            os.chmod(path, entry.permissions)
            os.utime(path, (entry.modified, entry.modified))
            if not entry.read_only:
                notes[entry.path] = note_of(entry, digest.digest())
        elif entry.target:
            os.symlink(entry.target, path)
        else:
            os.mkdir(path)
            os.chmod(path, entry.permissions)
        os.chown(path, self._user, self._user, follow_symlinks=False)

    def collect(self, collector: Collector, without: Collection[str] = ()) -> None:
        """Pass every entry but those in `without` to the collector, which may raise `Refused`."""
        for found in walk(self.workspace, without.__contains__):
            collector.count()
            self._collect(collector, found)

    def _collect(self, collector: Collector, found: WalkEntry) -> None:
        path, seen = found.path, found.seen
        if stat.S_ISDIR(seen.st_mode):
            return
        if not stat.S_ISREG(seen.st_mode):
            collector.other(path, "it is a link or a pipe")
        # A hard link to a file of the host has the host's owner: its content must not come out.
        elif seen.st_uid != self._user:
            collector.other(path, "it is not the job's own")
        elif collector.admit(path, seen.st_size):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(found.name, flags, dir_fd=found.folder)
            content = b"".join(read_exactly(fd, seen.st_size))
            executable = bool(seen.st_mode & 0o100)
            collector.file(path, content, executable=executable, modified=seen.st_mtime)

    def size(self) -> int:
        """Return the bytes that both folders take on the disk; files may come and go meanwhile."""
        return sum(max(found.seen.st_blocks, 1) * 512 for found in walk(self._top))


@contextlib.asynccontextmanager
async def scratch(user: int) -> AsyncGenerator[Scratch, None]:
    """Create a scratch folder and remove it at the end, with its content."""
    with setting_up():
        top = tempfile.mkdtemp(prefix="callblocks-")
    try:
        made = Scratch(top, user)
        with setting_up():
            made.set_up()
        yield made
    finally:
        # `rm` copes with folders nested deeper than Python's recursion limit.
        remover = await asyncio.create_subprocess_exec(
            *("/bin/rm", "-rf", "--", top), stdin=asyncio.subprocess.DEVNULL, env={}
        )
        await remover.wait()


# --- The fallback without namespaces: Landlock, a seccomp filter, and a private user id ---

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

_LOOK = EXECUTE | READ | LIST
_WATCH_SECONDS = 0.1


class Landlock:
    """The sandbox that runs jobs which can open little. `home` is where control groups can
    be made.
    """

    name = "landlock"

    def __init__(self, version: int, home: GroupHome | None) -> None:
        self._version = version
        self._home = home

    @property
    def holds(self) -> tuple[str, ...]:
        """Return the enforced limits; a private user has its own count of processes, with a group
        or without.
        """
        grouped = ("memory",) if self._home is not None else ()
        return ("filesystem", "network", "syscalls", "processes", "uid", *grouped)

    async def run(self, job: Job, on_output: OnOutput | None = None) -> JobEnd:
        check_job(job)
        watch = Watch()
        return await to_its_end(self._run(job, on_output, watch), watch)

    async def _run(self, job: Job, on_output: OnOutput | None, watch: Watch) -> JobEnd:
        user = stranger()
        if user is None:
            raise ToolError("sandbox_failed", "only root can become another user for a job")
        run = JobRun(job, await asyncio.to_thread(survey, job), watch, on_output)
        # Landlock can only add rights below a path, never take them away: hiding needs a copy.
        if not run.copied and job.without:
            message = "the folder is too large to copy, and a part of it cannot be hidden here"
            raise ToolError("sandbox_failed", message)
        async with scratch(user) as place:
            if run.copied and job.folder is not None:
                with setting_up():
                    entries = run.survey.entries
                    await asyncio.to_thread(place.fill, job.folder, entries, run.notes)
            limits = job.limits
            with group_of(self._home, memory=limits.memory, processes=limits.processes) as group:
                code = None if watch.stopped else await self._live(run, group, place, user)
                changes = await asyncio.to_thread(_changes, run, place, code)
                return run.ended(group, code, changes)

    async def _live(
        self, run: JobRun, group: ControlGroup | None, place: Scratch, user: int
    ) -> int | None:
        """Start the job and supervise it; return its exit code, or `None` if it had to be
        stopped.
        """
        with setting_up(), contextlib.ExitStack() as undo:
            reported, report = os.pipe()
            undo.callback(os.close, reported)
            plan = self._plan(run, group, place, user)
            plan.fds = [report]
            child = await start(plan, stdin=bool(run.job.stdin))
            undo.pop_all()
        run.began()
        guard = asyncio.ensure_future(_guard_disk(run, place))
        try:
            await supervise(
                child,
                run.watch,
                stdin=run.job.stdin,
                beside=await run.listen(child, reported),
                group=group,
                kill_rest=lambda: asyncio.to_thread(kill_all_of, user),
            )
        finally:
            guard.cancel()
        code = child.returncode
        if code is None or run.watch.stopped:
            return None
        return code if code >= 0 else 128 - code

    def _plan(self, run: JobRun, group: ControlGroup | None, place: Scratch, user: int) -> Plan:
        shown = None if run.copied else run.job.folder
        folder = shown or place.workspace
        return Plan(
            argv=list(run.job.argv),
            env=environment(run.job, home=place.temporary),
            cwd=os.path.join(folder, run.job.cwd),
            groups=group.doors if group is not None else [],
            rlimits=run.rlimits(grouped=group is not None)
            | {resource.RLIMIT_NPROC: run.processes(grouped=group is not None)},
            user=user,
            announce=True,
            filter=syscall_filter(apart=False, network=run.job.network),
            ruleset=ruleset(self._version, network=run.job.network),
            landlock=self._rules(place, shown) + (_outward() if run.job.network else []),
        )

    def _rules(self, place: Scratch, shown: str | None) -> list[tuple[str, int]]:
        # Everything but creating devices and ioctl on devices: the job's own folders need no more.
        work = every_right(self._version) & ~(MAKE_CHARACTER | MAKE_BLOCK | DEVICE_CONTROL)
        rules = [(path, work) for path in (place.workspace, place.temporary)]
        rules += [(path, _LOOK) for path in _SYSTEM if os.path.isdir(path)]
        rules += [(path, READ) for path in ("/etc/ld.so.cache",) if os.path.isfile(path)]
        rules += [(path, READ | WRITE | TRUNCATE) for path in _DEVICES]
        return rules if shown is None else [*rules, (shown, _LOOK)]


def _outward() -> list[tuple[str, int]]:
    """Return the rules for what a job with the network may read."""
    paths = (*names(), *certificates())
    return [(path, READ | LIST if os.path.isdir(path) else READ) for path in paths]


async def _guard_disk(run: JobRun, place: Scratch) -> None:
    """Stop the run when its folders exceed their limit.

    The free space of the whole disk is cheap to read; only when it shrinks are the files counted.
    """
    limit = run.room
    # Free space is a number of the whole disk, which others use too; it only raises suspicion, and
    # the exact count decides.
    before = os.statvfs(place.workspace)
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        now = os.statvfs(place.workspace)
        taken = (before.f_bfree - now.f_bfree) * now.f_frsize
        made = before.f_ffree - now.f_ffree
        suspect = taken > limit or made > run.job.limits.copy_files
        if suspect and await asyncio.to_thread(place.size) > limit:
            run.out_of_disk = True
            run.watch.stop()


def _changes(run: JobRun, place: Scratch, code: int | None) -> Changes:
    if code is None:
        return Changes(lost="the job was stopped, so its changes were dropped")
    try:
        place.collect(run.collector, run.job.read_only)
        return run.collector.changes(run.survey.left_out)
    except (OSError, Refused) as refused:
        return Changes(lost=f"the changes were dropped: {refused}")


# --- Self-confinement of a process of ours, before it works on data of others ---
#
# From then on it opens only the listed files, creates no socket and starts no program. A bug in a C
# library that hostile data exploits is confined by the same locks.

_PYTHON_NEEDS = (
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/null",
    "/dev/urandom",
)


def own_places() -> list[str]:
    """Return the paths that a Python process needs: its packages, and the machine's libraries."""
    paths = [*filter(None, sys.path), sys.prefix, sys.base_prefix]
    return [*paths, *_PYTHON_NEEDS, *map(str, mimetypes.knownfiles)]


def lock_in(*, read: Iterable[str], write: Iterable[str] = (), parent: int | None = None) -> bool:
    """Confine this process; return whether the machine can. Paths that do not exist are left out.

    With `parent`, the process ends when the thread that started it ends. Raise `OSError` where a
    lock that the machine has does not close.
    """
    version = landlock_version()
    if version < OLDEST or not machine_is_known():
        return False
    # No right to execute in the writable folder: a file that hostile data made us write cannot be
    # run.
    work = every_right(version) & ~(EXECUTE | MAKE_CHARACTER | MAKE_BLOCK | DEVICE_CONTROL)
    rules = [(path, work) for path in write if os.path.isdir(path)]
    rules += [(path, READ | LIST) for path in read if os.path.isdir(path)]
    rules += [(path, READ) for path in read if os.path.exists(path) and not os.path.isdir(path)]
    plan = {
        "filter": syscall_filter(apart=False),
        "ruleset": ruleset(version),
        "landlock": rules,
    }
    Doors(plan).close(parent)
    return True
