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

__all__ = (
    "NAMES",
    "SCRIPT",
    "USER",
    "WORKSPACE",
    "Bubblewrap",
    "certificates",
    "environment",
    "etc",
    "names",
    "system_folders",
)

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
            fds += [memory_file(name, text.encode()) for name, text in etc(run.job).items()]
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
    start = f"{WORKSPACE}/{run.job.cwd}".rstrip("/")
    inner = "\n".join(f"./{path}" for path in run.job.read_only)
    words = [run.way, str(run.processes(grouped=group is not None)), start, inner]
    return ["/bin/sh", "-c", SCRIPT, "sandbox", *words, *run.job.argv]


def _send(run: JobRun, sink: int) -> None:
    if run.way == "copy" and run.job.folder is not None:
        pack(run.job.folder, run.survey.entries, sink, run.notes)
    else:
        os.close(sink)


def _options(run: JobRun, known: frozenset[str]) -> list[str]:
    user = str(USER)
    # The order matters to bubblewrap: mounts are made in the order of the options, and a later one
    # covers an earlier one.
    options = ["--unshare-user", "--unshare-all", "--die-with-parent"]
    options += ["--share-net"] if run.job.network else []
    # Older versions lack this option. The seccomp filter refuses new user namespaces as well.
    options += ["--disable-userns"] if "--disable-userns" in known else []
    # A new session, or the job could push input to our terminal with TIOCSTI.
    options += ["--new-session", "--uid", user, "--gid", user, "--hostname", "sandbox"]
    options += ["--seccomp", str(_FILTER), "--info-fd", str(_INFO), *system_folders(run.job)]
    for number, name in enumerate(etc(run.job), _ETC):
        options += ["--file", str(number), f"/etc/{name}"]
    options += ["--proc", "/proc", "--dev", "/dev", *_sized("/dev/shm", run.job.limits.files // 4)]
    # Remounted read-only last, after everything below / is in place.
    options += ["--remount-ro", "/dev", *_sized("/tmp", run.job.limits.files // 2)]
    options += _workspace(run)
    options += ["--remount-ro", "/", "--chdir", WORKSPACE, "--clearenv"]
    for name, value in environment(run.job).items():
        options += ["--setenv", name, value]
    return options


def _sized(path: str, size: int) -> list[str]:
    return ["--perms", "1777", "--size", str(max(size, 4096)), "--tmpfs", path]


def _workspace(run: JobRun) -> list[str]:
    """Return options for an empty folder to copy into, or for the real one read-only with hidden
    parts covered.
    """
    if run.copied:
        return ["--perms", "0755", "--size", str(run.room), "--tmpfs", WORKSPACE]
    folder = run.job.folder or ""
    options = ["--ro-bind", folder, WORKSPACE]
    for path in run.job.without:
        real = os.path.join(folder, path)
        if os.path.lexists(real):
            covered = f"{WORKSPACE}/{path}"
            # A folder is covered by an empty tmpfs, a file by /dev/null: a bind mount must match
            # the type of its target.
            over = (
                _sized(covered, 0) if os.path.isdir(real) else ["--ro-bind", "/dev/null", covered]
            )
            options += over
    return options


# --- The root of a job inside bubblewrap: the machine's programs read-only, everything else
#     made here ---
#
#     /usr /bin /lib …    the machine's, read-only
#     /etc                a few generated files; with the network, resolver settings and
# certificates
#     /workspace          the job's copy of its folder, in memory, sized
#     /tmp /dev/shm       in memory, sized
#
# The root is built from nothing: what is not bound does not exist. Binding `/` and hiding parts
# of it
# would expose every secret that nobody thought of.

# --- The machine's files that a job with the network gets: resolver settings and certificates ---
#
# No proxy and no key is among them: those are in an environment and in folders that a job never
# has.

# Files of name servers, and of the names of ports and protocols.
NAMES = ("/etc/resolv.conf", "/etc/services", "/etc/protocols")

_OWN_NAMES = ("/etc/hosts", "/etc/nsswitch.conf")
_CERTIFICATES = (
    *("/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/openssl.cnf"),
    *("/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/ca-trust/extracted"),
    *("/etc/ca-certificates", "/var/lib/ca-certificates"),
)


def certificates() -> list[str]:
    """Return the existing folders and files of certificates; each distribution has its own."""
    return [path for path in _CERTIFICATES if os.path.exists(path)]


def names() -> list[str]:
    """Return the existing files of names, for a job that has no `/etc` of its own."""
    return [path for path in (*NAMES, *_OWN_NAMES) if os.path.isfile(path)]


# --- The root of a job in bubblewrap: the machine's programs read-only, all else made here ---

WORKSPACE = "/workspace"
USER = 1000

_ETC_FILES = {
    "passwd": f"user:x:{USER}:{USER}:user:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": f"user:x:{USER}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_NETWORK_ETC = {"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n"}

# $1: copy, bound or none   $2: processes   $3: the folder to start in   $4: paths that do not come
# out, one a line   then the command. fd 3: the archive that comes in   fd 4: the report.
#
# - The job gets neither of them, nor any descriptor that bubblewrap may have left open: an open
#   folder of the host is a way back to the host.
# - The traps keep this shell alive when the job signals its whole process group. They are handlers,
#   because an ignored signal would be inherited by the job and a handler is not.
# - What the job left running is killed before its files are read, or it could change them while tar
#   reads. `kill -9 -1` hits everything in this pid namespace but its init and this shell. /proc
#   then shows when the last of them is gone, without a fork, for which there may be no room.
SCRIPT = f"""\
way=$1 processes=$2 start=$3 inner=$4
shift 4
trap : HUP INT QUIT TERM USR1 USR2 ALRM
if [ "$way" = copy ]; then
    tar -x -f - -C {WORKSPACE} --no-same-owner <&3 || exit 125
fi
exec 3<&- 5<&- 6<&- 7<&- 8<&- 9<&-
cd "$start" || exit 125
echo ready >&4
(
    ulimit -u "$processes" 2>/dev/null || ulimit -p "$processes" || exit 125
    exec 4>&-
    exec "$@"
)
code=$?
exec </dev/null >/dev/null 2>&1
kill -9 -1
turns=0
while [ "$turns" -lt 20000 ]; do
    set -- /proc/[0-9]*
    [ "$#" -le 2 ] && break
    turns=$((turns + 1))
done
echo "exit $code" >&4
[ "$way" = bound ] && exit
cd {WORKSPACE} || exit 125
unset TAR_OPTIONS
PATH=/usr/bin:/bin
chmod -R u+rwX .
set --
if [ -n "$inner" ]; then
    set -- --anchored --no-wildcards -X -
fi
printf '%s\n' "$inner" | tar -c --format=gnu --hard-dereference "$@" -f - . >&4
echo "end $?" >&4
"""


def etc(job: Job) -> dict[str, str]:
    """Return the generated files of `/etc`, by their names."""
    return _ETC_FILES | _NETWORK_ETC if job.network else _ETC_FILES


def environment(job: Job, home: str = "/tmp") -> dict[str, str]:
    """Return the environment of a job, built from nothing and the job's own variables."""
    made = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "HOME": home,
        "USER": "user",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TMPDIR": home,
        "GIT_CONFIG_NOSYSTEM": "1",  # git gives up when that file is there but closed
    }
    return made | job.env


def system_folders(job: Job) -> list[str]:
    """Return options that show the machine's programs read-only, with links as links."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = f"/{name}"
        if os.path.islink(path):
            options += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            options += ["--ro-bind", path, path]
    outward = (*NAMES, *certificates()) if job.network else ()
    for path in ("/etc/ld.so.cache", "/etc/alternatives", *outward):
        options += ["--ro-bind-try", path, path]
    return options
