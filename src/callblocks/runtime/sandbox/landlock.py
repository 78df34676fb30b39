"""The fallback where namespaces are forbidden: Landlock, a seccomp filter, and a private user id.

The job sees the host's process ids and can probe whether a path exists; it can open only what is
listed here, create no socket unless it has the network, and signal nobody. Only root can switch to
another user, so only root has this sandbox. The kernel does not limit the disk here: usage is
polled, and a job that takes too much is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource

from callblocks.model.errors import ToolError
from callblocks.runtime.sandbox.cgroups import Group
from callblocks.runtime.sandbox.changes import Refused
from callblocks.runtime.sandbox.checking import check_job
from callblocks.runtime.sandbox.group_home import GroupHome, group_of
from callblocks.runtime.sandbox.identity import kill_all_of, stranger
from callblocks.runtime.sandbox.inside import environment
from callblocks.runtime.sandbox.landlock_rights import (
    DEVICE_CONTROL,
    EXECUTE,
    LIST,
    MAKE_BLOCK,
    MAKE_CHARACTER,
    READ,
    TRUNCATE,
    WRITE,
    every_right,
    ruleset,
)
from callblocks.runtime.sandbox.outward import certificates, names
from callblocks.runtime.sandbox.plan import Plan, setting_up, start
from callblocks.runtime.sandbox.run import Run
from callblocks.runtime.sandbox.sandbox import Changes, Ended, Job, OnOutput
from callblocks.runtime.sandbox.scratch import Scratch, scratch
from callblocks.runtime.sandbox.seccomp import syscall_filter
from callblocks.runtime.sandbox.supervision import Watch, supervise, to_its_end
from callblocks.runtime.sandbox.survey import survey

__all__ = ("Landlock",)

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

    async def run(self, job: Job, on_output: OnOutput | None = None) -> Ended:
        check_job(job)
        watch = Watch()
        return await to_its_end(self._run(job, on_output, watch), watch)

    async def _run(self, job: Job, on_output: OnOutput | None, watch: Watch) -> Ended:
        user = stranger()
        if user is None:
            raise ToolError("sandbox_failed", "only root can become another user for a job")
        run = Run(job, await asyncio.to_thread(survey, job), watch, on_output)
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

    async def _live(self, run: Run, group: Group | None, place: Scratch, user: int) -> int | None:
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

    def _plan(self, run: Run, group: Group | None, place: Scratch, user: int) -> Plan:
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


async def _guard_disk(run: Run, place: Scratch) -> None:
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


def _changes(run: Run, place: Scratch, code: int | None) -> Changes:
    if code is None:
        return Changes(lost="the job was stopped, so its changes were dropped")
    try:
        place.collect(run.collector, run.job.read_only)
        return run.collector.changes(run.survey.left_out)
    except (OSError, Refused) as refused:
        return Changes(lost=f"the changes were dropped: {refused}")
