"""The launcher's instructions, and its start.

A plan is a list of steps as plain values. It is passed in a memory file, not on the command line:
it holds the environment of a job, and every user of the machine can read a command line.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.sandbox.inputs import fault_of_path
from callblocks.guard.sandbox.sandbox import Job

if TYPE_CHECKING:
    from asyncio.subprocess import Process

__all__ = (
    "Plan",
    "check_job",
    "choose_user",
    "kill_all_of",
    "memory_file",
    "setting_up",
    "start",
    "stranger",
)

_LAUNCHER = os.path.join(os.path.dirname(__file__), "launcher.py")


class Plan(msgspec.Struct, kw_only=True):
    """The steps of one start.

    `fds` become 3, 4, 5 … in the program. `user` is the user id to switch to, `None` to stay. With
    `announce` the launcher writes `ready` on 3 before it executes the program, which does not get
    that descriptor. With `sweep` whatever the program leaves behind is killed when it ends.
    `filter` is the seccomp program that the launcher installs itself, with the Landlock `ruleset`
    and the rights of each path; a sandbox that installs its own leaves it empty.
    """

    argv: list[str]
    env: dict[str, str] = {}
    cwd: str = "/"
    groups: list[str] = []
    rlimits: dict[int, int] = {}
    user: int | None = None
    fds: list[int] = []
    announce: bool = False
    sweep: bool = False
    filter: bytes = b""
    ruleset: bytes = b""
    landlock: list[tuple[str, int]] = []


def memory_file(name: str, content: bytes) -> int:
    """Return a file in memory, open for reading from its start."""
    fd = os.memfd_create(name)
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


@contextlib.contextmanager
def setting_up() -> Generator[None, None, None]:
    """Translate an `OSError` during the set-up into `ToolError("sandbox_failed")`."""
    try:
        yield
    except OSError as error:
        message = f"the sandbox could not be set up: {error}"
        raise ToolError("sandbox_failed", message) from error


async def start(plan: Plan, *, stdin: bool) -> Process:
    """Start the launcher in a session of its own, with pipes for its output.

    Close `plan.fds` here, whatever happens: they belong to the child now.
    """
    import asyncio
    from asyncio.subprocess import DEVNULL, PIPE

    fds = [*plan.fds]
    # The launcher compares this with its actual parent, to notice that the host died before it was
    # tied to it.
    steps = msgspec.structs.asdict(plan) | {"parent": os.getpid()}
    try:
        fds.append(memory_file("plan", marshal.dumps(steps)))
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", _LAUNCHER, str(fds[-1])),
            stdin=PIPE if stdin else DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            cwd="/",
            env={},
            pass_fds=fds,
            start_new_session=True,
        )
    finally:
        for fd in fds:
            os.close(fd)


# --- Checks of a job before anything is started for it ---

_WORD_BYTES = 128 * 1024 - 1  # the kernel's own limit, with the NUL at the end
_ALL_BYTES = 1024 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_job(job: Job) -> None:
    """Raise `ToolError("invalid_input")` for a job that no kernel would start."""
    if not job.argv or not job.argv[0]:
        raise ToolError("invalid_input", "there is no command to run")
    for name in job.env:
        if not _NAME.fullmatch(name):
            raise ToolError("invalid_input", f"not a name of a variable: {brief(name, 60)}")
    words = [*job.argv, *(f"{name}={value}" for name, value in job.env.items())]
    sizes = [_size(word) for word in words]
    if max(sizes) > _WORD_BYTES or sum(sizes) > _ALL_BYTES:
        raise ToolError(
            "invalid_input",
            f"the command has {sum(sizes):,} bytes, and a part of it may have {_WORD_BYTES:,}; "
            "write the text to a file and name that file instead",
        )
    for path in (job.cwd, *job.without, *job.read_only):
        if path and (fault := fault_of_path(path)):
            raise ToolError("invalid_input", f"not a path below: {brief(path, 60)}: {fault}")


def _size(word: str) -> int:
    if "\0" in word:
        raise ToolError("invalid_input", f"a NUL character is in {brief(word, 60)}; leave it out")
    try:
        return len(word.encode())
    except UnicodeEncodeError:
        raise ToolError("invalid_input", f"not Unicode text: {brief(word, 60)}") from None


# --- Private user ids: everything that such a user owns or runs belongs to one job ---
#
# Only root can switch to one. The ids come from a range that no distribution assigns; where root
# itself lives in a user namespace, from the top of that namespace's range.

_FIRST, _COUNT = 1_900_000_000, 1 << 27
_FEW = 60_000


def stranger() -> int | None:
    """Return a new user id, also used as group id, for each call.

    Return `None` when there is none: not as root, nor where root is the only user there is.
    """
    if os.geteuid() != 0:
        return None
    with open("/proc/self/uid_map", encoding="ascii") as file:
        ranges = [(int(words[0]), int(words[2])) for words in map(str.split, file)]
    return choose_user(ranges)


def choose_user(ranges: list[tuple[int, int]]) -> int | None:
    """Return a user id within the ranges of `(first, count)` of a namespace."""
    # Random, not counted: two programs that run sandboxes at once must not choose the same user.
    wanted = _FIRST + secrets.randbelow(_COUNT)
    if any(first <= wanted < first + count for first, count in ranges):
        return wanted
    first, count = max(ranges, key=lambda each: each[1])
    if count < _FEW:
        return None
    # The upper half, because the lower half has the regular users of the namespace.
    return first + count - 1 - secrets.randbelow(count // 2)


def kill_all_of(user: int) -> None:
    """Kill every process of a user.

    A process of that user does it with `kill(-1)`: the kernel then kills all of them in one pass
    under its lock, and none can fork away.
    """
    for _ in range(100):
        if not _lives(user):
            return
        subprocess.run(
            ["/bin/sh", "-c", "kill -9 -1"],
            user=user,
            group=user,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            env={},
        )


def _lives(user: int) -> bool:
    """Return whether a process of the user is alive; zombies do not count."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == user and not _is_dead(name):
                    return True
    return False


def _is_dead(pid: str) -> bool:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b") ")[2][:1] in b"ZX"
