"""`callblocks timeline gc`, `backup` and `restore`."""

from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.core.blocks import Block
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.log.open_store import open_store
from support.command import run


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CALLBLOCKS_HOME", str(tmp_path))
    kept = Artifacts(tmp_path / "artifacts")("a.txt", b"kept")
    meta = {"rn": f"artifact:sha256:{kept.digest}"}
    with open_store(tmp_path / "timelines.sqlite") as store:
        store.append(
            "talk", [Block(type="user.prompt", author="user", turn_id="t", ts="", meta=meta)]
        )
    return tmp_path


def test_a_backup_is_made_and_restored(home: Path) -> None:
    made = run("timeline", "backup", f"{home}/backup")
    assert made.stdout == "copied 1 timelines with 1 blocks, and 1 files\n"
    target = ("--store", f"{home}/copy.sqlite", "--artifacts", f"{home}/copies")
    restored = run("timeline", "restore", f"{home}/backup", *target)
    assert restored.stdout == "restored 1 timelines with 1 blocks, and 1 files\n"
    assert run("timeline", "verify", *target).exit_code == 0
    again = run("timeline", "backup", f"{home}/backup")
    assert (again.exit_code, "choose another folder" in again.stderr) == (1, True)


def test_what_is_missing_is_told(home: Path) -> None:
    next((home / "artifacts").glob("*/*/*")).unlink()
    made = run("timeline", "backup", f"{home}/backup")
    assert (made.exit_code, "artifact_missing" in made.stderr) == (1, True)
    assert run("timeline", "restore", f"{home}/backup").exit_code == 0


def test_garbage_is_counted_and_collected(home: Path) -> None:
    Artifacts(home / "artifacts")("b.txt", b"garbage")
    words = "1 named, 1 too new, 0 to the trash, 0 back from there, 0 deleted (0 bytes)"
    assert run("timeline", "gc").stdout == f"{words}\n"
    assert run("timeline", "gc", "--dry-run").stdout == f"{words}; nothing was changed\n"
    store = ("--store", f"{home}/timelines.sqlite")
    assert run("timeline", "gc", *store, *store).stdout == f"{words}\n"
    assert run("timeline", "gc", "--grace", "1").exit_code == 2
