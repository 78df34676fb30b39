"""A cluster of real processes on a real PostgreSQL, and clients that follow its turns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2

from support.chat_server import posted

__all__ = ("ClusterRun", "Process", "cluster_run", "events_of", "until")

ROOT = Path(__file__).parents[2]


class Process:
    """One process; `address` is that of a replica, or ""."""

    def __init__(self, role: str, arguments: list[str], log: Path) -> None:
        self.role = role
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"}
        with log.open("a") as errors:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "support.cluster_program", role, *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                text=True,
            )
        self.address = ""

    def ready(self) -> Process:
        """Wait until it works."""
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        assert line.endswith("\n"), "the process ended before it worked"
        self.address = line.strip()
        return self

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.child.pid, number)

    @property
    def is_alive(self) -> bool:
        return self.child.poll() is None

    def end(self) -> int:
        """End it at once."""
        self.send(signal.SIGCONT)
        self.child.kill()
        code = self.child.wait(20)
        if self.child.stdout is not None:
            self.child.stdout.close()
        return code


class ClusterRun:
    """The processes of a cluster; `settings` are limits, for all of them."""

    def __init__(self, database: str, folder: Path, **settings: Any) -> None:
        self.database = database
        self.folder = folder
        self.processes: list[Process] = []
        self._settings = [f"{name}={value}" for name, value in settings.items()]

    def start(self, *roles: str, **more: Any) -> list[Process]:
        """Start processes, and wait until all of them work."""
        settings = [*self._settings, *(f"{name}={value}" for name, value in more.items())]
        arguments = [self.database, str(self.folder), *settings]
        new = [Process(role, arguments, self.folder / "log") for role in roles]
        self.processes += new
        return [one.ready() for one in new]

    def effects(self) -> list[str]:
        """What the tools did: a name and a key each."""
        file = self.folder / "effects"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line.rpartition(" ")[0] for line in lines]

    def close(self) -> None:
        for one in self.processes:
            one.end()


@contextmanager
def cluster_run(database: str, folder: Path, **settings: Any) -> Generator[ClusterRun]:
    """A cluster without a process yet; all that were started are ended."""
    run = ClusterRun(database, folder, **settings)
    try:
        yield run
    finally:
        run.close()


def events_of(
    address: str, chat: str, prompt: str | None = None, after: str = ""
) -> Generator[tuple[str, dict[str, Any]]]:
    """Say something in a chat, or come back to it: the events with their numbers, as they come."""
    headers = {"last-event-id": after} if after else {}
    with httpx2.Client(base_url=address, timeout=60) as client:
        request = (
            client.build_request("GET", f"/api/chat/{chat}/stream", headers=headers)
            if prompt is None
            else client.build_request("POST", "/api/chat", json=posted(prompt, chat))
        )
        answer = client.send(request, stream=True)
        if answer.status_code != 200:
            answer.read()
            raise LookupError(answer.status_code, answer.text)
        number = ""
        for line in answer.iter_lines():
            if line.startswith("id: "):
                number = line[4:]
            elif line.startswith("data: ") and line != "data: [DONE]":
                yield number, json.loads(line[6:])
                number = ""


def until(is_so: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Return what is true at last; it is looked at again and again."""
    latest = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < latest, "it never came to be"
        time.sleep(0.02)
    return found
