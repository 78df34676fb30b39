"""The place for new control groups: below the group that this process is in.

So the limits that were set from outside stay in force:

    v1   /sys/fs/cgroup/memory/<ours>/callblocks-<pid>-<random>, and the same for pids …
    v2   /sys/fs/cgroup/<nearest above ours that delegates memory and pids>/callblocks-…
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Generator
from pathlib import Path

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.sandbox.cgroups import Group

__all__ = ("GroupHome", "find_group_home", "group_of")

_PREFIX = "callblocks-"
_NEEDED = ("memory", "pids")
_WISHED = ("cpu", "freezer")


class GroupHome(msgspec.Struct, frozen=True):
    """The folders in which groups can be made, by controller; all the same one in version 2."""

    version: int
    folders: dict[str, str]

    def make(self, memory: int, processes: int) -> Group:
        """Create a group with this many bytes of memory, files in memory included.

        Raise `OSError` when the kernel refuses; nothing is left behind then.
        """
        name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        group = Group(self.version, {kind: Path(at, name) for kind, at in self.folders.items()})
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
) -> Generator[Group | None, None, None]:
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
