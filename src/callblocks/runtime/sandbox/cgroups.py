"""A control group for one job: its processes share one limit, and they die together.

Version 1 has a folder for each controller, version 2 one for all; the files in them differ.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Generator
from pathlib import Path

__all__ = ("Group",)


class Group:
    """The control group of one job."""

    def __init__(self, version: int, folders: dict[str, Path]) -> None:
        self._version = version
        self._folders = folders

    @property
    def doors(self) -> list[str]:
        """Return the files into which a process writes its pid to join the group."""
        return [str(folder / "cgroup.procs") for folder in self._unique()]

    def set_up(self, memory: int, processes: int) -> None:
        for folder in self._unique():
            folder.mkdir()
        # Without the first group of files there is no limit at all, so their failure is an error.
        must, may = _settings(self._version, memory, processes)
        for name, value in must.items():
            self._write(name, value)
        for name, value in may.items():
            # A kernel without swap accounting or without CPU shares has no such file.
            with contextlib.suppress(OSError, KeyError):
                self._write(name, value)

    def out_of_memory(self) -> bool:
        """Return whether the kernel killed a process of the group for its memory."""
        name = "memory.oom_control" if self._version == 1 else "memory.events"
        return self._count(name, "oom_kill") > 0

    def out_of_processes(self) -> bool:
        """Return whether a fork failed because the group had too many processes."""
        return self._count("pids.events", "max") > 0

    async def kill(self) -> bool:
        """Kill every process of the group until none is left; return whether that worked."""
        import asyncio

        # One pass does not suffice in version 1: a process can fork between reading and killing.
        for _ in range(400):
            if not self._members():
                return True
            self._kill_once()
            await asyncio.sleep(0.005)
        return False

    def remove(self) -> None:
        """Remove the group, if it is empty."""
        for folder in self._unique():
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _kill_once(self) -> None:
        if self._version == 2:
            with contextlib.suppress(OSError):
                self._write("cgroup.kill", "1")
                return
        # Frozen processes cannot fork away from the list that is being killed.
        with self._frozen():
            for pid in self._members():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    @contextlib.contextmanager
    def _frozen(self) -> Generator[None, None, None]:
        with contextlib.suppress(OSError, KeyError):
            self._write("freezer.state", "FROZEN")
        try:
            yield
        finally:
            with contextlib.suppress(OSError, KeyError):
                self._write("freezer.state", "THAWED")

    def _members(self) -> set[int]:
        found: set[int] = set()
        for folder in self._unique():
            with contextlib.suppress(OSError):
                found.update(map(int, (folder / "cgroup.procs").read_text().split()))
        return found

    def _count(self, name: str, key: str) -> int:
        with contextlib.suppress(OSError, KeyError):
            for line in self._path(name).read_text().splitlines():
                word, _, number = line.partition(" ")
                if word == key:
                    return int(number)
        return 0

    def _write(self, name: str, value: str) -> None:
        self._path(name).write_text(value)

    def _path(self, name: str) -> Path:
        controller = name.partition(".")[0]
        return self._folders["memory" if controller == "cgroup" else controller] / name

    def _unique(self) -> list[Path]:
        return list(dict.fromkeys(self._folders.values()))


def _settings(version: int, memory: int, processes: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files to write: those that must exist, and those that may be missing."""
    if version == 1:
        must = {"memory.limit_in_bytes": str(memory), "pids.max": str(processes)}
        return must, {"memory.memsw.limit_in_bytes": str(memory), "cpu.shares": "256"}
    must = {"memory.max": str(memory), "pids.max": str(processes)}
    return must, {"memory.swap.max": "0", "cpu.weight": "25"}
