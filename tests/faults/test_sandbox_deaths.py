"""A host that dies, a user who is not root, a disk without a limit of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

import pytest

from callblocks.guard.sandbox.launch_plan import Plan, start
from callblocks.guard.sandbox.sandbox import MIB, Limits
from support.sandboxes import run, sandbox_named

_IMPORTS = """
import asyncio, concurrent.futures.thread, hashlib, os, resource, sys, tarfile
from callblocks.guard.sandbox.bubblewrap import Bubblewrap
from callblocks.guard.sandbox.sandbox import MIB, Job, Limits
"""
_HOST = """
from callblocks.guard.sandbox.sandbox import require_sandbox
async def go():
    sandbox = await require_sandbox()
    await sandbox.run(Job(argv=("sh", "-c", "echo up; sleep 300 & sleep 300", "MARK")), print_it)
def print_it(stream, piece): print("up", flush=True)
asyncio.run(go())
"""
# The tests' own Python may lie where only root can read: the launcher needs none of its packages.
_OTHER_USER = """
sys.executable = "/usr/bin/python3"
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
sandbox = Bubblewrap("/usr/bin/bwrap", frozenset(), None)
def run(program, **limits):
    said = []
    job = Job(argv=("python3", "-c", program), limits=Limits(seconds=20, **limits))
    ended = asyncio.run(sandbox.run(job, lambda stream, piece: said.append(piece)))
    print(ended.exit_code, b"".join(said).split(b"\\n")[0].decode(), len(ended.changes.written))
print(*sandbox.holds)
run("import os; open('made', 'w').write('x'); print(os.getuid())")
run("import os\\nfor n in range(40): os.fork() or __import__('time').sleep(9)", processes=8)
run("x = b'x' * (90 << 20)", memory=48 * MIB)
try: open("/etc/shadow").read()
except PermissionError: print("not root")
"""


def test_a_host_that_is_killed_takes_its_job_with_it() -> None:
    mark = secrets.token_hex(8)
    program = _IMPORTS + _HOST.replace("MARK", mark)
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    with host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"up\n"
        assert _marked(mark)
        host.kill()
    for _ in range(100):
        if not _marked(mark):
            break
        time.sleep(0.05)
    assert not _marked(mark)


_PLAN_HOST = """
import asyncio, os, sys
from callblocks.guard.sandbox.launch_plan import stranger
from callblocks.guard.sandbox.launch_plan import Plan, start
inner = "sh -c 'sleep 300; : MARK' &"
program = f"echo up; setsid {inner} {inner} sleep 300; : MARK"
async def go():
    user = stranger() if USER else None
    plan = Plan(argv=["sh", "-c", program], user=user, env={"PATH": os.defpath})
    child = await start(plan, stdin=False)
    print((await child.stdout.readline()).decode().strip(), flush=True)
    await child.wait()
asyncio.run(go())
"""


@pytest.mark.parametrize("user", ["0", "1"], ids=["own", "stranger"])
def test_what_left_its_parent_dies_with_the_host_too(user: str) -> None:
    """Nothing here ties itself to its parent, as bubblewrap does not in its first moments."""
    mark = secrets.token_hex(8)
    program = _PLAN_HOST.replace("MARK", mark).replace("USER", user)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"up\n"
        found = {*_marked(mark)}
        host.kill()
    _require_gone(mark, found)


_BOMB_HOST = """
async def go():
    from callblocks.guard.sandbox.sandbox import candidates
    sandbox = next(one for one in candidates() if one.name == "SANDBOX")
    bomb = "f() { sleep 9 & f & sleep 9; }; f; sleep 9"
    job = Job(argv=("sh", "-c", bomb, "MARK"), limits=Limits(processes=8, memory=64 * MIB))
    print("up", flush=True)
    await asyncio.gather(*(sandbox.run(job) for _ in range(2)))
asyncio.run(go())
"""
_MOMENTS = int(os.environ.get("CALLBLOCKS_HOST_DEATHS", "3"))


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_a_host_that_is_killed_while_bombs_start_leaves_nothing(sandbox: str) -> None:
    sandbox_named(sandbox)
    for moment in range(_MOMENTS):
        mark = secrets.token_hex(8)
        program = _IMPORTS + _BOMB_HOST.replace("MARK", mark).replace("SANDBOX", sandbox)
        with subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as host:
            assert host.stdout is not None
            assert host.stdout.readline() == b"up\n"
            # Each time later: before the launcher runs, while it does, when the job runs.
            time.sleep(0.2 * moment / _MOMENTS)
            found = {*_marked(mark)}
            host.kill()
        _require_gone(mark, found)


def _require_gone(mark: str, found: set[Path]) -> None:
    """Wait until no process with the mark is left, nor one of those found, not even as a zombie."""
    for _ in range(200):
        found |= {*_marked(mark)}
        if not any(path.exists() for path in found):
            return
        time.sleep(0.05)
    left = [(path.parent / "status").read_text()[:80] for path in found if path.exists()]
    raise AssertionError(f"still there: {left}")


def _marked(mark: str) -> list[Path]:
    found: list[Path] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark in path.read_text():
                found.append(path)
    return found


def test_a_user_who_is_not_root_has_bubblewrap_too() -> None:
    command = [sys.executable, "-c", _IMPORTS + _OTHER_USER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    holds, plain, forked, taken, user = done.stdout.splitlines()
    assert holds == "filesystem network syscalls processes"
    assert plain == "0 1000 1"
    assert forked.startswith("1 ")
    assert taken.startswith("1 ")
    assert user == "not root"


@pytest.mark.parametrize(
    "program",
    [
        "for n in range(60): open(f'f{n}', 'wb').write(b'x' * (1 << 20))\ntime.sleep(30)",
        "for n in range(60): open(f'/{home}/f{n}', 'wb').write(b'x' * (1 << 20))\ntime.sleep(30)",
    ],
)
def test_landlock_stops_a_job_that_takes_too_much_disk(program: str) -> None:
    sandbox = sandbox_named("landlock")
    limits = Limits(seconds=20, files=8 * MIB)
    head = "import os, time; home = os.environ['HOME']\n"
    ran = run(sandbox, "python3", "-c", head + program.replace("/{home}", "{home}"), limits=limits)
    assert ran.ended.out_of_disk
    assert not ran.ended.timed_out
    assert ran.ended.changes.written == ()
    assert not list(Path("/tmp").glob("callblocks-*/workspace/f*"))


@pytest.mark.parametrize(
    "plan",
    [
        Plan(argv=["/bin/true"], groups=["/no/such/group/cgroup.procs"]),
        Plan(argv=["/bin/true"], cwd="/no/such/folder"),
        Plan(argv=["/bin/true"], filter=b"garbage!", ruleset=bytes([1]) + bytes(7)),
        Plan(argv=["/bin/true"], filter=b"\6\0\0\0\0\0\xff\x7f", ruleset=b"\xff" * 8),
        Plan(
            argv=["/bin/true"],
            filter=b"\6\0\0\0\0\0\xff\x7f",
            ruleset=bytes([1]) + bytes(7),
            landlock=[("/no/such/path", 1)],
        ),
    ],
)
def test_a_launcher_that_cannot_lock_a_door_runs_nothing(plan: Plan) -> None:
    async def go() -> tuple[int | None, bytes]:
        child = await start(plan, stdin=False)
        _, said = await child.communicate()
        return child.returncode, said

    code, said = asyncio.run(go())
    assert code == 125
    assert said.startswith(b"launcher: ")


def test_a_plan_is_not_on_the_command_line() -> None:
    async def go() -> tuple[bytes, bytes]:
        program = "tr '\\0' ' ' < /proc/$PPID/cmdline; tr '\\0' ' ' < /proc/$$/environ"
        plan = Plan(argv=["sh", "-c", program], env={"PATH": os.defpath, "TOKEN": "word"})
        child = await start(plan, stdin=False)
        return await child.communicate()

    out, _ = asyncio.run(go())
    assert b"TOKEN=word" in out
    assert out.count(b"word") == 1
