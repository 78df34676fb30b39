from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.runtime.kept import KeptFiles, _file_name


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_file_is_kept_under_its_digest(tmp_path: Path) -> None:
    keep = KeptFiles(tmp_path / "new" / "artifacts")
    artifact = keep("report.txt", b"hello")
    digest = hashlib.sha256(b"hello").hexdigest()
    assert artifact.path == f"{digest[:2]}/{digest}/report.txt"
    assert (artifact.digest, artifact.size, artifact.mime) == (digest, 5, "text/plain")
    assert keep.read(artifact) == b"hello"


def test_the_same_content_is_kept_once(tmp_path: Path) -> None:
    keep = KeptFiles(str(tmp_path))
    first = keep("a.bin", b"x", "image/x-own")
    before = (tmp_path / first.path).stat()
    assert keep("a.bin", b"x").path == first.path
    assert (tmp_path / first.path).stat().st_ino == before.st_ino
    assert first.mime == "image/x-own"
    assert keep("noending", b"x").mime == "application/octet-stream"


def test_nobody_else_may_look_into_the_folders(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        artifact = KeptFiles(tmp_path / "artifacts")("a.txt", b"hello")
    finally:
        os.umask(before)
    place = (tmp_path / "artifacts" / artifact.path).parent
    for folder in (place, place.parent, tmp_path / "artifacts"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "artifacts" / artifact.path).stat().st_mode) == 0o600


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_file_appears_whole_or_not_at_all(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space left"):
        KeptFiles(tmp_path)("a.txt", b"hello")
    assert files(tmp_path) == []


def test_a_temporary_file_that_cannot_be_removed_hides_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(os, "unlink", full)
    with pytest.raises(OSError, match="No space left"):
        KeptFiles(tmp_path)("a.txt", b"hello")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("report.txt", "report.txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a b.txt", "a_b.txt"),
        ("..", "file"),
        ("", "file"),
        ("a/", "file"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("$(reboot);`x`", "__reboot___x_"),
        ("a\n\x1b[2J.md", "a___2J.md"),
        ("x" * 300 + ".txt", "x" * 96 + ".txt"),
        ("a." + "y" * 50, "a." + "y" * 19),
        ("字" * 100, "字" * 33),
    ],
)
def test_a_name_means_nothing_to_a_shell_or_a_path(given: str, expected: str) -> None:
    assert _file_name(given) == expected


@given(st.text(max_size=200) | st.text("字𝐀é.", max_size=200))
def test_whatever_the_name_it_is_one_safe_name(name: str) -> None:
    found = _file_name(name)
    assert re.fullmatch(r"[\w.+-]+", found)
    assert not found.startswith((".", "-"))
    assert len(found.encode()) <= 100


def test_a_name_of_wide_letters_can_be_kept(tmp_path: Path) -> None:
    keep = KeptFiles(tmp_path)
    assert keep.read(keep("𝐀" * 120 + ".txt", b"x")) == b"x"
