"""A control group for one job: its processes share one limit, and they die together.

Version 1 has a folder for each controller, version 2 one for all; the files in them differ.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Generator
from pathlib import Path

import msgspec

from callblocks.core.errors import ToolError

__all__ = (
    "ControlGroup",
    "GroupHome",
    "find_group_home",
    "group_of",
)


class ControlGroup:
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


# --- The place for new control groups: below the group that this process is in ---
#
# So the limits that were set from outside stay in force:
#
#     v1   /sys/fs/cgroup/memory/<ours>/callblocks-<pid>-<random>, and the same for pids …
#     v2   /sys/fs/cgroup/<nearest above ours that delegates memory and pids>/callblocks-…

_PREFIX = "callblocks-"
_NEEDED = ("memory", "pids")
_WISHED = ("cpu", "freezer")


class GroupHome(msgspec.Struct, frozen=True):
    """The folders in which groups can be made, by controller; all the same one in version 2."""

    version: int
    folders: dict[str, str]

    def make(self, memory: int, processes: int) -> ControlGroup:
        """Create a group with this many bytes of memory, files in memory included.

        Raise `OSError` when the kernel refuses; nothing is left behind then.
        """
        name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        group = ControlGroup(
            self.version, {kind: Path(at, name) for kind, at in self.folders.items()}
        )
        try:
            group.set_up(memory, processes)
        except OSError:
            group.remove()
            raise
        return group

    def sweep(self) -> None:
        """Remove groups whose creator died without doing so."""
        for folder in set(self.folders.values()):
            for path in Path(folder).glob(f"{_PREFIX}*-*"):
                maker = path.name.removeprefix(_PREFIX).partition("-")[0]
                if maker.isdecimal() and not Path("/proc", maker).exists():
                    with contextlib.suppress(OSError):
                        path.rmdir()


@contextlib.contextmanager
def group_of(
    home: GroupHome | None, *, memory: int, processes: int
) -> Generator[ControlGroup | None, None, None]:
    """Create a group for one job and remove it afterwards; `None` where there is no home
    for one.
    """
    if home is None:
        yield None
        return
    try:
        group = home.make(memory, processes)
    except OSError as error:
        raise ToolError("sandbox_failed", f"no control group could be made: {error}") from error
    try:
        yield group
    finally:
        group.remove()


def find_group_home(
    mount: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup"
) -> GroupHome | None:
    """Return where this process can create groups that limit memory and processes, or `None`."""
    try:
        lines = Path(own).read_text().splitlines()
    except OSError:
        return None
    ours: dict[str, str] = {}
    for line in lines:
        _, kinds, path = line.split(":", 2)
        ours |= dict.fromkeys(kinds.split(","), path)
    return _version_1(Path(mount), ours) or _version_2(Path(mount), ours.get("", "/"))


def _version_1(mount: Path, ours: dict[str, str]) -> GroupHome | None:
    folders: dict[str, str] = {}
    for kind in (*_NEEDED, *_WISHED):
        folder = _our_folder(mount / kind, ours.get(kind, "/"))
        if os.access(folder / "cgroup.procs", os.W_OK):
            folders[kind] = str(folder)
    return GroupHome(1, folders) if all(kind in folders for kind in _NEEDED) else None


def _version_2(mount: Path, ours: str) -> GroupHome | None:
    start = _our_folder(mount, ours)
    # Version 2 forbids processes in a group that delegates controllers, so a usable parent may be
    # several levels up.
    for folder in (start, *start.parents):
        if not folder.is_relative_to(mount):
            break
        if os.access(folder / "cgroup.procs", os.W_OK) and _hands_on(folder):
            return GroupHome(2, dict.fromkeys((*_NEEDED, "cpu"), str(folder)))
    return None


def _our_folder(mount: Path, ours: str) -> Path:
    """Return our group's folder; in a container the path may be the host's, and the mount
    is ours.
    """
    inside = mount / ours.lstrip("/")
    return inside if ".." not in inside.parts and inside.is_dir() else mount


def _hands_on(folder: Path) -> bool:
    """Return whether groups below the folder have the controllers that are needed."""
    try:
        controllers = (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return all(kind in controllers for kind in _NEEDED)
