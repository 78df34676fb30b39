"""Private files of our own: replaced whole or not at all, and readable by their owner alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from callblocks.guard.files import replace_file
from callblocks.guard.files.replace_file import replace_private


@pytest.mark.parametrize("synced", [True, False])
def test_a_private_file_is_replaced_and_readable_by_its_owner_alone(
    tmp_path: Path, synced: bool
) -> None:
    file = tmp_path / "token.json"
    file.write_bytes(b"old")
    file.chmod(0o644)
    replace_private(file, b"new", synced=synced)
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["token.json"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token.json"
    file.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replace_file.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_private(file, b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["token.json"]
