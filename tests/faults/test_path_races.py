"""Paths that are turned between the judgement of a call and its run.

Every tool that means files is run with a flip in between: the table of inputs must name each tool
of the registry that takes a path, so a new one cannot be forgotten. One test races freely.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Answer, Question
from callblocks.core.calls import Call
from callblocks.core.events import CallBegan
from callblocks.core.outcomes import Outcome
from callblocks.guard.files.root import Root
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.gate import Approving
from callblocks.runtime.judgement import Progress
from callblocks.toolkits.file_tools import file_tools
from callblocks.toolkits.standard import standard_tools
from callblocks.tools.registry import Registry
from callblocks.tools.tool import PATHS, Tool
from support.approvers import YES, Person
from support.sample_offices import copy_office
from support.tool_runtime import call, run, run_one

SECRET = "seven herons on the north mole"
RACES = int(os.environ.get("CALLBLOCKS_PATH_RACES", "400"))
"""How many reads race freely; the docs have the figure of a longer run."""

BY_PATH: dict[str, dict[str, Any]] = {
    "file_read": {"path": "link/a.md"},
    "file_list": {"path": "link"},
    "file_write": {"path": "link/a.md", "content": "new"},
    "file_upload": {"path": "link", "filename": "a.md", "content": "new"},
    "search": {"query": "herons", "scope": "link"},
    "file_ingest": {"path": "link/a.md"},
    "gmail_send": {"to": "a@example.org", "subject": "", "body": "", "attachments": ["link/a.md"]},
    "exec_tools.execute_code_python": {
        "code": "import os; os.path.islink('files') and os.unlink('files'); "
        "os.mkdir('files'); open('files/a.md', 'w').write('new')",
        "contract": [{"filename": "a.md", "description": "x"}],
    },
    "exec_tools.execute_code_shell": {
        "code": "rm -f files; mkdir files; echo new > files/a.md",
        "contract": [{"filename": "a.md", "description": "x"}],
    },
    **{
        f"rendering_tools.write_{kind}": {"path": f"link/a.{kind}", "source": "link/a.md"}
        for kind in ("pdf", "png", "docx", "pptx", "xlsx")
    },
}
"""An input of each tool that means a file by its path, through a link."""

BY_ID: dict[str, dict[str, Any]] = {
    "drive_list": {"folderId": "boat"},
    "drive_read": {"fileId": "engine-log"},
    "drive_create": {"name": "a.md", "content": "new", "folderId": "boat"},
    "drive_update": {"fileId": "engine-log", "content": "new"},
    "drive_delete": {"fileId": "engine-log"},
    "docs_read": {"documentId": "winter-notice"},
    "docs_create": {"title": "New"},
    "docs_append": {"documentId": "winter-notice", "text": "new"},
    "docs_replace": {"documentId": "winter-notice", "findText": "the", "replaceText": "new"},
    "sheets_read": {"spreadsheetId": "fuel-log"},
    "sheets_write": {"spreadsheetId": "fuel-log", "range": "A1", "values": [["new"]]},
    "sheets_append": {"spreadsheetId": "fuel-log", "range": "A1", "values": [["new"]]},
    "sheets_create": {"title": "New"},
    "sheets_clear": {"spreadsheetId": "fuel-log", "range": "A1"},
}
"""An input of each tool that means a file of the drive by its id."""

SLOW = tuple(name for name in BY_PATH if name.startswith("exec"))
DOCUMENTS = tuple(name for name in BY_PATH if name.startswith("rendering"))


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    work = tmp_path / "work"
    for folder, text in (("notes", "plain words"), ("secrets", SECRET)):
        (work / folder).mkdir(parents=True)
        (work / folder / "a.md").write_text(text)
    for link, target in (("link", "notes"), ("hop", "link")):
        os.symlink(target, work / link)
    os.symlink("notes/a.md", work / "alias.md")
    (work / "notes/deep").mkdir()
    os.symlink("../../hop", work / "notes/deep/back")
    with Root(work) as opened:
        yield opened


# What somebody else does between judging and running.


def turn(folder: Path) -> None:
    for name in ("link", "alias.md"):
        target = "secrets/a.md" if name == "alias.md" else "secrets"
        os.symlink(target, folder / "new")
        os.replace(folder / "new", folder / name)


def swap_folders(folder: Path) -> None:
    exchange = ctypes.CDLL(None).renameat2
    ends = (bytes(folder / name) for name in ("notes", "secrets"))
    assert exchange(-100, next(ends), -100, next(ends), 2) == 0


def put_hard_link(folder: Path) -> None:
    os.link(folder / "secrets/a.md", folder / "new")
    os.replace(folder / "new", folder / "notes/a.md")


def make_folder_a_link(folder: Path) -> None:
    os.rename(folder / "notes", folder / "moved")
    os.symlink("secrets", folder / "notes")


def make_link_a_folder(folder: Path) -> None:
    os.unlink(folder / "link")
    (folder / "link").mkdir()
    os.link(folder / "secrets/a.md", folder / "link/a.md")


def make_file_a_link(folder: Path) -> None:
    os.symlink("../secrets/a.md", folder / "new")
    os.replace(folder / "new", folder / "notes/a.md")


FLIPS = (
    turn,
    swap_folders,
    put_hard_link,
    make_folder_a_link,
    make_link_a_folder,
    make_file_a_link,
)


def policy_for(*tools: Tool) -> Policy:
    """All tools are allowed by name, and the secrets denied to all of them."""
    denied = ("secrets/**", "office/drive/Passengers/**")
    names = tuple(tool.name for tool in tools)
    return Policy((Rule(decide="deny", path=denied), Rule(decide="allow", tool=names)))


def tool_named(root: Root, name: str) -> Tool:
    found = standard_tools(root).get(name)
    assert found is not None
    return found


def run_flipped(root: Root, name: str, given: dict[str, Any], flip: Callable[[], None]) -> Outcome:
    """Run a call with a flip after it was judged and before its tool runs."""
    tool = tool_named(root, name)
    flips: list[Progress] = []

    def listen(progress: Progress) -> None:
        if isinstance(progress, CallBegan):
            flips.append(progress)
            flip()

    (outcome,) = run(
        [tool],
        Call(id="c1", name=name, input=given),
        policy=policy_for(tool),
        resolve=root.resolve,
        listen=listen,
    )
    assert len(flips) == 1, outcome
    return outcome


class Kept:
    """A folder by its handle: what is in it whatever it is called later."""

    def __init__(self, folder: Path) -> None:
        self._opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self.before = self._look()

    def _look(self) -> dict[str, str]:
        place = Path(f"/proc/self/fd/{self._opened}")
        return {name: (place / name).read_text() for name in sorted(os.listdir(self._opened))}

    def is_same(self) -> bool:
        now = self._look()
        os.close(self._opened)
        return now == self.before


def leaks(outcome: Outcome, folder: Path) -> list[str]:
    """Where the secret can be read that could not before."""
    shown = ["outcome"] if SECRET in str(outcome) else []
    sent = [path for path in (folder / "office/mail").rglob("*") if path.is_file()]
    spelled = (SECRET.encode(), b64encode(SECRET.encode()))
    mails = [path for path in sent if any(one in path.read_bytes() for one in spelled)]
    return [*shown, *map(str, mails)]


def test_every_tool_that_means_files_is_raced(root: Root) -> None:
    registry = standard_tools(root)
    tools = [tool for tool in map(registry.get, registry.names) if tool is not None]
    by_path = {one.name for one in tools if one.paths or one.parameters_of_format(*PATHS)}
    by_id = {one.name for one in tools if one.reaches}
    assert by_path == BY_PATH.keys()
    assert by_id == BY_ID.keys()


@pytest.mark.parametrize("flip", FLIPS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", [one for one in BY_PATH if one not in (*SLOW, *DOCUMENTS)])
def test_a_path_leads_where_it_led_when_it_was_judged(
    root: Root, name: str, flip: Callable[[Path], None]
) -> None:
    secrets = Kept(root.folder / "secrets")
    outcome = run_flipped(root, name, BY_PATH[name], lambda: flip(root.folder))
    assert leaks(outcome, root.folder) == []
    assert secrets.is_same()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_made_of_the_file_that_was_judged(root: Root, name: str) -> None:
    (root.folder / "notes/a.md").write_bytes(b"\xff no text")
    outcome = run_flipped(root, name, BY_PATH[name], lambda: turn(root.folder))
    assert outcome.error
    assert outcome.error.code == "not_text"


def test_a_document_goes_where_it_was_judged_to_go(root: Root) -> None:
    secrets = Kept(root.folder / "secrets")
    given = BY_PATH["rendering_tools.write_docx"]
    outcome = run_flipped(root, "rendering_tools.write_docx", given, lambda: turn(root.folder))
    assert outcome.ok
    assert secrets.is_same()
    assert (root.folder / "notes/a.docx").is_file()


@pytest.mark.parametrize("name", SLOW)
def test_a_folder_that_was_missing_cannot_become_a_link(root: Root, name: str) -> None:
    secrets = Kept(root.folder / "secrets")
    outcome = run_flipped(
        root, name, BY_PATH[name], lambda: os.symlink("secrets", root.folder / "files")
    )
    assert "'produced': []" in str(outcome)
    assert secrets.is_same()


@pytest.mark.parametrize("path", ["link/a.md", "hop/a.md", "alias.md", "notes/deep/back/a.md"])
def test_a_turned_link_gives_the_file_that_was_judged(root: Root, path: str) -> None:
    outcome = run_flipped(root, "file_read", {"path": path}, lambda: turn(root.folder))
    assert outcome.output == "plain words"


@pytest.mark.parametrize("flip", [swap_folders, put_hard_link, make_link_a_folder])
def test_another_file_at_the_judged_path_is_noticed(
    root: Root, flip: Callable[[Path], None]
) -> None:
    outcome = run_flipped(root, "file_read", {"path": "notes/a.md"}, lambda: flip(root.folder))
    if flip is make_link_a_folder:
        assert outcome.output == "plain words"
        return
    assert outcome.error
    assert outcome.error.code == "path_changed"


def test_what_leads_nowhere_when_it_is_judged_leads_nowhere_later(root: Root) -> None:
    """A link that leaves is judged as unsafe; turned back, it is still not followed."""
    os.symlink("/etc", root.folder / "out")

    def turn_back() -> None:
        os.unlink(root.folder / "out")
        os.symlink("notes", root.folder / "out")

    tools = file_tools(root)
    policy = Policy((Rule(decide="allow", tool=("file_read",)),))
    asked = call("file_read", path="out/a.md")
    (outcome,) = run(tools, asked, policy=policy, resolve=root.resolve, listen=_on_began(turn_back))
    assert outcome.error
    assert outcome.error.code == "unsafe_path"


def _on_began(do: Callable[[], None]) -> Callable[[Progress], None]:
    return lambda progress: do() if isinstance(progress, CallBegan) else None


@pytest.mark.parametrize("name", BY_ID)
@pytest.mark.parametrize("whole", [False, True], ids=["file", "folder"])
def test_a_file_of_the_drive_is_never_reached_by_a_link(root: Root, name: str, whole: bool) -> None:
    drive = copy_office(root.folder) / "drive"
    secret = drive / "Passengers"
    for path in secret.iterdir():
        path.write_text(SECRET)

    def flip() -> None:
        places = [path for path in drive.rglob("*") if secret not in (path, *path.parents)]
        for path in places:
            if path.is_file() and not whole:
                path.unlink()
                os.symlink(os.path.relpath(secret / "lost-and-found.txt", path.parent), path)
            elif path.is_dir() and whole:
                shutil.rmtree(path)
                os.symlink(os.path.relpath(secret, path.parent), path)

    secrets = Kept(secret)
    outcome = run_flipped(root, name, BY_ID[name], flip)
    assert SECRET not in str(outcome)
    assert secrets.is_same()


# What a person approved.


class Distracted(Person):
    """Says yes after something happened in between."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        super().__init__(YES)
        self._meanwhile = meanwhile

    async def __call__(self, question: Question) -> Answer | None:
        self._meanwhile()
        return await super().__call__(question)


def write_in_place(folder: Path) -> None:
    with open(folder / "notes/a.md", "a") as file:
        file.write(" and more")


def replace_whole(folder: Path) -> None:
    (folder / "new").write_text("plain words")
    os.replace(folder / "new", folder / "notes/a.md")


@pytest.mark.parametrize("change", [write_in_place, replace_whole, put_hard_link])
def test_a_diff_of_a_file_that_changed_meanwhile_is_not_written(
    root: Root, change: Callable[[Path], None]
) -> None:
    with ApprovalBook(":memory:") as book:
        person = Distracted(lambda: change(root.folder))
        outcome = run_one(
            file_tools(root),
            call("file_write", path="link/a.md", content="new"),
            policy=Policy.ask_all(),
            approving=Approving(book, person),
            resolve=root.resolve,
        )
    assert outcome.error
    assert outcome.error.code == "approval_mismatch"
    assert (root.folder / "notes/a.md").read_text() != "new"


def test_an_approval_of_a_diff_is_one_of_the_file_as_it_was(root: Root) -> None:
    def write(book: ApprovalBook) -> Outcome:
        return run_one(
            file_tools(root),
            call("file_write", path="link/a.md", content="new"),
            policy=Policy.ask_all(),
            approving=Approving(book),
            resolve=root.resolve,
        )

    with ApprovalBook(":memory:") as book:
        waits = write(book)
        assert waits.error
        book.approve(waits.error.details["approval"])
        write_in_place(root.folder)
        again = write(book)
        assert again.error
        assert again.error.code == "approval_required"
        book.approve(again.error.details["approval"])
        assert write(book).ok


def test_reading_a_file_that_grows_needs_no_second_question(root: Root) -> None:
    with ApprovalBook(":memory:") as book:
        person = Distracted(lambda: write_in_place(root.folder))
        outcome = run_one(
            file_tools(root),
            call("file_read", path="link/a.md"),
            policy=Policy.ask_all(),
            approving=Approving(book, person),
            resolve=root.resolve,
        )
    assert outcome.output == "plain words and more"


# A race without an appointment.


def test_no_read_passes_a_rule_while_a_link_is_turned_all_the_time(root: Root) -> None:
    registry = Registry(file_tools(root))
    policy = policy_for(*(tool for tool in map(registry.get, registry.names) if tool))
    over = threading.Event()

    def turn_on() -> None:
        at, targets = 0, ("secrets", "notes")
        while not over.is_set():
            os.symlink(targets[at % 2], root.folder / "next")
            os.replace(root.folder / "next", root.folder / "link")
            at += 1

    turner = threading.Thread(target=turn_on)
    turner.start()
    try:
        calls = [call("file_read", f"c{at}", path="link/a.md") for at in range(RACES)]
        outcomes = run(file_tools(root), *calls, policy=policy, resolve=root.resolve)
    finally:
        over.set()
        turner.join()
    assert len(outcomes) == RACES
    assert [one.output for one in outcomes if one.output == SECRET] == []
    codes = {one.error.code for one in outcomes if one.error}
    assert codes <= {"policy_denied"}
    assert any(one.ok for one in outcomes)
