from __future__ import annotations

import os
from pathlib import Path

import pytest

from callblocks.core.errors import CallerError
from callblocks.models.scripted import ScriptFolder


def write(folder: Path, **scripts: str) -> ScriptFolder:
    for name, text in scripts.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    return ScriptFolder(folder)


def name_of(folder: ScriptFolder, said: str) -> str | None:
    found = folder.find(said)
    return found and found.name


def test_the_script_that_covers_most_words_is_found(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        b="---\nmatch: [read files]\n---\nb",
        c="---\nmatch: [read all files, x]\n---\nc",
        a="---\nmatch: [read]\n---\na",
        d="---\nmatch: [all files here]\n---\nd",
        default="anything",
    )
    assert name_of(folder, "read the files") == "b"
    assert name_of(folder, "read all the files") == "c"
    assert name_of(folder, "read all the files here") == "c"
    assert name_of(folder, "read!") == "a"
    assert name_of(folder, "what?") == "default"


def test_without_a_default_there_may_be_no_script(tmp_path: Path) -> None:
    assert write(tmp_path, a="text").find("what?") is None
    assert ScriptFolder(tmp_path / "..").find("") is None


def test_a_file_that_is_no_script_is_listed_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "bytes.md").write_bytes(b"a\xff")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "gone.md").symlink_to("nowhere")
    (tmp_path / "large.md").write_bytes(b"a" * 1_000_001)
    (tmp_path / "no-script.txt").write_text("---\n", "utf-8")
    os.mkfifo(tmp_path / "pipe.md")
    folder = write(tmp_path, good="text", wrong="---\npace: x\n---\ntext")
    assert [script.name for script in folder.scripts] == ["good"]
    assert folder.broken == {
        "bytes.md": "it is not UTF-8: byte 1",
        "folder.md": "it is no file",
        "gone.md": "No such file or directory",
        "large.md": "it has 1000001 bytes; a script has at most 1000000",
        "pipe.md": "it is no file",
        "wrong.md": "`pace` is characters a second, from 0 on, not 'x'",
    }


def test_a_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    folder = write(tmp_path, a="old", b="kept")
    before = folder.scripts
    (tmp_path / "a.md").write_text("newer", "utf-8")
    (tmp_path / "c.md").write_text("\ufeffadded\r\n\r\n<!-- results -->\r\nmore", "utf-8")
    after = folder.scripts
    assert [script.replies for script in after] == [("newer",), ("kept",), ("added", "more")]
    assert after[1] is before[1]
    (tmp_path / "a.md").unlink()
    assert [script.name for script in folder.scripts] == ["b", "c"]


def test_a_folder_that_goes_away_is_played_from_memory(tmp_path: Path) -> None:
    top = tmp_path / "talks"
    top.mkdir()
    folder = write(top, a="text")
    (top / "a.md").unlink()
    top.rmdir()
    assert name_of(folder, "a") == "a"
    assert folder.broken == {}


@pytest.mark.parametrize("name", ["none", "file.md", "a\x00b"])
def test_what_is_no_folder_is_the_callers_mistake(name: str, tmp_path: Path) -> None:
    (tmp_path / "file.md").write_text("text", "utf-8")
    with pytest.raises(CallerError, match="is no folder of scripts"):
        ScriptFolder(tmp_path / name)
