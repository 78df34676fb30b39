"""The sandboxes of this machine, and a host for attacks to reach."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import subprocess
import tempfile
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callblocks.guard.sandbox import bubblewrap, landlock
from callblocks.guard.sandbox.cgroups import find_group_home
from callblocks.guard.sandbox.launch_plan import stranger
from callblocks.guard.sandbox.sandbox import Job, JobEnd, Limits, Missing, Sandbox, candidates
from support.attacks import Attack, prelude

OUTER_SECONDS = 90


def sandbox_named(name: str) -> Sandbox:
    """The best sandbox of that name; a machine without it fails the test."""
    for candidate in candidates():
        if not isinstance(candidate, Missing) and candidate.name == name:
            return candidate
    raise AssertionError(f"{name} is not installed; it is needed to run the tests")


@dataclass
class Ran:
    """What a job did, as the host saw it."""

    ended: JobEnd
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        return (self.stdout + self.stderr).decode("utf-8", "replace")


def run(sandbox: Sandbox, *argv: str, limits: Limits | None = None, **rest: Any) -> Ran:
    """Run a command to its end."""
    said: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    job = Job(argv=argv, limits=limits or Limits(seconds=20), **rest)

    async def go() -> JobEnd:
        work = sandbox.run(job, lambda stream, piece: said[stream].append(piece))
        return await asyncio.wait_for(work, OUTER_SECONDS)

    ended = asyncio.run(go())
    return Ran(ended, b"".join(said["stdout"]), b"".join(said["stderr"]))


@dataclass
class Host:
    """Things of the host that no job may reach, each holding or guarding a secret word."""

    folder: Path
    workspace: Path
    process: subprocess.Popen[bytes]
    tcp: socket.socket
    abstract: socket.socket
    local: socket.socket
    datagrams: tuple[socket.socket, socket.socket]
    secret: str
    before: dict[str, bytes] = field(default_factory=dict)

    def attack(self, sandbox: Sandbox, attack: Attack) -> Ran:
        """Run an attack in a workspace of its own."""
        names = {
            "secret": self.secret,
            "file": str(self.folder / "file"),
            "folder": str(self.folder),
            "process": self.process.pid,
            "port": self.tcp.getsockname()[1],
            "abstract": self.abstract.getsockname().decode().lstrip("\0"),
            "socket": self.local.getsockname(),
            "abstract_datagrams": self.datagrams[0].getsockname().decode().lstrip("\0"),
            "datagrams": self.datagrams[1].getsockname(),
        }
        program = attack.program.format(**names)
        said = "" if "TRIED" in program else '\nprint("TRIED")'
        (self.workspace / "attack.py").write_text(prelude() + program + said)
        self.before = self._seen()
        argv = ("/usr/bin/python3", "attack.py")
        rest: dict[str, Any] = {"limits": attack.limits, "network": attack.network}
        return run(sandbox, *argv, folder=str(self.workspace), **rest)

    def is_untouched(self) -> bool:
        """Whether nothing of it was changed, reached or killed."""
        for listener in (self.tcp, self.abstract, self.local):
            with contextlib.suppress(BlockingIOError):
                listener.accept()
                return False
        for receiver in self.datagrams:
            with contextlib.suppress(BlockingIOError):
                receiver.recv(1)
                return False
        return self.process.poll() is None and self.before == self._seen()

    def _seen(self) -> dict[str, bytes]:
        paths = [*self.folder.rglob("*"), *self.workspace.rglob("*")]
        return {str(path): path.read_bytes() if path.is_file() else b"" for path in paths}


@contextlib.contextmanager
def host() -> Generator[Host, None, None]:
    """A host with a secret in a file that anyone may read, in a process, behind sockets."""
    secret = secrets.token_hex(16)
    with contextlib.ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
        top.chmod(0o755)
        folder, workspace = top / "host", top / "workspace"
        folder.mkdir()
        workspace.mkdir()
        (folder / "file").write_text(secret)
        (workspace / "kept.txt").write_text("kept")
        process = subprocess.Popen(["sleep", "600"], env={"SECRET": secret})
        stack.callback(process.wait)
        stack.callback(process.kill)
        tcp = stack.enter_context(_listener(socket.AF_INET, ("127.0.0.1", 0)))
        abstract = stack.enter_context(_listener(socket.AF_UNIX, f"\0callblocks-{secret[:8]}"))
        local = stack.enter_context(_listener(socket.AF_UNIX, str(top / "socket")))
        datagrams = (
            stack.enter_context(_receiver(f"\0callblocks-{secret[8:16]}")),
            stack.enter_context(_receiver(str(top / "datagrams"))),
        )
        for name in ("socket", "datagrams"):
            (top / name).chmod(0o777)
        yield Host(folder, workspace, process, tcp, abstract, local, datagrams, secret)


def _listener(family: int, address: str | tuple[str, int]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen()
    listener.setblocking(False)
    return listener


def _receiver(address: str) -> socket.socket:
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(address)
    receiver.setblocking(False)
    return receiver


@contextlib.contextmanager
def greeter() -> Generator[int, None, None]:
    """A server of this machine that says hello to whoever comes; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with listener.accept()[0] as client:
                        client.sendall(b"hello")

        thread = threading.Thread(target=greet)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


_made: set[int | None] = set()


def _stranger_on_record() -> int | None:
    user = stranger()
    _made.add(user)
    return user


# Other sandboxes of the machine may be at work: only those of this process are looked at.
for module in (bubblewrap, landlock):
    setattr(module, "stranger", _stranger_on_record)  # noqa: B010 -- a type checker would object


def strangers() -> list[str]:
    """The living processes of users that were made here; the dead wait for init."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if path.stat().st_uid in _made and "\tZ" not in (path / "status").read_text():
                found.append((path / "cmdline").read_text())
    return found


def groups() -> list[str]:
    """The control groups that this process made and has not removed."""
    home = find_group_home()
    if home is None:
        return []
    pattern = f"callblocks-{os.getpid()}-*"
    return [str(path) for folder in home.folders.values() for path in Path(folder).glob(pattern)]
