"""A rule about a path holds for a file of the local office also where a call names it by its id."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Answer, Question
from callblocks.core.calls import Call
from callblocks.core.outcomes import Outcome
from callblocks.guard.files.root import Root
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.gate import Approving
from callblocks.runtime.runtime import Runtime
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.office.open_office import LateOffice
from callblocks.toolkits.office.tools.id_suggestions import new_path, reaching
from callblocks.toolkits.standard import standard_tools
from support.google.calling import Calling

SECRET = ("office/drive/secret/**",)
ALLOW = Rule(decide="allow", tool=("*",))


class World:
    """An office with a folder `secret`: a text, a document and a spreadsheet in it."""

    def __init__(self, workspace: Path) -> None:
        self.root = Root(workspace)
        call = Calling(LocalOffice(workspace / "office"), self.root)
        self.top = call("drive_create", name="top", mimeType="folder")["id"]
        self.folder = call("drive_create", name="secret", mimeType="folder")["id"]
        self.open = call("drive_create", name="open.txt", content="open")["id"]
        self.text = call("drive_create", name="a.txt", content="hidden", folderId=self.folder)["id"]
        self.document = call("docs_create", title="Plan", text="hidden")["documentId"]
        self.book = call("sheets_create", title="Book", values=[["hidden"]])["spreadsheetId"]
        for one in (self.document, self.book):
            call("drive_update", fileId=one, folderId=self.folder)
        self.call = call

    def run(self, rule: Rule, name: str, /, **given: Any) -> Outcome:
        """The outcome of a call under one rule before an allow of everything."""
        return self.asked(rule, name, None, **given)

    def asked(self, rule: Rule, name: str, answer: bool | None, /, **given: Any) -> Outcome:
        self.questions: list[Question] = []

        async def ask(question: Question) -> Answer:
            self.questions.append(question)
            return Answer("once" if answer else "deny")

        with ApprovalBook(":memory:") as book:
            approving = None if answer is None else Approving(book, ask)
            runtime = Runtime(
                standard_tools(self.root),
                Policy((rule, ALLOW), autoexec=True),
                resolve=self.root.resolve,
                approving=approving,
            )
            return asyncio.run(_outcome(runtime, Call(id="c1", name=name, input=given)))


async def _outcome(runtime: Runtime, call: Call) -> Outcome:
    (outcome,) = [one async for one in runtime.run([call])]
    return outcome


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    with world.root:
        yield world


def _calls(world: World) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("drive_read", {"fileId": world.text}),
        ("docs_read", {"documentId": world.document}),
        ("sheets_read", {"spreadsheetId": world.book}),
        ("drive_delete", {"fileId": world.text}),
        ("drive_delete", {"fileId": world.folder, "permanent": True}),
        ("drive_list", {"folderId": world.folder}),
        ("drive_update", {"fileId": world.text, "folderId": "root"}),
        ("drive_update", {"fileId": world.open, "folderId": world.folder}),
        ("drive_create", {"name": "b.txt", "folderId": world.folder}),
        ("docs_append", {"documentId": world.document, "text": "more"}),
        ("docs_replace", {"documentId": world.document, "findText": "h", "replaceText": "H"}),
        ("sheets_write", {"spreadsheetId": world.book, "range": "A1", "values": [["x"]]}),
        ("sheets_append", {"spreadsheetId": world.book, "range": "A1", "values": [["x"]]}),
        ("sheets_clear", {"spreadsheetId": world.book, "range": "A1"}),
    ]


def _code(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else ""


def test_what_a_rule_denies_is_denied_by_id(world: World) -> None:
    deny = Rule(decide="deny", path=SECRET)
    for name, given in _calls(world):
        assert _code(world.run(deny, name, **given)) == "policy_denied", name
    assert world.call("drive_read", fileId=world.text)["text"] == "hidden"


def test_what_a_rule_asks_about_is_asked_by_id(world: World) -> None:
    ask = Rule(decide="ask", path=SECRET)
    for name, given in _calls(world):
        assert _code(world.run(ask, name, **given)) == "approval_required", name
        assert _code(world.asked(ask, name, False, **given)) == "approval_denied", name
        assert len(world.questions) == 1, name
    assert world.asked(ask, "drive_read", True, fileId=world.text).output["text"] == "hidden"
    assert not world.asked(ask, "drive_delete", True, fileId=world.text).error


def test_what_no_file_tool_reads_is_read_by_no_id(world: World) -> None:
    deny = Rule(decide="deny", tool=("file_read",), path=SECRET)
    for name, given in _calls(world)[:4]:
        assert _code(world.run(deny, name, **given)) == "policy_denied", name
    moved = {"fileId": world.text, "folderId": "root"}
    assert _code(world.run(deny, "drive_update", **moved)) == "policy_denied"
    renamed = {"fileId": world.folder, "name": "plain"}
    assert _code(world.run(deny, "drive_update", **renamed)) == "policy_denied"
    attached = {"to": "ada@example.org", "subject": "s", "body": "b"}
    for one in (world.text, world.book):
        mail = attached | {"attachments": [f"drive:{one}"]}
        assert _code(world.run(deny, "gmail_send", **mail)) == "policy_denied"


def test_a_folder_above_is_judged_with_what_is_in_it(world: World) -> None:
    world.call("drive_update", fileId=world.folder, folderId=world.top)
    deny = Rule(decide="deny", path=("office/drive/top/secret/**",))
    for name, given in (("drive_delete", {}), ("drive_update", {"name": "tip"})):
        assert _code(world.run(deny, name, fileId=world.top, **given)) == "policy_denied"
    assert not world.run(deny, "drive_list", folderId=world.top).error


def test_what_was_thrown_away_is_judged_by_where_it_was(world: World) -> None:
    world.call("drive_delete", fileId=world.folder)
    deny = Rule(decide="deny", path=SECRET)
    assert _code(world.run(deny, "drive_read", fileId=world.text)) == "policy_denied"
    listed = world.run(deny, "drive_list", trashed=True).output
    assert listed == {"files": []}


@pytest.mark.parametrize("tool", [(), ("file_read",)])
def test_lists_and_searches_leave_out_what_is_denied(world: World, tool: tuple[str, ...]) -> None:
    deny = Rule(decide="deny", tool=tool, path=SECRET)
    for name, given in (
        ("drive_list", {}),
        ("drive_search", {"query": "trashed = false"}),
        ("drive_search", {"query": "fullText contains 'hidden'"}),
    ):
        output = world.run(deny, name, **given).output
        names = {one["name"] for one in output["files"]}
        assert names <= {"open.txt", "top"}, name
        assert names or "fullText" in str(given)


def test_an_allow_of_a_path_holds_by_id(world: World) -> None:
    allow = Rule(decide="allow", path=SECRET, tool=("drive_read",))
    nothing = Rule(decide="deny", tool=("drive_read",))
    runtime = Runtime(
        standard_tools(world.root), Policy((allow, nothing)), resolve=world.root.resolve
    )

    def read(file: str) -> str:
        call = Call(id="c1", name="drive_read", input={"fileId": file})
        return _code(asyncio.run(_outcome(runtime, call)))

    assert [read(one) for one in (world.text, world.open, "nowhere")] == [
        "",
        "policy_denied",
        "policy_denied",
    ]


def test_other_files_are_as_free_as_before(world: World) -> None:
    deny = Rule(decide="deny", path=SECRET)
    assert world.run(deny, "drive_read", fileId=world.open).output["text"] == "open"
    assert _code(world.run(deny, "drive_read", fileId="nowhere")) == "not_found"
    assert not world.run(deny, "drive_delete", fileId=world.open).error
    assert not world.run(deny, "docs_create", title="New").error


def test_an_office_elsewhere_is_not_opened_to_judge_a_call() -> None:
    def opened() -> Any:
        raise AssertionError("it was opened")

    office = LateOffice(opened, is_shared=True)
    assert reaching(office, "fileId") is None
    assert new_path(office, "root", "a", "text/plain") == []
