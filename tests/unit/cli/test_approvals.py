from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.approvals.book import ApprovalBook
from support.command import run
from support.command_home import move_in


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_in(tmp_path, monkeypatch)


@pytest.fixture
def asked(tmp_path: Path) -> str:
    """The id of a question that waits."""
    with ApprovalBook(tmp_path / "state" / "approvals.sqlite") as book:
        return book.request(fingerprint="f", grant_key="g", tool="act", shown="act\n  x: 1").id


def test_nothing_waits_at_first() -> None:
    result = run("approvals")
    assert result.exit_code == 0
    assert result.stdout == "Nothing waits for an answer, and nothing is approved.\n"


def test_what_waits_is_listed_and_shown(asked: str) -> None:
    assert f"{asked}  pending" in run("approvals").stdout
    shown = run("approvals", "show", asked).stdout
    assert shown.splitlines()[1:] == ["  act", "    x: 1"]


def test_an_approval_counts_once(asked: str, tmp_path: Path) -> None:
    assert "approved" in run("approvals", "approve", asked).stdout
    with ApprovalBook(tmp_path / "state" / "approvals.sqlite") as book:
        assert book.take("f", "g").ok
        assert not book.take("f", "g").ok
    assert asked not in run("approvals").stdout
    assert f"{asked}  used" in run("approvals", "--all").stdout


def test_a_grant_counts_until_it_is_revoked(asked: str, tmp_path: Path) -> None:
    assert "any act, 10 minutes" in run("approvals", "approve", asked, "--for", "10").stdout
    with ApprovalBook(tmp_path / "state" / "approvals.sqlite") as book:
        assert book.take("another", "g").ok
        assert "revoked" in run("approvals", "revoke", asked).stdout
        assert not book.take("another", "g").ok


def test_a_no_keeps_its_reason(asked: str, tmp_path: Path) -> None:
    assert "(not today)" in run("approvals", "deny", asked, "--reason", "not today").stdout
    with ApprovalBook(tmp_path / "state" / "approvals.sqlite") as book:
        assert book.take("f", "g").reason == "not today"


@pytest.mark.parametrize("action", ["approve", "deny", "revoke", "show"])
def test_an_id_that_is_none_is_one_line(action: str) -> None:
    result = run("approvals", action, "\x1b[2J")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("callblocks: no approval")
    assert "\x1b" not in line


def test_an_answer_cannot_be_given_twice(asked: str) -> None:
    assert run("approvals", "deny", asked).exit_code == 0
    result = run("approvals", "approve", asked)
    assert result.exit_code == 2
    assert "is denied" in result.stderr


def test_all_of_an_approval_is_shown_and_nothing_in_it_is_out_of_sight(tmp_path: Path) -> None:
    shown = "act\n  x: ls" + " " * 90 + "; rm\u200b"
    with ApprovalBook(tmp_path / "state" / "approvals.sqlite") as book:
        id = book.request(fingerprint="f", grant_key="g", tool="act", shown=shown).id
    assert "    x: ls⟨90 blanks⟩; rm⟨U+200B⟩\n" in run("approvals", "show", id).stdout


@pytest.mark.parametrize("more", [[], ["--for", "5"]])
def test_what_was_not_kept_whole_is_approved_only_where_it_is_asked(
    more: list[str], tmp_path: Path
) -> None:
    with ApprovalBook(tmp_path / "state" / "approvals.sqlite") as book:
        shown = 'act\n  "password": "two words"'
        id = book.request(fingerprint="f", grant_key="g", tool="act", shown=shown).id
        result = run("approvals", "approve", id, *more)
        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"callblocks: a part of the call {id} is covered as a secret")
        assert "callblocks run --ask" in line
        assert not book.take("f", "g").ok
    assert "denied" in run("approvals", "deny", id).stdout


def test_only_the_minutes_that_are_offered_are_taken(asked: str) -> None:
    assert run("approvals", "approve", asked, "--for", "7").exit_code == 2
