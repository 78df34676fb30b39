from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.sandbox.cgroups import GroupHome, find_group_home, group_of
from callblocks.guard.sandbox.sandbox import MIB


@pytest.fixture
def unified(tmp_path: Path) -> Path:
    """A tree as version 2 has it: ours is session.scope, and the slice above hands on."""
    slice_ = tmp_path / "user.slice"
    scope = slice_ / "session.scope"
    scope.mkdir(parents=True)
    for folder, control in ((tmp_path, ""), (slice_, "cpu memory pids"), (scope, "")):
        (folder / "cgroup.procs").touch()
        (folder / "cgroup.subtree_control").write_text(control)
    (tmp_path / "own").write_text("0::/user.slice/session.scope\n")
    return tmp_path


def find(mount: Path) -> GroupHome | None:
    return find_group_home(str(mount), str(mount / "own"))


def test_version_2_makes_groups_where_controllers_are_handed_on(unified: Path) -> None:
    home = find(unified)
    assert home is not None
    assert home.version == 2
    assert set(home.folders.values()) == {str(unified / "user.slice")}


def test_version_2_limits_and_tells(unified: Path) -> None:
    home = find(unified)
    assert home is not None
    group = home.make(64 * MIB, 18)
    (door,) = group.doors
    folder = Path(door).parent
    assert (folder / "memory.max").read_text() == str(64 * MIB)
    assert (folder / "pids.max").read_text() == "18"
    assert not group.out_of_memory()
    (folder / "memory.events").write_text("low 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n")
    (folder / "pids.events").write_text("max 3\n")
    assert group.out_of_memory()
    assert group.out_of_processes()


def test_version_2_kills_by_one_word(unified: Path) -> None:
    home = find(unified)
    assert home is not None
    group = home.make(MIB, 8)
    folder = Path(group.doors[0]).parent
    (folder / "cgroup.procs").write_text("1\n")

    async def kill() -> bool:
        killing = asyncio.ensure_future(group.kill())
        await asyncio.sleep(0.02)
        (folder / "cgroup.procs").write_text("")
        return await killing

    assert asyncio.run(kill())
    assert (folder / "cgroup.kill").read_text() == "1"


@pytest.mark.parametrize("control", ["", "cpu io", "memory"])
def test_without_the_controllers_there_is_no_home(unified: Path, control: str) -> None:
    (unified / "user.slice" / "cgroup.subtree_control").write_text(control)
    assert find(unified) is None


@pytest.mark.parametrize("own", ["0::/../elsewhere\n", "0::/not/there\n"])
def test_a_path_of_another_namespace_means_the_mount(unified: Path, own: str) -> None:
    (unified / "own").write_text(own)
    (unified / "cgroup.subtree_control").write_text("memory pids")
    home = find(unified)
    assert home is not None
    assert home.folders["memory"] == str(unified)


def test_no_groups_at_all_is_no_home(tmp_path: Path) -> None:
    assert find(tmp_path) is None
    (tmp_path / "own").write_text("")
    assert find(tmp_path) is None


def test_groups_of_the_dead_are_swept(unified: Path) -> None:
    home = find(unified)
    assert home is not None
    top = unified / "user.slice"
    for name in ("callblocks-4194304999-ab", f"callblocks-{os.getpid()}-ab", "callblocks-x-y"):
        (top / name).mkdir()
    home.sweep()
    left = sorted(path.name for path in top.glob("callblocks-*"))
    assert left == [f"callblocks-{os.getpid()}-ab", "callblocks-x-y"]


def test_a_group_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    home = GroupHome(2, {"memory": str(tmp_path), "pids": str(tmp_path / "none")})
    with (
        pytest.raises(ToolError, match="control group"),
        group_of(home, memory=64 * MIB, processes=8),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_this_machine_s_group_holds_a_process_until_it_is_killed() -> None:
    home = find_group_home()
    assert home is not None, "the tests need control groups: run them as root"
    with group_of(home, memory=64 * MIB, processes=8) as group:
        assert group is not None
        child = subprocess.Popen(["sleep", "100"])
        for door in group.doors:
            Path(door).write_text(str(child.pid))
        assert asyncio.run(group.kill())
        assert child.wait() == -9
        folders = [Path(door).parent for door in group.doors]
        assert all(folder.is_dir() for folder in folders)
    assert not any(folder.exists() for folder in folders)
