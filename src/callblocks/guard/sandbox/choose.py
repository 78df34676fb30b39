"""The choice of a sandbox: bubblewrap, else Landlock, else none.

Version numbers and kernel features are not trusted: a small job is run, and must not be able to
read a file of the host. Each candidate is tried with control groups first, and without them where
they cannot be joined.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from callblocks.core.errors import ToolError
from callblocks.guard.sandbox.sandbox import Job, Limits, Missing, Sandbox, Written

if TYPE_CHECKING:
    from callblocks.guard.sandbox.cgroups import GroupHome

__all__ = ("candidates", "find_sandbox", "forget_sandbox", "require_sandbox")

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
