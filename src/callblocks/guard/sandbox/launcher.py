"""The launcher of a sandboxed program: `python -I -S launcher.py FD`, with a plan in FD.

It stands alone: it runs before there is a sandbox, as the host's user, and imports nothing that it
does not need. The steps go from those that need rights to those that give them up: join the control
groups, place the file descriptors, set limits, give up the user, lock down, execute. A step that
fails ends it with code 125 and one line on stderr: nothing runs half-locked.

The guardian. The process that was started stays as the guardian; its child becomes the program. If
the host is killed, nobody else is left to clean up. Bubblewrap's `--die-with-parent` alone does not
suffice: its processes tie themselves to their parents one after the other, and one whose parent
dies before that lives on. The guardian is a subreaper, so orphans become its children. When the
host dies, it kills until there is no child left, and reaps them all. While the host lives, the
guardian only waits for the program and ends with its status; killing the rest is then the host's
task, or with `sweep` the guardian's.
"""

from __future__ import annotations

import marshal
import os
import sys
from typing import Any

__all__ = ("FAILED", "Doors", "main")

FAILED = 125
_ANNOUNCE = 3  # where a plan wants to hear that all doors are locked
_SPARE = 100  # above every place that a plan names
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
_PR_SET_CHILD_SUBREAPER = 36
_PAUSE = 0.005
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_LANDLOCK_CREATE, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT = 444, 445, 446
_RULE_PATH_BENEATH = 1


def main() -> None:
    """Read the plan and carry it out; return only if that failed."""
    plan = _read_plan(int(sys.argv[1]))
    try:
        _stay_as_guardian(plan)
        _carry_out(plan)
    except (OSError, ValueError) as error:
        os.write(2, f"launcher: {type(error).__name__}: {error}\n".encode())
    os._exit(FAILED)


def _read_plan(fd: int) -> dict[str, Any]:
    with os.fdopen(fd, "rb") as file:
        return marshal.load(file)


def _stay_as_guardian(plan: dict[str, Any]) -> None:
    """Return only in a child, which becomes the program; this process guards it to its end."""
    import ctypes
    import signal

    prctl = ctypes.CDLL(None, use_errno=True).prctl
    heard = {signal.SIGTERM, signal.SIGCHLD}
    # Blocked signals are queued until `sigwait`, so that no death is missed between two waits.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    # The host may have died before PDEATHSIG was set; then that signal never comes.
    if os.getppid() != plan["parent"]:
        raise OSError("the host has gone")
    plan["parent"] = os.getpid()
    program = os.fork()
    if not program:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    # Pipes reach end-of-file only when every copy of the write end is closed.
    os.closerange(0, max([_SPARE, *plan["fds"]]) + 1)
    # SIGTERM is the death of the host (PDEATHSIG); SIGCHLD is any child, so the program must be
    # looked up among the reaped ones.
    while signal.sigwait(heard) is not signal.SIGTERM:
        status = _reap(program)
        if status is not None:
            if plan["sweep"]:
                _end_all(plan["user"])
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
    _end_all(plan["user"])
    os._exit(FAILED)


def _reap(program: int) -> int | None:
    """Reap all dead children; return the status of the program, or `None` if it still runs."""
    ended = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == program:
            ended = status
        elif not pid:
            return ended


def _end_all(user: int | None) -> None:
    """Kill until no child is left; each process that loses its parent becomes one of ours."""
    import time

    while True:
        # A child does it, because only a process of that user may kill them all at once, and the
        # guardian needs its own rights for the next round.
        if user is not None and not os.fork():
            _kill_all_of(user)
        for pid in _children():
            _kill(pid)
        time.sleep(_PAUSE)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _kill_all_of(user: int) -> None:
    """Kill all processes of a user as one of them: the kernel kills in one pass, none can fork
    away.
    """
    try:
        _become(user)
        os.kill(-1, _SIGKILL)
    finally:
        os._exit(0)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, _SIGKILL)
    except OSError:
        return  # It is dead, or changing its user right now: then it is met again.


def _children() -> list[int]:
    own = str(os.getpid()).encode()
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and _parent(name) == own]


def _parent(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2].split()[1]
    except OSError:
        return b""


def _carry_out(plan: dict[str, Any]) -> None:
    for path in plan["groups"]:
        _join(path)
    os.chdir(plan["cwd"])
    os.umask(0o022)
    _place(plan["fds"])
    # The paths of the rules are opened here, while the rights to open them still exist.
    doors = Doors(plan) if plan["filter"] else None
    _limit(plan["rlimits"])
    if plan["user"] is not None:
        _become(plan["user"])
    if doors is not None:
        doors.close(plan["parent"])
    if plan["announce"]:
        os.set_inheritable(_ANNOUNCE, False)
        os.write(_ANNOUNCE, b"ready\n")
    _execute(plan)


def _execute(plan: dict[str, Any]) -> None:
    """Become the program; look it up in PATH as a shell would."""
    program: str = plan["argv"][0]
    folders = [""] if "/" in program else plan["env"].get("PATH", "").split(":")
    for folder in folders:
        try:
            os.execve(os.path.join(folder, program), plan["argv"], plan["env"])
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            os.write(2, f"sandbox: {program}: permission denied\n".encode())
            os._exit(126)
    os.write(2, f"sandbox: {program}: not found\n".encode())
    os._exit(127)


def _join(path: str) -> None:
    """Move this process into a control group; "0" is the writer itself."""
    with open(path, "wb", buffering=0) as file:
        file.write(b"0")


def _place(fds: list[int]) -> None:
    """Give the n-th of `fds` the number 3 + n, and close every other."""
    import fcntl

    # Two steps through high numbers: a direct dup2 could overwrite a descriptor still needed.
    spare = [fcntl.fcntl(fd, fcntl.F_DUPFD, _SPARE) for fd in fds]
    for number, fd in enumerate(spare, 3):
        os.dup2(fd, number)
    os.closerange(3 + len(spare), max([_SPARE, *fds, *spare]) + 1)


def _limit(rlimits: dict[int, int]) -> None:
    """Set each limit, soft and hard; one that is already lower stays."""
    import resource

    for kind, value in rlimits.items():
        hard = resource.getrlimit(kind)[1]
        lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (lower, lower))


def _become(user: int) -> None:
    # Groups first: after setresuid there is no right left to change them.
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


class Doors:
    """Landlock and the seccomp filter, which the process imposes on itself.

    The folders are opened while the rights are still there: a Landlock rule refers to an open
    descriptor.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        import ctypes

        self._ctypes = ctypes
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._filter: bytes = plan["filter"]
        ruleset: bytes = plan["ruleset"]
        self._ruleset = self._call(_LANDLOCK_CREATE, ruleset, len(ruleset), 0)
        for path, access in plan["landlock"]:
            self._allow(path, access)

    def _allow(self, path: str, access: int) -> None:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = access.to_bytes(8, sys.byteorder) + folder.to_bytes(4, sys.byteorder)
        self._call(_LANDLOCK_ADD_RULE, self._ruleset, _RULE_PATH_BENEATH, rule, 0)
        os.close(folder)

    def close(self, parent: int | None) -> None:
        if parent is not None:
            self._prctl(_PR_SET_PDEATHSIG, _SIGKILL)
            if os.getppid() != parent:
                raise OSError("the host has gone")
        # NO_NEW_PRIVS is required by both locks, and makes set-uid programs powerless. The filter
        # comes last, because it also forbids the calls that set up Landlock.
        self._prctl(_PR_SET_NO_NEW_PRIVS, 1)
        self._call(_LANDLOCK_RESTRICT, self._ruleset, 0)
        os.close(self._ruleset)
        self._prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, self._program())

    def _program(self) -> Any:
        """Return the filter as the kernel takes it: the number of 8-byte instructions, and their
        address.
        """
        steps = self._ctypes.create_string_buffer(self._filter, len(self._filter))
        self._steps = steps
        pointer = self._ctypes.addressof(steps)
        head = (len(self._filter) // 8).to_bytes(8, sys.byteorder)
        return head + pointer.to_bytes(8, sys.byteorder)

    def _call(self, number: int, *arguments: int | bytes) -> int:
        return self._checked(
            self._libc.syscall(self._ctypes.c_long(number), *self._typed(arguments))
        )

    def _prctl(self, option: int, *arguments: int | bytes) -> int:
        padded = (*arguments, 0, 0, 0)[:4]
        return self._checked(self._libc.prctl(option, *self._typed(padded)))

    def _typed(self, arguments: tuple[int | bytes, ...]) -> list[Any]:
        """Convert to whole words: a variadic C function would read garbage above an int."""
        return [
            self._ctypes.c_ulong(argument) if isinstance(argument, int) else argument
            for argument in arguments
        ]

    def _checked(self, result: int) -> int:
        if result < 0:
            code = self._ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result


if __name__ == "__main__":
    main()
