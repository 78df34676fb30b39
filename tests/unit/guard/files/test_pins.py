"""Pins: what a path led to stays what it leads to, for as long as a call runs."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.real_path import Opener
from callblocks.guard.files.root import (
    CallFiles,
    Pin,
    Root,
    call_files,
    in_call,
    is_hidden,
    take_pin,
)
from callblocks.guard.workers.threads import run_in_thread
from support.roots import OPENERS, code_of, each_opener, open_files


@pytest.fixture(params=[*OPENERS.values()], ids=[*OPENERS])
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Root]:
    for folder in ("notes", "keys"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text(folder)
    os.symlink("notes", tmp_path / "link")
    with Root(tmp_path, opener=request.param) as opened:
        yield opened


def turn(root: Root, target: str = "keys") -> None:
    os.symlink(target, root.folder / "new")
    os.replace(root.folder / "new", root.folder / "link")


def replace(root: Root, path: str, text: str = "other") -> None:
    (root.folder / "new").write_text(text)
    os.replace(root.folder / "new", root.folder / path)


def test_outside_of_a_call_each_use_resolves_anew(root: Root) -> None:
    assert root.read("link/a.md") == b"notes"
    turn(root)
    assert root.read("link/a.md") == b"keys"
    assert call_files() is not call_files()


def test_in_a_call_a_path_is_resolved_once(root: Root) -> None:
    with in_call(CallFiles()):
        assert root.resolve("link/a.md") == "notes/a.md"
        turn(root)
        assert root.read("link/a.md") == b"notes"
        assert root.read("./link//a.md") == b"notes"
        assert root.stat("link/a.md").path == "notes/a.md"
        assert root.writable("link/a.md") == "notes/a.md"
        assert root.resolve("link/a.md") == "notes/a.md"
        # A path that the call did not name before is resolved now.
        assert [one.path for one in root.list("link").entries] == ["keys/a.md"]
    assert root.read("link/a.md") == b"keys"


def test_what_is_started_in_a_call_belongs_to_it(root: Root) -> None:
    async def go() -> tuple[bytes, bytes]:
        with in_call(CallFiles()):
            root.resolve("link/a.md")
            turn(root)
            thread = run_in_thread(lambda: root.read("link/a.md"))
            task = asyncio.ensure_future(asyncio.to_thread(root.read, "link/a.md"))
        return await thread, await task

    assert asyncio.run(go()) == (b"notes", b"notes")


def test_two_workspaces_have_pins_of_their_own(root: Root, tmp_path: Path) -> None:
    with in_call(CallFiles()), Root(tmp_path / "keys") as other:
        assert root.resolve("a.md") == "a.md"
        assert other.read("a.md") == b"keys"


@pytest.mark.parametrize("use", ["read", "stat", "write", "list"])
def test_another_file_or_folder_is_refused(root: Root, use: str) -> None:
    with in_call(CallFiles()):
        for path in ("notes/a.md", "notes"):
            root.resolve(path)
        if use == "list":
            os.rename(root.folder / "notes", root.folder / "old")
            os.mkdir(root.folder / "notes")
        else:
            replace(root, "notes/a.md")
        uses = {
            "read": lambda: root.read("notes/a.md"),
            "stat": lambda: root.stat("notes/a.md"),
            "write": lambda: root.write("notes/a.md", b"new"),
            "list": lambda: root.list("notes"),
        }
        with pytest.raises(ToolError) as raised:
            uses[use]()
    assert code_of(raised) == "path_changed"
    assert "look again" in str(raised.value)


def test_another_folder_with_the_same_file_is_refused(root: Root) -> None:
    with in_call(CallFiles()):
        root.resolve("notes/a.md")
        os.rename(root.folder / "notes", root.folder / "old")
        os.mkdir(root.folder / "notes")
        os.link(root.folder / "old/a.md", root.folder / "notes/a.md")
        before = open_files()
        with pytest.raises(ToolError) as raised:
            root.read("notes/a.md")
        assert open_files() == before
    assert code_of(raised) == "path_changed"


def test_a_file_that_came_or_went_meanwhile_is_another_one(root: Root) -> None:
    with in_call(CallFiles()):
        root.resolve("notes/new.md")
        root.resolve("notes/a.md")
        (root.folder / "notes/new.md").write_text("not ours")
        (root.folder / "notes/a.md").unlink()
        for path, code in (("notes/new.md", "path_changed"), ("notes/a.md", "path_changed")):
            with pytest.raises(ToolError) as raised:
                root.write(path, b"new")
            assert code_of(raised) == code
        with pytest.raises(ToolError) as raised:
            root.read("notes/a.md")
        assert code_of(raised) == "path_not_found"


def test_a_call_may_use_what_it_wrote(root: Root) -> None:
    with in_call(CallFiles()):
        for text in (b"one", b"two"):
            root.write("link/deep/b.md", text)
            assert root.read("link/deep/b.md") == text
    assert (root.folder / "notes/deep/b.md").read_bytes() == b"two"


def test_folders_that_are_missing_are_made_below_the_one_that_was_there(root: Root) -> None:
    with in_call(CallFiles()):
        for name in ("x", "y"):
            root.resolve(f"notes/one/two/{name}.md")
        root.write("notes/one/two/x.md", b"new")
        root.write("notes/one/two/y.md", b"new")
        root.resolve("notes/three/x.md")
        os.symlink("../keys", root.folder / "notes/three")
        with pytest.raises(ToolError) as raised:
            root.write("notes/three/x.md", b"new")
    assert code_of(raised) in ("unsafe_path", "wrong_file_type")
    assert os.listdir(root.folder / "keys") == ["a.md"]
    assert sorted(os.listdir(root.folder / "notes/one/two")) == ["x.md", "y.md"]


def test_a_missing_folder_of_the_workspace_itself_is_made(root: Root) -> None:
    with in_call(CallFiles()):
        root.resolve("one/two/x.md")
        root.write("one/two/x.md", b"new")
    assert (root.folder / "one/two/x.md").read_bytes() == b"new"


def test_what_could_not_be_resolved_stays_so(root: Root) -> None:
    turn(root, "/etc")
    with in_call(CallFiles()):
        assert root.resolve("link/a.md") is None
        turn(root, "notes")
        for _ in range(2):
            with pytest.raises(ToolError) as raised:
                root.read("link/a.md")
            assert code_of(raised) == "unsafe_path"
    assert root.read("link/a.md") == b"notes"


def test_a_link_put_there_while_it_is_resolved_is_refused(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolved(*_: object, **__: object) -> str:
        os.rename(root.folder / "notes", root.folder / "old")
        os.symlink("keys", root.folder / "notes")
        return "notes/a.md"

    monkeypatch.setattr("callblocks.guard.files.root.real_path", resolved)
    assert root.resolve("notes/a.md") is None


@each_opener
def test_a_pin_names_all_that_stood_there(tmp_path: Path, opener: Opener) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x").write_text("four")
    top, folder, file = (os.stat(tmp_path / path) for path in (".", "a", "a/x"))
    opened = os.open(tmp_path, os.O_RDONLY)
    with ExitStack() as stack:
        stack.callback(os.close, opened)
        held = (folder.st_dev, folder.st_ino)
        found = (file.st_dev, file.st_ino)
        version = (4, file.st_mtime_ns)
        assert take_pin(opened, "a/x", opener) == Pin("a/x", "a", held, found, version)
        assert take_pin(opened, "a/y", opener) == Pin("a/y", "a", held, None, (0, 0))
        assert take_pin(opened, "a/b/c", opener) == Pin("a/b/c", "a", held, None, (0, 0))
        root = (top.st_dev, top.st_ino)
        assert take_pin(opened, "b/c/d", opener) == Pin("b/c/d", ".", root, None, (0, 0))
        assert take_pin(opened, ".", opener).found == root


def test_a_workspace_that_is_gone_has_no_pins(tmp_path: Path) -> None:
    def opener(folder: int, path: str, flags: int) -> int:
        raise FileNotFoundError(2, "gone")

    shutil.rmtree(tmp_path / "x", ignore_errors=True)
    with pytest.raises(FileNotFoundError):
        take_pin(0, "x/y", opener)


def test_what_was_seen_is_what_stood_at_the_paths(root: Root) -> None:
    with in_call(CallFiles()) as files:
        root.resolve("notes/a.md")
        root.resolve("gone")
        turn(root, "/etc")
        root.resolve("link/a.md")
        seen = files.seen()
        status = os.stat(root.folder / "notes/a.md")
    assert seen == (
        ("gone", None, (0, 0)),
        ("notes/a.md", (status.st_dev, status.st_ino), (5, status.st_mtime_ns)),
    )


def test_nothing_is_hidden_but_by_a_call() -> None:
    assert not is_hidden("keys/a.md")
    with in_call(CallFiles()):
        assert not is_hidden("keys/a.md")
    with in_call(CallFiles(hides=lambda path: path.startswith("keys"))):
        assert is_hidden("keys/a.md")
        assert not is_hidden("notes/a.md")
