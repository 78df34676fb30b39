from __future__ import annotations

from typing import Any

import pytest

from callblocks.approvals.approval import Approval
from callblocks.views.terminal.tables import about_approval, approval_table
from support.terminal_rows import EVIL, harmless, lines

NOW = 1000.0


def approval(**more: Any) -> Approval:
    given = {"state": "pending", "shown": "act(what=x)", "expires_at": NOW + 540, **more}
    return Approval(
        id="0123456789abcdef", fingerprint="f", grant_key="g", tool="act", asked_at=0, **given
    )


def test_nothing_waits() -> None:
    (line,) = lines(approval_table([], NOW, 80))
    assert line.startswith("Nothing waits")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "pending    9 min left  act(what=x)"),
        ({"expires_at": NOW + 59.4}, "pending    59 s left  act(what=x)"),
        ({"expires_at": NOW - 5}, "pending     0 s left  act(what=x)"),
        ({"state": "approved", "minutes": 10}, "approved   9 min left  any act, 10 minutes"),
        ({"state": "denied", "reason": "no"}, "denied                 act(what=x) (no)"),
        ({"state": "used"}, "used                   act(what=x)"),
        ({"state": "expired"}, "expired                act(what=x)"),
        ({"state": "revoked"}, "revoked                act(what=x)"),
    ],
)
def test_each_says_what_became_of_it(given: dict[str, Any], expected: str) -> None:
    (line,) = lines(approval_table([approval(**given)], NOW, 80))
    assert line.split() == ["0123456789abcdef", *expected.split()]


def test_a_long_call_is_broken_and_steers_nothing() -> None:
    rows = approval_table([approval(shown=f"act({EVIL} {'word ' * 30})", reason=EVIL)], NOW, 80)
    assert harmless(rows)
    assert all(len(line) <= 80 for line in lines(rows))
    assert lines(rows)[1].startswith(" " * 41)


def test_all_about_one_is_the_whole_call() -> None:
    shown = 'act\n  "path": a.md\n  | -old\n  | +new'
    rows = lines(about_approval(approval(shown=shown), NOW, 100))
    assert rows[1:] == ["  act", '    "path": a.md', "    | -old", "    | +new"]
    assert harmless(about_approval(approval(shown=f"act\n{EVIL}"), NOW, 60))
