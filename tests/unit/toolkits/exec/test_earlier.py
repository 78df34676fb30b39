"""Which files of earlier turns go in: the newest turns, and what the code names."""

from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.toolkits.exec import workdir as earlier
from callblocks.toolkits.exec.workdir import left_behind

EARLIER = ("turn_3", "turn_2", "turn_1")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "_BYTES", 100)
    monkeypatch.setattr(earlier, "_NAMED_BYTES", 150)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for turn in ("turn_1", "turn_2", "turn_3", "turn_4", "strange"):
        (tmp_path / turn / "files").mkdir(parents=True)
        for name in ("a.txt", "b.txt"):
            (tmp_path / turn / "files" / name).write_text("x" * 30)
    return tmp_path


def test_the_newest_turns_go_in_while_there_is_room(folder: Path):
    left = left_behind(str(folder), "turn_4", EARLIER, "")
    assert left.without == ("strange", "turn_1", "turn_2")
    assert left.turns == ("turn_3",)


@pytest.mark.parametrize("name", ["turn_1/files/a.txt", "fi:turn_1.files/a.txt"])
def test_what_the_code_names_goes_in_as_well(folder: Path, name: str):
    left = left_behind(str(folder), "turn_4", EARLIER, f"open('{name}')")
    assert left.without == ("strange", "turn_1/files/b.txt", "turn_2")
    assert left.turns == ("turn_3", "turn_1")


def test_what_is_named_has_a_bound_too(folder: Path):
    (folder / "turn_1/files/a.txt").write_text("x" * 200)
    left = left_behind(str(folder), "turn_4", EARLIER, "turn_1/files/a.txt turn_2/files/a.txt")
    assert left.turns == ("turn_3", "turn_2")
    assert "turn_1" in left.without


def test_turns_beyond_a_number_stay_behind(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(earlier, "_TURNS", 1)
    monkeypatch.setattr(earlier, "_BYTES", 1_000)
    assert left_behind(str(folder), "turn_4", EARLIER, "").turns == ("turn_3",)


def test_a_turn_that_has_no_folder_is_no_turn_here(folder: Path):
    assert left_behind(str(folder), "turn_4", ("turn_9",), "").turns == ()


def test_names_that_cannot_cross_are_not_named(folder: Path):
    (folder / "odd\nname").mkdir()
    (folder / "turn_1/files/odd\n.txt").write_text("x" * 500)
    left = left_behind(str(folder), "turn_4", EARLIER, "turn_1/files/a.txt")
    assert all("\n" not in path for path in left.without)


def test_attachments_that_go_in_are_text_of_others(folder: Path):
    (folder / "turn_1/attachments").mkdir()
    (folder / "turn_1/attachments/x.txt").write_text("x")
    assert not left_behind(str(folder), "turn_4", EARLIER, "").foreign
    assert left_behind(str(folder), "turn_4", EARLIER, "turn_1/attachments/x.txt").foreign
    assert left_behind(str(folder), "turn_1", (), "").foreign
