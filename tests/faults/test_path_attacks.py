"""Paths and trees that try to leave the workspace; nothing beside it is read or changed.

Each attack runs with both ways to open files, through every method of the workspace and through
the functions of the file tools, each time on a fresh tree.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files import replace_file as replacing
from callblocks.guard.files.real_path import FileLimits, Opener
from callblocks.guard.files.root import Root
from callblocks.toolkits.file_tools import file_tools
from callblocks.tools.tool import Context, Tool
from support.roots import code_of, each_opener, open_files, snapshot

SECRET = b"the secret outside"
INSIDE = b"inside"


class World(NamedTuple):
    """A workspace, and beside it what must stay untouched and unread."""

    base: Path
    root: Path
    outside: Path


@pytest.fixture
def world() -> Iterator[World]:
    with made(new_base()) as world:
        yield world


def new_base() -> Path:
    # In memory: thousands of flushed writes would wear a disk.
    return Path(tempfile.mkdtemp(prefix="callblocks-paths-", dir="/dev/shm"))


@contextmanager
def made(base: Path) -> Iterator[World]:
    world = World(base, base / "root", base / "outside")
    (world.root / "notes").mkdir(parents=True)
    (world.root / "notes/a.md").write_bytes(INSIDE)
    (world.outside / "folder").mkdir(parents=True)
    for name in ("secret", "folder/secret", "x"):
        (world.outside / name).write_bytes(SECRET)
    (base / "secret").write_bytes(SECRET)
    try:
        yield world
    finally:
        shutil.rmtree(base)


def surroundings(world: World) -> dict[str, tuple[object, ...]]:
    """All that is beside the workspace."""
    return {
        name: what
        for name, what in snapshot(world.base).items()
        if name.split("/")[0] != world.root.name
    }


# Every way to use a path.


class Current:
    """Stands for the workspace of the moment: declaring tools for each would take long."""

    root: Root

    def __getattr__(self, name: str) -> Any:
        return getattr(self.root, name)


CURRENT = Current()
TOOLS = file_tools(cast("Root", CURRENT))


def function_of(tool: Tool) -> Callable[..., Any]:
    assert tool.function is not None
    return tool.function


def preview_of(tool: Tool) -> Callable[..., str]:
    assert tool.preview is not None
    return tool.preview


def each_use(root: Root) -> dict[str, Callable[[str], Any]]:
    CURRENT.root = root
    read, listing, write, upload = map(function_of, TOOLS)
    show_write, show_upload = map(preview_of, TOOLS[2:])
    return {
        "read": root.read,
        "read_start": lambda path: root.read_start(path, 100),
        "stat": root.stat,
        "list": lambda path: root.list(path, 3),
        "writable": root.writable,
        "file_read": lambda path: read(path=path, context=Context()),
        "file_list": lambda path: listing(path=path, depth=3, context=Context()),
        "show_write": lambda path: show_write(path=path, content="attack"),
        "show_upload": lambda path: show_upload(filename="secret", content="", path=path),
        "write": lambda path: root.write(path, b"attack"),
        "write_new": lambda path: root.write(path, b"attack", overwrite=False),
        "delete": root.delete,
        "file_write": lambda path: write(path=path, content="attack"),
        "upload_into": lambda path: upload(filename="x", content="attack", path=path),
        "upload_as": lambda path: upload(filename=path, content="attack"),
    }


# Those of one line share a tree: what looks does not change it.
USES = (
    (
        *("read", "read_start", "stat", "list", "writable"),
        *("file_read", "file_list", "show_write", "show_upload"),
    ),
    *(("write",), ("write_new",), ("delete",), ("file_write",), ("upload_into",), ("upload_as",)),
)


class Attack(NamedTuple):
    """A path, what is planted in the workspace for it, and what reading it must give."""

    path: str
    plant: Callable[[World], object] = lambda world: None
    code: str = "unsafe_path"


def link(name: str, target: str) -> Callable[[World], object]:
    """Plant a link; `{outside}` and `{root}` stand for those folders."""
    return lambda world: os.symlink(
        target.format(outside=world.outside, root=world.root), world.root / name
    )


def links(**targets: str) -> Callable[[World], object]:
    return lambda world: [link(name, target)(world) for name, target in targets.items()]


def chain(length: int) -> Callable[[World], object]:
    steps = {f"l{at}": f"l{at + 1}" for at in range(length)}
    return links(**steps, **{f"l{length}": "notes/a.md"})


def node(name: str, kind: int, device: tuple[int, int] = (0, 0)) -> Callable[[World], object]:
    return lambda world: os.mknod(world.root / name, kind | 0o666, os.makedev(*device))


def plug(world: World) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(world.root / "socket"))


def git_link(world: World) -> None:
    (world.root / ".git/hooks").mkdir(parents=True)
    os.symlink(".git/hooks", world.root / "harmless")


PLAIN = "path_not_found"  # a name like any other, and nothing is there

ATTACKS = {
    # Climbing, in every spelling.
    "parent": Attack("../secret"),
    "parent alone": Attack(".."),
    "parent with a slash": Attack("../"),
    "many parents": Attack("../" * 40 + "etc/passwd"),
    "down and up": Attack("notes/../../secret"),
    "down and up to the workspace": Attack("notes/.."),
    "back in from outside": Attack("../root/notes/a.md"),
    "dot then parent": Attack("./../secret"),
    "slashes and dots": Attack(".//..//.//secret"),
    "parent of a file": Attack("notes/a.md/.."),
    "parents of a file": Attack("notes/a.md/../../../secret"),
    "parent of what is not there": Attack("none/../../secret"),
    "backslashes": Attack("..\\secret"),
    "both slashes": Attack("notes\\../../secret"),
    "mixed parents": Attack("notes/..\\..\\secret"),
    # From elsewhere.
    "absolute": Attack("/etc/passwd"),
    "two slashes": Attack("//etc/passwd"),
    "three slashes": Attack("///etc/passwd"),
    "the root of all": Attack("/"),
    "root of the process": Attack("/proc/self/root/etc/passwd"),
    "home": Attack("~/.ssh/id_rsa"),
    "home of root": Attack("~root/.bashrc"),
    "home behind a dot": Attack("./~/x"),
    "drive": Attack("C:/Windows/win.ini"),
    "drive without a slash": Attack("c:secret"),
    "drive with backslashes": Attack("C:\\Windows\\win.ini"),
    "share": Attack("\\\\server\\share\\x"),
    "file address": Attack("file:///etc/passwd", code=PLAIN),
    # Characters.
    "nul": Attack("notes/a.md\0.png"),
    "nul before parents": Attack("x\0/../../secret"),
    "nul alone": Attack("\0"),
    "line break": Attack("notes/a.md\n"),
    "line break before parents": Attack("\n../secret"),
    "carriage return": Attack("a\r../secret"),
    "escape": Attack("\x1b[2Jx"),
    "delete": Attack("..\x7f/secret"),
    "turned text": Attack("notes/\u202egnp.a"),
    "line separator": Attack("a\u2028b"),
    "lone surrogate": Attack("notes/\ud800"),
    "surrogate of a raw byte": Attack("..\udcff/secret"),
    "nothing": Attack(""),
    # What looks like climbing is a name like any other.
    "fullwidth dots": Attack("．．/secret", code=PLAIN),
    "fullwidth slash": Attack("..／secret", code=PLAIN),
    "division slash": Attack("..∕secret", code=PLAIN),
    "fraction slash": Attack("..⁄secret", code=PLAIN),
    "one dot leaders": Attack("․․/secret", code=PLAIN),
    "two dot leader": Attack("‥/secret", code=PLAIN),
    "dots with a blank": Attack(".. /secret", code=PLAIN),
    "blank and dots": Attack(" ../secret", code=PLAIN),
    "dot blank dot": Attack(". ./secret", code=PLAIN),
    "dots with no width": Attack("..\u200b/secret"),
    "git with no width": Attack(".g\u200cit/hooks/pre-commit"),
    "three dots": Attack(".../secret", code=PLAIN),
    "four dots": Attack("....//....//secret", code=PLAIN),
    "dots and semicolon": Attack("..;/secret", code=PLAIN),
    "percent dots": Attack("%2e%2e/secret", code=PLAIN),
    "percent slash": Attack("..%2fsecret", code=PLAIN),
    "percent twice": Attack("%252e%252e%252fsecret", code=PLAIN),
    "percent nul": Attack("notes/a.md%00.png", code=PLAIN),
    "percent overlong": Attack("..%c0%afsecret", code=PLAIN),
    "variable": Attack("$HOME/secret", code=PLAIN),
    "command": Attack("$(cat ..)`id`;ls|x", code=PLAIN),
    "glob": Attack("*", code=PLAIN),
    "braces": Attack("{..,.}/secret", code=PLAIN),
    "option": Attack("-rf", code=PLAIN),
    # Sizes.
    "huge name": Attack("x" * 256),
    "huge name in bytes": Attack("é" * 128),
    "huge path": Attack("x/" * 2048 + "x"),
    "deep path": Attack("d/" * 1000 + "x"),
    "deepest path": Attack("d/" * 127 + "x", code=PLAIN),
    "a million dots": Attack("." * 1_000_000),
    # Links.
    "link to a file": Attack("l", link("l", "../secret")),
    "link to a folder": Attack("l/secret", link("l", "../outside")),
    "link to the parent": Attack("l/secret", link("l", "..")),
    "link far up": Attack("l/etc/passwd", link("l", "../" * 30)),
    "link out and back": Attack("l/notes/a.md", link("l", "../root")),
    "absolute link": Attack("l", link("l", "{outside}/secret")),
    "absolute link to a folder": Attack("l/secret", link("l", "{outside}")),
    "absolute link inside": Attack("l/notes/a.md", link("l", "{root}")),
    "link to the root of all": Attack("l/etc/passwd", link("l", "/")),
    "chain of links": Attack("a/secret", links(a="b", b="c", c="../outside")),
    "chain through a folder": Attack("notes/l/secret", link("notes/l", "../../outside")),
    "link with slashes": Attack("l/secret", link("l", ".//..//outside//")),
    "link down and up": Attack("l/secret", link("l", "notes/../../outside")),
    "link through a link": Attack("b/secret", links(a="..", b="a/outside")),
    "link to itself": Attack("l", link("l", "l")),
    "links in a circle": Attack("a/x", links(a="b", b="a")),
    "link into itself": Attack("l/x", link("l", "l/l")),
    "41 links": Attack("l0", chain(40)),
    "link that turns back": Attack("l", link("l", "notes/../" * 101 + "notes/a.md")),
    "dangling link out": Attack("l", link("l", "../made")),
    "dangling link to a folder": Attack("l/x/y", link("l", "../made")),
    "dangling absolute link": Attack("l", link("l", "{outside}/made")),
    "link to the process's root": Attack("l/etc/passwd", link("l", "/proc/self/root")),
    "link to the process's folder": Attack("l/secret", link("l", "/proc/self/cwd")),
    "link to an open file": Attack("l", link("l", "/dev/fd/0")),
    "link to the terminal": Attack("l", link("l", "/dev/tty")),
    "link to a device": Attack("l", link("l", "/dev/zero")),
    "link to an odd name": Attack("l", link("l", "a\nb")),
    "link to a lookalike": Attack("l/secret", link("l", "．．"), PLAIN),
    # What is no file.
    "pipe": Attack("pipe", node("pipe", stat.S_IFIFO), "wrong_file_type"),
    "below a pipe": Attack("pipe/x", node("pipe", stat.S_IFIFO), "wrong_file_type"),
    "socket": Attack("socket", plug, "wrong_file_type"),
    "character device": Attack("d", node("d", stat.S_IFCHR, (1, 5)), "wrong_file_type"),
    "block device": Attack("d", node("d", stat.S_IFBLK, (254, 0)), "wrong_file_type"),
    "folder": Attack("notes", code="wrong_file_type"),
    "folder with slashes": Attack("notes///", code="wrong_file_type"),
    "below a file": Attack("notes/a.md/x", code="wrong_file_type"),
    "the workspace": Attack(".", code="wrong_file_type"),
    "the workspace again": Attack("././/", code="wrong_file_type"),
    "the workspace by a link": Attack("l", link("l", "."), "wrong_file_type"),
    # Files that steer other programs.
    "hook": Attack(".git/hooks/pre-commit", code=PLAIN),
    "hook by a link": Attack("harmless/pre-commit", git_link, PLAIN),
    "hook in other letters": Attack(".GiT/HOOKS/pre-commit", code=PLAIN),
    "hook with an invisible letter": Attack(".g\u034fit/hooks/pre-commit", code=PLAIN),
    "hook with a dot": Attack(".git./hooks/pre-commit", code=PLAIN),
    "hook of a module": Attack("sub/.git/hooks/x", code=PLAIN),
    "repository file": Attack("sub/.git", code=PLAIN),
    "bare repository": Attack("sub/HEAD", code=PLAIN),
    "shell start": Attack(".bashrc", code=PLAIN),
    "shell start in other letters": Attack("sub/.BashRC", code=PLAIN),
    "keys": Attack(".ssh/authorized_keys", code=PLAIN),
    "keys with a long s": Attack(".ſsh/authorized_keys", code=PLAIN),
    "editor task": Attack(".vscode/tasks.json", code=PLAIN),
    "workflow": Attack(".github/workflows/x.yml", code=PLAIN),
}

STEERING = tuple(ATTACKS)[tuple(ATTACKS).index("hook") :]


def test_there_are_enough_attacks() -> None:
    assert len(ATTACKS) >= 100


@each_opener
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_neither_reads_nor_changes_anything_outside(
    name: str, opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack = ATTACKS[name]
    (tmp_path / "secret").write_bytes(SECRET)
    monkeypatch.chdir(tmp_path)  # a path must not start from here either
    for uses in USES:
        with made(new_base()) as world:
            attack.plant(world)
            for use in uses:
                run(world, attack, use, opener, steering=name in STEERING)
    assert snapshot(tmp_path) == {"secret": (0o100644, 1, SECRET)}


def run(world: World, attack: Attack, use: str, opener: Opener, *, steering: bool) -> None:
    before, files = surroundings(world), open_files()
    code = ""
    with Root(world.root, opener=opener) as root:
        real = root.resolve(attack.path)
        try:
            got = each_use(root)[use](attack.path)
        except ToolError as error:
            code, got = error.code, error.message
    assert surroundings(world) == before
    assert open_files() == files
    assert SECRET.decode() not in str(got)
    assert SECRET not in got if isinstance(got, bytes) else True
    if use in ("read", "read_start", "file_read"):
        assert code == attack.code
    if attack.code == "unsafe_path":
        assert real is None
        assert code == "unsafe_path" or may_pass(attack.path, use)
    if steering and use in ("writable", "write", "write_new", "file_write", "delete"):
        assert code == "protected_path"


def may_pass(path: str, use: str) -> bool:
    """Deleting a link deletes the link; uploading into no folder is into the workspace."""
    return use == "delete" or (path == "" and use in ("upload_into", "show_upload"))


# Hard links.


@each_opener
def test_a_hard_link_is_replaced_and_the_file_outside_keeps_its_content(
    world: World, opener: Opener
) -> None:
    os.link(world.outside / "secret", world.root / "hard")
    with Root(world.root, opener=opener) as root:
        root.write("hard", b"new")
        assert (world.outside / "secret").read_bytes() == SECRET
        assert (world.outside / "secret").stat().st_nlink == 1
        os.link(world.outside / "x", world.root / "other")
        root.delete("other")
    assert (world.outside / "x").read_bytes() == SECRET


# The workspace itself.


@each_opener
def test_a_workspace_that_is_a_link_is_where_it_led_at_the_start(
    world: World, opener: Opener
) -> None:
    os.symlink("root", world.base / "work")
    with Root(world.base / "work", opener=opener) as root:
        (world.base / "work").unlink()
        os.symlink("outside", world.base / "work")
        before = surroundings(world)
        assert root.read("notes/a.md") == INSIDE
        root.write("x", b"new")
        assert surroundings(world) == before
    assert (world.root / "x").read_bytes() == b"new"


@each_opener
@pytest.mark.parametrize("by", ["folder", "link"])
def test_a_workspace_replaced_during_the_run_changes_nothing_else(
    world: World, opener: Opener, by: str
) -> None:
    with Root(world.root, opener=opener) as root:
        os.rename(world.root, world.base / "moved")
        if by == "link":
            os.symlink("outside", world.root)
        else:
            shutil.copytree(world.outside, world.root)
        before = snapshot(world.outside), snapshot(world.root)
        root.write("x", b"new")
        assert root.read("notes/a.md") == INSIDE
        with pytest.raises(ToolError) as raised:
            root.read("secret")
        assert code_of(raised) == "path_not_found"
        assert (snapshot(world.outside), snapshot(world.root)) == before
    assert (world.base / "moved/x").read_bytes() == b"new"


@each_opener
def test_a_workspace_that_was_deleted_has_nothing(world: World, opener: Opener) -> None:
    with Root(world.root, opener=opener) as root:
        shutil.rmtree(world.root)
        for use in (lambda: root.read("notes/a.md"), lambda: root.write("x", b"")):
            with pytest.raises(ToolError) as raised:
                use()
            assert code_of(raised) == "path_not_found"


# Between looking and using.

SWAP = """
import ctypes, os, sys
os.chdir(sys.argv[1])
exchange = ctypes.CDLL(None).renameat2
print("ready", flush=True)
while exchange(-100, b"swap", -100, b"bait", 2) == 0:
    pass
"""


@contextmanager
def swapping(folder: Path) -> Iterator[None]:
    """Another process swaps `swap` and `bait` all the time."""
    with subprocess.Popen(
        [sys.executable, "-c", SWAP, str(folder)], stdout=subprocess.PIPE
    ) as swapper:
        assert swapper.stdout is not None
        swapper.stdout.readline()
        try:
            yield
        finally:
            assert swapper.poll() is None
            swapper.kill()


def attempt(use: Callable[[], Any]) -> str:
    try:
        got = use()
    except ToolError as error:
        return error.code
    assert SECRET.decode() not in str(got)
    return "done"


CONTAINED = {
    *("done", "unsafe_path", "wrong_file_type", "path_not_found", "path_changed", "file_error")
}


@each_opener
def test_a_folder_swapped_for_a_link_is_never_followed_out(world: World, opener: Opener) -> None:
    (world.root / "swap").mkdir()
    (world.root / "swap/secret").write_bytes(INSIDE)
    os.symlink("../outside", world.root / "bait")
    before = surroundings(world)
    seen: set[str] = set()
    with swapping(world.root), Root(world.root, opener=opener) as root:
        uses: tuple[Callable[[], Any], ...] = (
            lambda: root.read("swap/secret"),
            lambda: root.write("swap/x", b"new"),
            lambda: root.write("swap/new/y", b"new"),
            lambda: (
                [entry.size for entry in root.list("swap").entries if entry.size == len(SECRET)]
                and SECRET.decode()
            ),
            lambda: root.stat("swap/folder"),
            lambda: root.delete("swap/x"),
            lambda: [SECRET for file in root.walk_files() if file.size == len(SECRET)],
        )
        for _ in range(600):
            seen |= {attempt(use) for use in uses}
    assert surroundings(world) == before
    assert {"done", "unsafe_path"} <= seen <= CONTAINED


@each_opener
def test_a_file_swapped_for_a_link_is_never_followed_out(world: World, opener: Opener) -> None:
    (world.root / "swap").write_bytes(INSIDE)
    os.symlink("../outside/secret", world.root / "bait")
    before = surroundings(world)
    seen: set[str] = set()
    with swapping(world.root), Root(world.root, opener=opener) as root:
        show = preview_of(file_tools(root)[2])
        for _ in range(1_500):
            seen.add(attempt(lambda: root.read("swap")))
            seen.add(attempt(lambda: root.stat("swap").size == len(SECRET) and SECRET))
            seen.add(attempt(lambda: show(path="swap", content="")))
    assert surroundings(world) == before
    assert {"done", "unsafe_path"} <= seen <= CONTAINED


@each_opener
def test_a_link_put_in_place_of_the_file_during_a_write_is_replaced_not_followed(
    world: World, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = replacing.fill

    def plant(new: int, content: bytes) -> None:
        (world.root / "notes/a.md").unlink()
        os.symlink("../../outside/secret", world.root / "notes/a.md")
        fill(new, content)

    monkeypatch.setattr(replacing, "fill", plant)
    before = surroundings(world)
    with Root(world.root, opener=opener) as root:
        root.write("notes/a.md", b"new")
        assert root.read("notes/a.md") == b"new"
    assert surroundings(world) == before


@each_opener
def test_names_of_temporary_files_cannot_be_laid_as_traps(
    world: World, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(4):
        os.symlink("../outside/secret", world.root / f".callblocks-{at:016x}.tmp")
    tokens = iter(range(8))
    monkeypatch.setattr(secrets, "token_hex", lambda _: f"{next(tokens):016x}")
    before = surroundings(world)
    with Root(world.root, opener=opener) as root:
        root.write("x", b"new")
    assert surroundings(world) == before
    assert next(tokens) == 5


# Files that are not what they seem.


@each_opener
def test_a_giant_sparse_file_is_refused_without_reading_it(world: World, opener: Opener) -> None:
    with (world.root / "giant").open("wb") as giant:
        giant.truncate(1 << 40)
    with Root(world.root, opener=opener, limits=FileLimits(read=1000)) as root:
        with pytest.raises(ToolError) as raised:
            root.read("giant")
        assert code_of(raised) == "file_too_large"
        read, _, write, _ = file_tools(root)
        with pytest.raises(ToolError) as raised:
            function_of(read)(path="giant", context=Context())
        assert code_of(raised) == "not_text"
        assert "1099511627776 bytes" in preview_of(write)(path="giant", content="")


@each_opener
def test_a_file_that_grows_while_it_is_read_is_cut_off(world: World, opener: Opener) -> None:
    stop = threading.Event()

    def grow() -> None:
        with (world.root / "log").open("ab") as log:
            while not stop.is_set() and log.tell() < 50_000_000:
                log.write(b"x" * 10_000)
                log.flush()

    (world.root / "log").write_bytes(b"x" * 300_000)
    growing = threading.Thread(target=grow)
    growing.start()
    try:
        with Root(world.root, opener=opener, limits=FileLimits(read=200_000)) as root:
            with pytest.raises(ToolError) as raised:
                root.read("log")
            assert len(root.read_start("log", 200_000)) == 200_000
    finally:
        stop.set()
        growing.join()
    assert code_of(raised) == "file_too_large"


@each_opener
def test_a_setuid_program_loses_its_power_when_it_is_written(world: World, opener: Opener) -> None:
    (world.root / "su").write_bytes(b"")
    (world.root / "su").chmod(0o6755)
    with Root(world.root, opener=opener) as root:
        root.write("su", b"attack", executable=True)
    assert stat.S_IMODE((world.root / "su").stat().st_mode) == 0o755


@each_opener
def test_a_folder_is_never_overwritten(world: World, opener: Opener) -> None:
    (world.root / "empty").mkdir()
    with Root(world.root, opener=opener) as root:
        for path in ("notes", "empty", "empty/", "."):
            with pytest.raises(ToolError) as raised:
                root.write(path, b"")
            assert code_of(raised) == "wrong_file_type"
    assert (world.root / "empty").is_dir()
    assert (world.root / "notes/a.md").read_bytes() == INSIDE


@each_opener
def test_a_workspace_with_hostile_links_is_listed_and_copied_without_them(
    world: World, opener: Opener
) -> None:
    links(out="../outside", up="..", etc="/etc", loop="loop", here=".")(world)
    with Root(world.root, opener=opener) as root:
        listing = root.list(".", 9)
        assert {entry.kind for entry in listing.entries if "a.md" not in entry.path} == {
            "folder",
            "link",
        }
        assert [entry.path for entry in root.walk_files()] == ["notes/a.md"]


# Mounts.


@contextmanager
def mounted(*arguments: str, at: Path) -> Iterator[None]:
    at.mkdir()
    subprocess.run(["mount", *arguments, str(at)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(at)], check=True)
        at.rmdir()


@each_opener
def test_links_of_the_process_folder_lead_nowhere_even_if_it_is_mounted_inside(
    world: World, opener: Opener
) -> None:
    before = surroundings(world)
    with (
        mounted("-t", "proc", "none", at=world.root / "proc"),
        (world.outside / "secret").open() as opened,
        Root(world.root, opener=opener) as root,
    ):
        for path in (
            "proc/self/root/etc/passwd",
            "proc/self/root",
            "proc/self/cwd/secret",
            f"proc/self/fd/{opened.fileno()}",
            f"proc/self/fd/{root.fileno()}/../secret",
            f"proc/self/fd/{root.fileno()}/notes/a.md",
            "proc/self/exe",
        ):
            assert root.resolve(path) is None
            for use in (root.read, root.list, root.stat, lambda path: root.write(path, b"")):
                with pytest.raises(ToolError) as raised:
                    use(path)
                assert code_of(raised) == "unsafe_path"
    assert surroundings(world) == before


@each_opener
def test_a_folder_mounted_inside_is_inside_and_its_parent_is_the_workspace(
    world: World, opener: Opener
) -> None:
    with mounted("--bind", str(world.outside), at=world.root / "bound"):
        os.symlink("../notes/a.md", world.root / "bound/up")
        os.symlink("../../secret", world.root / "bound/out")
        with Root(world.root, opener=opener) as root:
            assert root.read("bound/secret") == SECRET
            assert root.read("bound/up") == INSIDE
            with pytest.raises(ToolError) as raised:
                root.read("bound/out")
            assert code_of(raised) == "unsafe_path"
            root.write("bound/secret", b"new")
        (world.root / "bound/up").unlink()
        (world.root / "bound/out").unlink()
    assert (world.outside / "secret").read_bytes() == b"new"
