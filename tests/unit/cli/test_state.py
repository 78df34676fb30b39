from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from callblocks.cli.exits import Fault
from callblocks.cli.options.state_folder import TOKEN, kept_token, state_folder
from support.command import run


@pytest.fixture(autouse=True)
def _nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CALLBLOCKS_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_the_folder_is_the_most_particular_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert state_folder() == tmp_path / "home/.local/state/callblocks"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert state_folder() == tmp_path / "xdg/callblocks"
    monkeypatch.setenv("CALLBLOCKS_HOME", str(tmp_path / "own"))
    assert state_folder() == tmp_path / "own"


def test_it_is_made_for_its_owner_only() -> None:
    before = os.umask(0)
    try:
        assert stat.S_IMODE(state_folder().stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_a_folder_is_absolute_wherever_one_goes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALLBLOCKS_HOME", "here")
    assert state_folder() == tmp_path / "here"


def test_a_folder_that_cannot_be_made_says_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CALLBLOCKS_HOME", str(tmp_path / "file" / "state"))
    with pytest.raises(Fault, match="set CALLBLOCKS_HOME"):
        state_folder()
    result = run("run", text="no calls")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_a_file_without_a_token_lets_nobody_in_and_says_the_way_out(tmp_path: Path) -> None:
    """A program that was killed while it made the file left it like this."""
    (tmp_path / TOKEN).touch(mode=0o600)
    with pytest.raises(Fault, match="holds no token; remove it, or give a token"):
        kept_token(tmp_path)
