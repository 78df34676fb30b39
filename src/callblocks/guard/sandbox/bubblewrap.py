"""The preferred sandbox: bubblewrap with a private user id, a control group and a seccomp filter.

A run
    1. survey the folder, create a control group
    2. start the launcher: it joins the group, sets rlimits, gives up the user, becomes bubblewrap
    3. send the folder in as a tar stream, pass the output on
    4. read the changes from the report, kill what is left, remove the group

The layers are independent on purpose. Namespaces hide files, processes and network; the private
user id keeps the job from signalling or tracing anything else if a namespace fails; the control
group bounds the sum of memory and processes; the filter keeps the job off rarely used kernel code.
The job works on a copy in a tmpfs, so no write reaches the real folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

from callblocks.guard.sandbox import bwrap_root as inside
from callblocks.guard.sandbox.cgroups import ControlGroup, GroupHome, group_of
from callblocks.guard.sandbox.inputs import survey
from callblocks.guard.sandbox.job import JobRun, Watch, supervise, to_its_end
from callblocks.guard.sandbox.launch_plan import (
    Plan,
    check_job,
    memory_file,
    setting_up,
    start,
    stranger,
)
from callblocks.guard.sandbox.sandbox import Job, JobEnd, OnOutput
from callblocks.guard.sandbox.seccomp import syscall_filter
from callblocks.guard.sandbox.tar_streams import pack

__all__ = ("Bubblewrap",)

# Processes beside the job: bubblewrap outside, bubblewrap inside, and the shell.
_OWN_PROCESSES = 3

# Descriptors of bubblewrap's own inputs; 3 and 4 are the pipes of the shell inside.
_FILTER, _OPTIONS, _INFO, _ETC = 5, 6, 7, 8


class Bubblewrap:
    """The sandbox that runs jobs in namespaces of their own.

    `options` are those that the installed program knows. `home` is where control groups can be
    made.
    """

    name = "bubblewrap"

    def __init__(self, program: str, options: frozenset[str], home: GroupHome | None) -> None:
        self._program = program
        self._options = options
        self._home = home

    @property
    def holds(self) -> tuple[str, ...]:
        """Return the enforced limits. Without a group, memory is limited per process only, and the
        number of files is not.
        """
        user = ("uid",) if stranger() is not None else ()
        grouped = ("memory", "disk") if self._home is not None else ()
        return ("filesystem", "network", "syscalls", "processes", *user, *grouped)

    async def run(self, job: Job, on_output: OnOutput | None = None) -> JobEnd:
        check_job(job)
        watch = Watch()
        return await to_its_end(self._run(job, on_output, watch), watch)

    async def _run(self, job: Job, on_output: OnOutput | None, watch: Watch) -> JobEnd:
        run = JobRun(job, await asyncio.to_thread(survey, job), watch, on_output)
        # The job's files are in a tmpfs, whose pages the kernel charges to the same group.
        memory = job.limits.memory + run.room
        processes = job.limits.processes + _OWN_PROCESSES
        with group_of(self._home, memory=memory, processes=processes) as group:
            if not watch.stopped:
                await self._live(run, group)
            return run.ended(group, run.report.exit_code, run.archived())

    async def _live(self, run: JobRun, group: ControlGroup | None) -> None:
        """Start the processes, and supervise them until they are dead."""
        with setting_up(), contextlib.ExitStack() as undo:
            archive, sent = os.pipe()
            undo.callback(os.close, sent)
            reported, report = os.pipe()
            undo.callback(os.close, reported)
            plan = self._plan(run, group, [archive, report])
            child = await start(plan, stdin=bool(run.job.stdin))
            # From here on the child owns the ends of the pipes, so nothing is closed on the way
            # out.
            undo.pop_all()
        run.began()
        await supervise(
            child,
            run.watch,
            stdin=run.job.stdin,
            beside=[*await run.listen(child, reported), asyncio.to_thread(_send, run, sent)],
            group=group,
            kill_rest=run.first_is_dead,
        )

    def _plan(self, run: JobRun, group: ControlGroup | None, pipes: list[int]) -> Plan:
        fds = [*pipes]
        try:
            filter = syscall_filter(apart=run.copied, network=run.job.network)
            fds.append(memory_file("filter", filter))
            fds.append(
                memory_file("options", "\0".join(_options(run, self._options)).encode() + b"\0")
            )
            # The report pipe under a second number: bubblewrap writes its info there, before the
            # shell does.
            fds.append(os.dup(fds[1]))
            fds += [memory_file(name, text.encode()) for name, text in inside.etc(run.job).items()]
        except OSError:
            for fd in fds:
                os.close(fd)
            raise
        return Plan(
            argv=[self._program, "--args", str(_OPTIONS), "--", *_command(run, group)],
            groups=group.doors if group is not None else [],
            rlimits=run.rlimits(grouped=group is not None),
            user=stranger(),
            fds=fds,
        )


def _command(run: JobRun, group: ControlGroup | None) -> list[str]:
    start = f"{inside.WORKSPACE}/{run.job.cwd}".rstrip("/")
    inner = "\n".join(f"./{path}" for path in run.job.read_only)
    words = [run.way, str(run.processes(grouped=group is not None)), start, inner]
    return ["/bin/sh", "-c", inside.SCRIPT, "sandbox", *words, *run.job.argv]


def _send(run: JobRun, sink: int) -> None:
    if run.way == "copy" and run.job.folder is not None:
        pack(run.job.folder, run.survey.entries, sink, run.notes)
    else:
        os.close(sink)


def _options(run: JobRun, known: frozenset[str]) -> list[str]:
    user = str(inside.USER)
    # The order matters to bubblewrap: mounts are made in the order of the options, and a later one
    # covers an earlier one.
    options = ["--unshare-user", "--unshare-all", "--die-with-parent"]
    options += ["--share-net"] if run.job.network else []
    # Older versions lack this option. The seccomp filter refuses new user namespaces as well.
    options += ["--disable-userns"] if "--disable-userns" in known else []
    # A new session, or the job could push input to our terminal with TIOCSTI.
    options += ["--new-session", "--uid", user, "--gid", user, "--hostname", "sandbox"]
    options += ["--seccomp", str(_FILTER), "--info-fd", str(_INFO), *inside.system_folders(run.job)]
    for number, name in enumerate(inside.etc(run.job), _ETC):
        options += ["--file", str(number), f"/etc/{name}"]
    options += ["--proc", "/proc", "--dev", "/dev", *_sized("/dev/shm", run.job.limits.files // 4)]
    # Remounted read-only last, after everything below / is in place.
    options += ["--remount-ro", "/dev", *_sized("/tmp", run.job.limits.files // 2)]
    options += _workspace(run)
    options += ["--remount-ro", "/", "--chdir", inside.WORKSPACE, "--clearenv"]
    for name, value in inside.environment(run.job).items():
        options += ["--setenv", name, value]
    return options


def _sized(path: str, size: int) -> list[str]:
    return ["--perms", "1777", "--size", str(max(size, 4096)), "--tmpfs", path]


def _workspace(run: JobRun) -> list[str]:
    """Return options for an empty folder to copy into, or for the real one read-only with hidden
    parts covered.
    """
    if run.copied:
        return ["--perms", "0755", "--size", str(run.room), "--tmpfs", inside.WORKSPACE]
    folder = run.job.folder or ""
    options = ["--ro-bind", folder, inside.WORKSPACE]
    for path in run.job.without:
        real = os.path.join(folder, path)
        if os.path.lexists(real):
            covered = f"{inside.WORKSPACE}/{path}"
            # A folder is covered by an empty tmpfs, a file by /dev/null: a bind mount must match
            # the type of its target.
            over = (
                _sized(covered, 0) if os.path.isdir(real) else ["--ro-bind", "/dev/null", covered]
            )
            options += over
    return options
