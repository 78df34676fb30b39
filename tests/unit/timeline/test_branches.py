"""Which turn follows which: paths, and the versions of prompts and answers."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.blocks import Block
from callblocks.timeline.branches import Branches, Versions


def branches_of(*prompts: tuple[str, dict[str, Any] | None]) -> Branches:
    branches = Branches()
    for turn, branch in prompts:
        meta = {} if branch is None else {"branch": branch}
        branches.feed(Block(type="user.prompt", author="user", turn_id=turn, ts="", meta=meta))
        branches.feed(Block(type="react.notes", author="assistant", turn_id=turn, ts=""))
    return branches


@pytest.fixture
def tree() -> Branches:
    """t2 was edited (t4), and the answer of the edited one asked for again (t6)."""
    return branches_of(
        ("t1", None),
        ("t2", None),
        ("t3", None),
        ("t4", {"after": "t1"}),
        ("t5", None),
        ("t6", {"after": "t1", "again": "t4"}),
    )


def test_turns_without_a_branch_follow_one_another() -> None:
    branches = branches_of(("t1", None), ("t2", None))
    assert branches.path() == ["t1", "t2"]
    assert branches.hidden() == frozenset()
    assert branches.prompts("t2") == Versions(1, ["t2"])


def test_the_path_of_the_last_turn_leaves_the_others_out(tree: Branches) -> None:
    assert tree.path() == ["t1", "t6"]
    assert tree.hidden() == {"t2", "t3", "t4", "t5"}
    assert tree.path("t5") == ["t1", "t4", "t5"]
    assert tree.hidden("t3") == {"t4", "t5", "t6"}


def test_a_prompt_and_an_answer_have_versions(tree: Branches) -> None:
    assert tree.prompts("t2") == Versions(1, ["t2", "t6"])
    assert tree.prompts("t4") == Versions(2, ["t2", "t6"])
    assert tree.answers("t6") == Versions(2, ["t4", "t6"])
    assert tree.answers("t2") == Versions(1, ["t2"])


def test_a_version_is_shown_with_what_was_said_after_it_last(tree: Branches) -> None:
    assert [tree.newest(one) for one in ("t2", "t4", "t6", "t1")] == ["t3", "t5", "t6", "t6"]


def test_a_first_prompt_can_be_edited() -> None:
    branches = branches_of(("t1", None), ("t2", {"after": ""}))
    assert branches.path() == ["t2"]
    assert branches.prompts("t2") == Versions(2, ["t1", "t2"])


@pytest.mark.parametrize("branch", [{"after": "gone"}, {"after": 7}, {}, {"after": "t2"}])
def test_a_branch_of_what_is_not_there_follows_the_last_turn(branch: dict[str, Any]) -> None:
    branches = branches_of(("t1", None), ("t2", branch))
    assert branches.path("t2") == ["t1", "t2"]


def test_what_is_no_turn_leads_to_the_last_one(tree: Branches) -> None:
    assert tree.path("gone") == tree.path()
    assert "gone" not in tree
    assert Branches().path() == []
