"""Links that are turned while a person is asked: what was shown is what runs, or nothing does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Answer, Question
from callblocks.core.outcomes import Outcome
from callblocks.guard.files.root import Root
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.approval_gate import Approving
from callblocks.toolkits.file_tools import file_tools
from support.approvers import YES, Person
from support.tool_runtime import call, run_one

ASK = Policy.ask_all()
DENY_KEYS = Policy((Rule(decide="deny", path=("keys/**",)), Rule(decide="ask")))


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    for folder in ("work/notes", "work/keys", "outside"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.md").write_text(folder)
    os.symlink("notes", tmp_path / "work/link")
    with Root(tmp_path / "work") as opened:
        yield opened


@pytest.fixture
def book() -> Iterator[ApprovalBook]:
    with ApprovalBook(":memory:") as opened:
        yield opened


def turn_to(root: Root, target: str) -> None:
    """Put another link in place of the one there, in one step."""
    os.symlink(target, root.folder / "new")
    os.replace(root.folder / "new", root.folder / "link")


class Distracted(Person):
    """Says yes after something happened in between."""

    def __init__(self, meanwhile: Callable[[], None], answer: Answer) -> None:
        super().__init__(answer)
        self._meanwhile = meanwhile

    async def __call__(self, question: Question) -> Answer | None:
        self._meanwhile()
        return await super().__call__(question)


def write(root: Root, approving: Approving, policy: Policy = ASK) -> Outcome:
    asked = call("file_write", path="link/a.md", content="new")
    return run_one(
        file_tools(root), asked, policy=policy, approving=approving, resolve=root.resolve
    )


def contents(root: Root) -> list[str]:
    places = (root.folder / "notes", root.folder / "keys", root.folder.parent / "outside")
    return [(place / "a.md").read_text() for place in places]


BEFORE = ["work/notes", "work/keys", "outside"]


@pytest.mark.parametrize("policy", [ASK, DENY_KEYS], ids=["ask", "deny"])
@pytest.mark.parametrize("answer", [YES, Answer("while", minutes=5)], ids=["once", "while"])
@pytest.mark.parametrize("target", ["keys", "../outside", "/etc", "link", "gone/../keys", ".git"])
def test_a_link_turned_under_the_eyes_of_the_person_leads_nowhere(
    root: Root, book: ApprovalBook, target: str, answer: Answer, policy: Policy
) -> None:
    person = Distracted(lambda: turn_to(root, target), answer)
    outcome = write(root, Approving(book, person), policy)
    assert outcome.error
    assert outcome.error.code == "approval_mismatch"
    assert len(person.questions) == 1
    assert contents(root) == BEFORE


def test_a_link_that_stays_is_followed(root: Root, book: ApprovalBook) -> None:
    person = Distracted(lambda: turn_to(root, "./notes"), YES)
    assert write(root, Approving(book, person), DENY_KEYS).ok
    assert contents(root) == ["new", *BEFORE[1:]]


def test_a_folder_that_becomes_a_link_is_noticed(root: Root, book: ApprovalBook) -> None:
    def swap() -> None:
        os.rename(root.folder / "notes", root.folder / "moved")
        os.symlink("keys", root.folder / "notes")

    outcome = write(root, Approving(book, Distracted(swap, YES)))
    assert outcome.error
    assert outcome.error.code == "approval_mismatch"
    assert (root.folder / "keys/a.md").read_text() == "work/keys"


def test_what_was_approved_before_the_link_was_turned_counts_no_more(
    root: Root, book: ApprovalBook
) -> None:
    waits = write(root, Approving(book))
    assert waits.error
    book.approve(waits.error.details["approval"])
    turn_to(root, "keys")
    outcome = write(root, Approving(book))
    assert outcome.error
    assert outcome.error.code == "approval_required"
    assert contents(root) == BEFORE
    turn_to(root, "notes")
    assert write(root, Approving(book)).ok
