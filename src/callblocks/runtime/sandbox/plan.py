"""The launcher's instructions, and its start.

A plan is a list of steps as plain values. It is passed in a memory file, not on the command line:
it holds the environment of a job, and every user of the machine can read a command line.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

import msgspec

from callblocks.model.errors import ToolError

if TYPE_CHECKING:
    from asyncio.subprocess import Process

__all__ = ("Plan", "memory_file", "setting_up", "start")

_LAUNCHER = os.path.join(os.path.dirname(__file__), "launcher.py")


class Plan(msgspec.Struct, kw_only=True):
    """The steps of one start.

    `fds` become 3, 4, 5 … in the program. `user` is the user id to switch to, `None` to stay. With
    `announce` the launcher writes `ready` on 3 before it executes the program, which does not get
    that descriptor. `filter` is the seccomp program that the launcher installs itself, with the
    Landlock `ruleset` and the rights of each path; a sandbox that installs its own leaves it empty.
    """

    argv: list[str]
    env: dict[str, str] = {}
    cwd: str = "/"
    groups: list[str] = []
    rlimits: dict[int, int] = {}
    user: int | None = None
    fds: list[int] = []
    announce: bool = False
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
