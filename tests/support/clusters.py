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

    def __init__(self, role: str, pid: int, folder: Path, ready: Path) -> None:
        self.role = role
        self.pid = pid
        self.address = ""
        self._ended = folder / f"ended-{pid}"
        self._ready = ready

    def ready(self) -> Process:
        """Wait until it works."""
        until(lambda: self._ready.exists() or not self.is_alive, 60)
        assert self._ready.exists(), "the process ended before it worked"
        self.address = self._ready.read_text().strip()
        return self

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    @property
    def is_alive(self) -> bool:
        return not self._ended.exists()

    def wait(self, seconds: float = 30.0) -> int:
        """Return how it ended."""
        return int(until(lambda: self._ended.exists() and self._ended.read_text(), seconds))

    def end(self) -> int:
        """End it at once."""
        if self.is_alive:
            self.send(signal.SIGCONT)
            self.send(signal.SIGKILL)
        return self.wait()


class ClusterRun:
    """The processes of a cluster; `settings` are limits, for all of them."""

    def __init__(self, database: str, folder: Path, **settings: Any) -> None:
        self.database = database
        self.folder = folder
        self.processes: list[Process] = []
        self._settings = settings
        self.artifacts: str = settings.get("artifacts", str(folder / "artifacts"))
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"}
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "support.cluster_program"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def start(self, *roles: str, **more: Any) -> list[Process]:
        """Start processes, and wait until all of them work."""
        new = [self.begin(role, **more) for role in roles]
        return [one.ready() for one in new]

    def begin(self, role: str, **more: Any) -> Process:
        """Start a process."""
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        ready = self.folder / f"ready-{len(self.processes)}"
        order = {
            "role": role,
            "address": self.database,
            "folder": str(self.folder),
            "settings": {name: str(value) for name, value in (self._settings | more).items()},
            "ready": str(ready),
        }
        self._zygote.stdin.write(f"{json.dumps(order)}\n")
        self._zygote.stdin.flush()
        process = Process(role, int(self._zygote.stdout.readline()), self.folder, ready)
        self.processes.append(process)
        return process

    def effects(self) -> list[str]:
        """What the tools did: a name and a key each."""
        file = self.folder / "effects"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line.rpartition(" ")[0] for line in lines]

    def close(self) -> None:
        for one in self.processes:
            one.end()
        with self._zygote:
            pass


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
    """Say something in a chat, or come back to it: the events with their numbers, as they come.

    What is said again in the same words is the same message.
    """
    headers = {"last-event-id": after} if after else {}
    with httpx2.Client(base_url=address, timeout=60) as client:
        request = (
            client.build_request("GET", f"/api/chat/{chat}/stream", headers=headers)
            if prompt is None
            else client.build_request(
                "POST",
                "/api/chat",
                json=posted(prompt, chat),
                headers={"idempotency-key": f"{chat}: {prompt}"},
            )
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
