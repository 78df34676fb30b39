"""Where things are below a folder of state."""

from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.timeline.timeline import turns_folder

SERVER = "postgresql://me:pw1@host:5432/db?sslmode=require&password=pw2"


def test_the_store_of_the_folder_needs_no_more_than_the_name(tmp_path: Path) -> None:
    assert turns_folder(tmp_path, "t") == tmp_path / "timelines" / "t"
    assert turns_folder(tmp_path, "t", tmp_path / "timelines.sqlite") == turns_folder(tmp_path, "t")


def test_each_other_store_has_a_folder_of_its_own(tmp_path: Path) -> None:
    stores = [None, "a.sqlite", "b.sqlite", SERVER, SERVER.replace("/db", "/other")]
    found = {turns_folder(tmp_path, "t", store) for store in stores}
    assert len(found) == len(stores)
    assert {folder.parent for folder in found} == {tmp_path / "timelines"}


def test_a_file_is_the_same_by_any_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("a.sqlite")
    paths = ("a.sqlite", "./a.sqlite", tmp_path / "a.sqlite", "link")
    assert len({turns_folder(tmp_path, "t", path) for path in paths}) == 1


@pytest.mark.parametrize(
    "same",
    [
        SERVER.replace("pw1", "new"),
        SERVER.replace("pw2", "new"),
        SERVER.replace(":pw1", ""),
        SERVER.replace("postgresql:", "postgres:"),
    ],
)
def test_a_password_is_not_part_of_the_place(tmp_path: Path, same: str) -> None:
    assert turns_folder(tmp_path, "t", same) == turns_folder(tmp_path, "t", SERVER)
