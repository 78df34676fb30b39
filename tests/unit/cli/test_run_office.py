"""`callblocks run` on an office: pages go on, own acts taint nothing, what cannot work is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from support.command import run
from support.command_home import fence, move_in
from support.sample_offices import copy_office

EVENT = {"summary": "Fair", "start": "2026-11-16", "end": "2026-11-17"}
MAIL = {"to": "ada@example.org", "subject": "Fair", "body": "Come."}


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = move_in(tmp_path, monkeypatch)
    copy_office(folder)
    return folder


def outcomes(*args: str, text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("run", "--json", *args, text=text).stdout.splitlines()]


def ids(result: Result) -> set[str]:
    return set(re.findall(r"\b[0-9a-f]{16}\b", result.stdout))


def test_a_model_that_reads_the_reply_can_ask_for_the_next_page() -> None:
    first = run("run", "--reply", "--allow-trait", "read_only", text=listing())
    (token,) = re.findall(r"nextPageToken\W+([\w.~!-]+)", first.stdout)
    second = run("run", "--reply", "--allow-trait", "read_only", text=listing(pageToken=token))
    assert second.exit_code == 0
    assert token in second.stdout
    assert len(ids(second) - ids(first)) >= 2


def listing(**more: str) -> str:
    return fence("gmail_list", "c1", maxResults=2, **more)


@pytest.mark.parametrize(("name", "given"), [("gmail_send", MAIL), ("calendar_create", EVENT)])
def test_what_a_person_does_twice_taints_nothing(name: str, given: dict[str, str]) -> None:
    text = fence(name, "c1", **given) + fence(name, "c2", **given)
    said = outcomes("--allow", name, text=text)
    assert [one["ok"] for one in said] == [True, True]


def test_after_a_mail_was_read_sending_is_still_asked() -> None:
    text = fence("gmail_list", "c1", maxResults=1) + fence("gmail_send", "c2", **MAIL)
    said = outcomes("--allow", "gmail_*", text=text)
    assert [one.get("error", {}).get("code") for one in said[1:]] == ["approval_required"]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("calendar_create", {**EVENT, "start": "tomorrow"}, "'tomorrow' is no time; today is "),
        ("gmail_send", {**MAIL, "to": "ada"}, "'ada' is no mail address"),
        ("tasks_create", {"taskListId": "boat", "title": "x", "due": "soon"}, "is no date; today"),
    ],
)
def test_what_is_wrong_with_a_call_is_said_before_anybody_is_asked(
    name: str, given: dict[str, str], words: str
) -> None:
    (said,) = outcomes("--ask", text=fence(name, "c1", **given))
    assert said["error"]["code"] == "invalid_input"
    assert words in said["error"]["message"]
    assert run("approvals").stdout.startswith("Nothing waits for an answer")
