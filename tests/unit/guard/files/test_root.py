from __future__ import annotations

import gc
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.core.errors import CallerError, ToolError
from callblocks.guard.files.real_path import FileLimits, Opener
from callblocks.guard.files.replace_file import PROTECTED, Protected
from callblocks.guard.files.root import Root
from support.roots import code_of, each_opener, open_files


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    (tmp_path / "work").mkdir()
    with Root(tmp_path / "work") as root:
        before = open_files()
        yield root
        assert open_files() == before


def paths(entries: object) -> list[str]:
    return [entry.path for entry in entries]  # pyright: ignore[reportGeneralTypeIssues]


# The folder itself.


def test_a_workspace_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name, why in {"none": "No such file or directory", "file": "Not a directory"}.items():
        with pytest.raises(CallerError) as raised:
            Root(tmp_path / name)
        assert str(raised.value) == (
            f"no workspace at {str(tmp_path / name)!r}: {why}; make the folder first"
        )


def test_a_workspace_may_be_a_link_and_has_its_real_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    os.symlink("real", tmp_path / "link")
    with Root(tmp_path / "link") as root:
        assert root.folder == tmp_path / "real"
        root.write("x", b"1")
    assert (tmp_path / "real/x").read_text() == "1"


def test_a_closed_workspace_does_nothing(tmp_path: Path) -> None:
    before = open_files()
    root = Root(tmp_path)
    assert os.fstat(root.fileno()).st_ino == tmp_path.stat().st_ino
    assert not os.get_inheritable(root.fileno())
    root.close()
    root.close()
    assert root.fileno() == -1
    assert open_files() == before
    (tmp_path / "x").write_text("")
    with pytest.raises(ToolError) as raised:
        root.read("x")
    assert code_of(raised) == "file_error"
    assert root.resolve("x") is None


def test_a_forgotten_workspace_is_closed(tmp_path: Path) -> None:
    before = open_files()
    root = Root(tmp_path)
    assert open_files() == before + 1
    del root
    gc.collect()
    assert open_files() == before


def test_the_limits_are_the_ones_that_are_documented(root: Root) -> None:
    assert root.limits == FileLimits(
        read=16_777_216, write=16_777_216, entries=1_000, depth=16, scan=50_000, files=50_000
    )


# resolve


@each_opener
def test_resolving_gives_the_real_path_or_none(tmp_path: Path, opener: Opener) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    os.symlink("a/b", tmp_path / "in")
    os.symlink("..", tmp_path / "out")
    os.symlink("c\n", tmp_path / "odd")
    with Root(tmp_path, opener=opener) as root:
        assert root.resolve("./in//x") == "a/b/x"
        assert root.resolve(".") == "."
        assert root.resolve("new/path") == "new/path"
        for path in ("out", "out/x", "..", "/etc", "", "\0", "odd", "odd/x", "\ud800"):
            assert root.resolve(path) is None


def test_a_link_to_a_name_that_is_refused_is_refused(root: Root) -> None:
    os.symlink("c\\d", root.folder / "odd")
    with pytest.raises(ToolError) as raised:
        root.read("odd")
    assert code_of(raised) == "unsafe_path"
    assert raised.value.message == (
        "the path 'odd' is refused: a link in it leads to a name that is refused"
    )


# stat


def test_stat_looks_behind_links(root: Root) -> None:
    (root.folder / "a").mkdir()
    (root.folder / "a/x").write_text("12")
    os.symlink("a/x", root.folder / "link")
    os.symlink("a", root.folder / "folder")
    assert (root.stat("link").path, root.stat("link").kind, root.stat("link").size) == (
        *("a/x", "file"),
        2,
    )
    assert (root.stat("folder").path, root.stat("folder").kind) == ("a", "folder")
    assert (root.stat(".").path, root.stat(".").kind) == (".", "folder")
    with pytest.raises(ToolError) as raised:
        root.stat("none")
    assert code_of(raised) == "path_not_found"
    with pytest.raises(ToolError) as raised:
        root.stat("none/none")
    assert code_of(raised) == "path_not_found"


# read


@each_opener
def test_a_file_is_read_whole_through_links_that_stay(tmp_path: Path, opener: Opener) -> None:
    (tmp_path / "a").mkdir()
    content = os.urandom(3 * 1024 * 1024 + 17)
    (tmp_path / "a/x").write_bytes(content)
    os.symlink("a", tmp_path / "link")
    with Root(tmp_path, opener=opener) as root:
        assert root.read("link/x") == content
        assert root.read_start("link/x", 5) == content[:5]
        assert root.read_start("link/x", 0) == b""


@pytest.mark.parametrize(("limit", "fits"), [(4, False), (5, True), (6, True)])
def test_a_file_larger_than_the_limit_is_refused(root: Root, limit: int, fits: bool) -> None:
    (root.folder / "x").write_text("12345")
    with Root(root.folder, limits=FileLimits(read=limit)) as limited:
        for read in (lambda: root.read("x", limit), lambda: limited.read("x")):
            if fits:
                assert read() == b"12345"
                continue
            with pytest.raises(ToolError) as raised:
                read()
            assert code_of(raised) == "file_too_large"
            assert raised.value.message == (
                "'x' has more than 4 bytes, the most that is read at once"
            )


def test_a_limit_of_nothing_is_a_limit(root: Root) -> None:
    (root.folder / "x").write_text("1")
    with pytest.raises(ToolError, match="more than 0 bytes"):
        root.read("x", 0)


def test_only_files_are_read(root: Root) -> None:
    (root.folder / "folder").mkdir()
    os.mkfifo(root.folder / "pipe")
    for path, words in {
        "folder": "'folder': it is a folder, not a file; list it instead",
        ".": "'.': it is a folder, not a file; list it instead",
        "pipe": "'pipe': it is a pipe, a socket or a device, not a file",
    }.items():
        with pytest.raises(ToolError) as raised:
            root.read(path)
        assert code_of(raised) == "wrong_file_type"
        assert raised.value.message == words


def test_what_is_opened_is_looked_at_again(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that becomes a pipe between looking and opening neither hangs nor is read."""
    (root.folder / "x").write_text("1")
    real = os.open

    def swap(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "x":
            os.unlink(root.folder / "x")
            os.mkfifo(root.folder / "x")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap)
    with pytest.raises(ToolError) as raised:
        root.read("x")
    assert code_of(raised) == "wrong_file_type"


@pytest.mark.parametrize("flag", [os.O_NONBLOCK, os.O_NOCTTY, os.O_NOFOLLOW])
def test_a_file_is_opened_with_all_care(
    root: Root, monkeypatch: pytest.MonkeyPatch, flag: int
) -> None:
    (root.folder / "x").write_text("1")
    real = os.open

    def look(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        assert path != "x" or flags & flag
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", look)
    assert root.read("x") == b"1"


def test_looking_for_what_is_not_there_makes_nothing(root: Root) -> None:
    for use in (root.read, root.stat, root.list, root.delete):
        with pytest.raises(ToolError) as raised:
            use("no/such/x")
        assert code_of(raised) == "path_not_found"
    assert os.listdir(root.folder) == []


# list and walk_files


def test_a_folder_is_listed_as_deep_as_asked(root: Root) -> None:
    (root.folder / "a/b/c").mkdir(parents=True)
    os.symlink("a", root.folder / "link")
    assert paths(root.list().entries) == ["a", "link"]
    assert paths(root.list(".", 2).entries) == ["a", "a/b", "link"]
    assert paths(root.list("link").entries) == ["a/b"]
    assert paths(root.list("a", 9).entries) == ["a/b", "a/b/c"]
    assert paths(root.list("a", 0).entries) == ["a/b"]
    assert root.list().complete


def test_a_listing_goes_no_deeper_than_the_limit(root: Root) -> None:
    (root.folder / "a/b/c").mkdir(parents=True)
    with Root(root.folder, limits=FileLimits(depth=2)) as limited:
        assert paths(limited.list(".", 9).entries) == ["a", "a/b"]


@pytest.mark.parametrize(("limit", "complete"), [(2, False), (3, True), (4, True)])
def test_a_listing_is_no_longer_than_the_limit(root: Root, limit: int, complete: bool) -> None:
    for name in "abc":
        (root.folder / name).write_text("")
    with Root(root.folder, limits=FileLimits(entries=limit)) as limited:
        for listing in (root.list(".", 1, limit), limited.list()):
            assert paths(listing.entries) == ["a", "b", "c"][:limit]
            assert listing.complete is complete


def test_a_listing_of_too_many_names_is_not_complete(root: Root) -> None:
    for name in "abc":
        (root.folder / name).write_text("")
    with Root(root.folder, limits=FileLimits(scan=2)) as limited:
        listing = limited.list()
    assert (len(listing.entries), listing.complete) == (2, False)


def test_only_folders_are_listed(root: Root) -> None:
    (root.folder / "x").write_text("")
    for path, code in {"x": "wrong_file_type", "no": "path_not_found", "..": "unsafe_path"}.items():
        with pytest.raises(ToolError) as raised:
            root.list(path)
        assert code_of(raised) == code


def test_a_walk_finds_every_file_and_no_link(root: Root) -> None:
    (root.folder / "a/b").mkdir(parents=True)
    (root.folder / "a/b/x").write_text("1")
    (root.folder / "y").write_text("22")
    os.symlink("a", root.folder / "link")
    os.symlink("y", root.folder / "file_link")
    os.mkfifo(root.folder / "pipe")
    assert [(entry.path, entry.size) for entry in root.walk_files()] == [("a/b/x", 1), ("y", 2)]


@pytest.mark.parametrize(("limit", "fits"), [(3, True), (2, False), (1, False)])
def test_a_walk_over_too_many_files_is_refused(root: Root, limit: int, fits: bool) -> None:
    (root.folder / "a").mkdir()
    (root.folder / "a/x").write_text("")
    (root.folder / "y").write_text("")
    with Root(root.folder, limits=FileLimits(files=limit)) as limited:
        if fits:
            assert paths(limited.walk_files()) == ["a/x", "y"]
            return
        with pytest.raises(ToolError) as raised:
            list(limited.walk_files())
    assert code_of(raised) == "file_too_large"
    assert raised.value.message == f"the workspace has more than {limit} files and folders"


def test_a_walk_of_a_deleted_workspace_has_a_code(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with Root(tmp_path / "work") as root:
        root.close()
        with pytest.raises(ToolError) as raised:
            list(root.walk_files())
    assert code_of(raised) == "file_error"


# write


@each_opener
def test_a_file_is_written_and_its_folders_are_made(tmp_path: Path, opener: Opener) -> None:
    with Root(tmp_path, opener=opener) as root:
        entry = root.write("a/b/x", b"123")
        assert (entry.path, entry.kind, entry.size, entry.executable) == (
            *("a/b/x", "file"),
            *(3, False),
        )
        root.write("a/b/x", b"4")
    assert (tmp_path / "a/b/x").read_bytes() == b"4"
    assert os.listdir(tmp_path / "a/b") == ["x"]


@each_opener
def test_a_link_that_stays_is_written_through(tmp_path: Path, opener: Opener) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x").write_text("old")
    os.symlink("a/x", tmp_path / "link")
    os.symlink("a/new", tmp_path / "dangling")
    with Root(tmp_path, opener=opener) as root:
        assert root.write("link", b"1").path == "a/x"
        assert root.write("dangling", b"2").path == "a/new"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dangling").is_symlink()
    assert (tmp_path / "a/x").read_text() == "1"
    assert (tmp_path / "a/new").read_text() == "2"


def test_a_written_file_may_be_run_if_asked_or_if_it_could_before(root: Root) -> None:
    assert root.write("a", b"", executable=True).executable
    assert os.access(root.folder / "a", os.X_OK)
    assert root.write("a", b"1").executable
    assert os.access(root.folder / "a", os.X_OK)
    assert not root.write("b", b"").executable
    assert not root.write("b", b"").executable
    assert root.write("b", b"", executable=True).executable
    assert stat.S_IMODE((root.folder / "b").stat().st_mode) & 0o111


def test_what_is_there_stays_unless_overwriting_is_meant(root: Root) -> None:
    root.write("x", b"1", overwrite=False)
    with pytest.raises(ToolError) as raised:
        root.write("x", b"2", overwrite=False)
    assert code_of(raised) == "path_exists"
    assert raised.value.message == "'x' is there already; choose another name"
    assert root.read("x") == b"1"
    assert os.listdir(root.folder) == ["x"]


@pytest.mark.parametrize(("size", "fits"), [(5, True), (6, False)])
def test_more_than_the_limit_is_not_written(root: Root, size: int, fits: bool) -> None:
    with Root(root.folder, limits=FileLimits(write=5)) as limited:
        if fits:
            assert limited.write("new/x", b"1" * size).size == size
            return
        with pytest.raises(ToolError) as raised:
            limited.write("new/x", b"1" * size)
    assert code_of(raised) == "file_too_large"
    assert raised.value.message == (
        "'new/x': 6 bytes are more than the 5 that are written at once; nothing was written"
    )
    assert os.listdir(root.folder) == []


def test_only_files_are_written_over(root: Root) -> None:
    (root.folder / "folder").mkdir()
    os.mkfifo(root.folder / "pipe")
    os.symlink(".", root.folder / "self")
    for path, words in {
        "folder": "folder",
        "pipe": "pipe",
        ".": "workspace itself; name a file in it",
        "self": "workspace itself",
    }.items():
        for overwrite in (True, False):
            with pytest.raises(ToolError, match=words) as raised:
                root.write(path, b"", overwrite=overwrite)
            assert code_of(raised) == "wrong_file_type"
    assert sorted(os.listdir(root.folder)) == ["folder", "pipe", "self"]


@pytest.mark.parametrize(("mode", "fits"), [(0o444, False), (0o555, False), (0o464, True)])
def test_a_file_marked_read_only_is_neither_written_nor_deleted(
    root: Root, mode: int, fits: bool
) -> None:
    (root.folder / "x").write_text("1")
    (root.folder / "x").chmod(mode)
    if fits:
        root.write("x", b"2")
        root.delete("x")
        return
    for change in (lambda: root.write("x", b"2"), lambda: root.delete("x")):
        with pytest.raises(ToolError) as raised:
            change()
        assert code_of(raised) == "access_denied"
        assert raised.value.message == "'x' is marked read-only; write another file"
    assert root.read("x") == b"1"


def test_the_protected_is_refused_before_anything_is_made(root: Root) -> None:
    for path in ("new/.git/hooks/x", "./.bashrc", "new//.ssh/x"):
        with pytest.raises(ToolError) as raised:
            root.write(path, b"")
        assert code_of(raised) == "protected_path"
    assert os.listdir(root.folder) == []


def test_the_protected_is_protected_behind_links_and_under_them(root: Root) -> None:
    (root.folder / ".git").mkdir()
    (root.folder / "plain").mkdir()
    os.symlink(".git", root.folder / "harmless")
    os.symlink("../plain", root.folder / ".git/hooks")
    for path in ("harmless/config", ".git/hooks/x"):
        with pytest.raises(ToolError) as raised:
            root.write(path, b"")
        assert code_of(raised) == "protected_path"
        with pytest.raises(ToolError) as raised:
            root.delete(path)
        assert code_of(raised) == "protected_path"


def test_another_table_protects_other_files(root: Root) -> None:
    with Root(root.folder, protected=(Protected("mine", ("mine",)),)) as other:
        other.write(".bashrc", b"")
        with pytest.raises(ToolError, match="mine"):
            other.write("a/mine", b"")
    assert root.protected[:-2] == PROTECTED


def test_files_of_callblocks_itself_are_protected(root: Root) -> None:
    (root.folder / "policy.toml").write_text("deny")
    with Root(root.folder, own=(root.folder / "policy.toml", root.folder / "state")) as own:
        for path in ("policy.toml", "POLICY.toml", "state", "state/approvals.db"):
            with pytest.raises(ToolError) as raised:
                own.write(path, b"allow")
            assert code_of(raised) == "protected_path"
        own.write("sub/policy.toml", b"")
    assert (root.folder / "policy.toml").read_text() == "deny"


def test_what_is_hidden_is_known_by_its_path_and_never_written(root: Root, tmp_path: Path) -> None:
    (root.folder / "state").mkdir()
    os.symlink("state", root.folder / "way")
    hidden = (root.folder / "way", root.folder / "keys.toml", tmp_path.parent / "elsewhere")
    with Root(root.folder, own=(root.folder / "policy.toml",), hidden=hidden) as other:
        assert other.hidden == (".callblocks", "keys.toml", "state", "way")
        for path in ("state/approvals.db", "way/x", "KEYS.toml", "policy.toml"):
            with pytest.raises(ToolError) as raised:
                other.write(path, b"")
            assert code_of(raised) == "protected_path"
        with pytest.raises(ToolError, match="is never written"):
            other.delete("state")
        other.write("sub/keys.toml", b"")
    assert root.hidden == (".callblocks",)


def test_writable_says_where_a_write_would_go(root: Root) -> None:
    (root.folder / "a").mkdir()
    os.symlink("a", root.folder / "link")
    assert root.writable("./link/new") == "a/new"
    assert os.listdir(root.folder / "a") == []
    for path, code in {
        ".git/x": "protected_path",
        "../x": "unsafe_path",
        ".": "wrong_file_type",
    }.items():
        with pytest.raises(ToolError) as raised:
            root.writable(path)
        assert code_of(raised) == code


# delete


def test_a_file_an_empty_folder_and_a_link_are_deleted(root: Root) -> None:
    (root.folder / "folder").mkdir()
    (root.folder / "kept").write_text("kept")
    (root.folder / "x").write_text("")
    os.symlink("kept", root.folder / "link")
    os.symlink("/etc/passwd", root.folder / "out")
    for path in ("folder", "x", "link", "out"):
        root.delete(path)
    assert os.listdir(root.folder) == ["kept"]


def test_deleting_is_flushed(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    (root.folder / "x").write_text("")
    monkeypatch.setattr(os, "fsync", lambda opened: flushed.append(os.fstat(opened).st_ino))
    root.delete("x")
    assert flushed == [root.folder.stat().st_ino]


def test_what_cannot_be_deleted_has_a_code(root: Root) -> None:
    (root.folder / "full").mkdir()
    (root.folder / "full/x").write_text("")
    for path, code in {
        "full": "file_error",
        "none": "path_not_found",
        ".": "wrong_file_type",
        "..": "unsafe_path",
        ".git": "protected_path",
    }.items():
        with pytest.raises(ToolError) as raised:
            root.delete(path)
        assert code_of(raised) == code
    assert (root.folder / "full/x").exists()


def test_a_listing_leaves_out_what_is_hidden(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        for name in ("a", "b", "keys/k", "z"):
            root.write(name, b"")
        hides = {"keys", "keys/k"}.__contains__
        listing = root.list(depth=2, limit=3, hides=hides)
        assert [entry.path for entry in listing.entries] == ["a", "b", "z"]
        assert listing.complete
        assert not root.list(depth=2, limit=2, hides=hides).complete
