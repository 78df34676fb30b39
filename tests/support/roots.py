"""Workspaces for tests: with each way to open files, and a look at what is around them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.real_path import Opener, kernel_opener, open_by_steps


def _kernel() -> Opener:
    opener = kernel_opener()
    assert opener is not None, "this machine has no openat2: both ways cannot be compared"
    return opener


OPENERS = {"kernel": _kernel(), "steps": open_by_steps}

each_opener = pytest.mark.parametrize("opener", OPENERS.values(), ids=OPENERS.keys())


def code_of(raised: pytest.ExceptionInfo[ToolError]) -> str:
    return raised.value.code


def open_files() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """All that is below a folder: kind, mode and content of each name."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content: object = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_nlink, content)
    return found
