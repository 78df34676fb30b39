from __future__ import annotations

import pytest

from callblocks.core.outcomes import FAILURES, Artifact, Failure, Notice, Outcome
from callblocks.views.terminal.tables import REFUSALS, cut_rows, summary_rows
from support.terminal_rows import EVIL, harmless, lines


def outcome(code: str = "", **more: object) -> Outcome:
    error = Failure(code=code, message="m") if code else None
    return Outcome(id="c", name="act", error=error, **more)  # pyright: ignore[reportArgumentType] fields of it


def test_nothing_happened_nothing_is_said() -> None:
    assert summary_rows([], "/kept", 80) == []


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (["", ""], "2 done"),
        (["timeout"], "1 failed"),
        (["approval_denied"], "1 refused"),
        (["policy_off", "", "tool_error", ""], "2 done, 1 failed, 1 refused"),
    ],
)
def test_outcomes_are_counted_by_what_became_of_them(codes: list[str], expected: str) -> None:
    assert lines(summary_rows([outcome(code) for code in codes], "/kept", 80)) == ["", expected]


def test_every_refusal_is_a_code_that_there_is() -> None:
    assert set(FAILURES) >= REFUSALS
    assert {code for code in FAILURES if code.startswith(("policy_", "approval_"))} == REFUSALS


def test_notices_and_kept_files_are_told() -> None:
    one = outcome(
        notices=(Notice(code="n", message="a file was left out"),),
        artifacts=(Artifact(path="4f/4f0c/c1.txt", size=1, digest="d"),),
    )
    assert lines(summary_rows([one], "/kept", 80))[2:] == [
        "ⓘ act: a file was left out",
        "ⓘ act: kept /kept/4f/4f0c/c1.txt",
    ]


def test_files_of_a_turn_are_named_by_their_result_alone() -> None:
    one = outcome(artifacts=(Artifact(path="fi:turn_1.files/a.md", size=1, digest="d"),))
    assert lines(summary_rows([one], "/kept", 80)) == ["", "1 done"]


def test_a_path_is_not_broken() -> None:
    path = "4f/" + "a" * 60 + "/c1.txt"
    one = outcome(artifacts=(Artifact(path=path, size=1, digest="d"),))
    assert lines(summary_rows([one], "/kept", 50))[2:] == ["ⓘ act: kept", f"/kept/{path}"]


def test_a_notice_is_broken_to_the_width_and_steers_nothing() -> None:
    one = outcome(notices=(Notice(code="n", message=f"{EVIL} " + "word " * 40),))
    rows = summary_rows([one], "/kept", 50)
    assert harmless(rows)
    assert all(len(line) <= 50 for line in lines(rows))
    assert all(line.startswith("  ") for line in lines(rows)[3:])


def test_what_waits_says_how_to_approve_it() -> None:
    error = Failure(code="approval_required", message="m", details={"approval": "0a1b"})
    rows = lines(summary_rows([Outcome(id="c", name="act", error=error)], "/kept", 100))
    assert rows[2] == (
        "ⓘ to approve: callblocks approvals approve 0a1b; then run the text that --reply gives"
    )


@pytest.mark.parametrize("said", ["x; reboot", EVIL, "$(x)", "", ["a"]])
@pytest.mark.parametrize("code", ["approval_required", "tool_error"])
def test_a_tool_cannot_put_a_command_in_the_persons_hands(said: object, code: str) -> None:
    error = Failure(code=code, message="m", details={"approval": said})
    rows = lines(summary_rows([Outcome(id="c", name="act", error=error)], "/kept", 100))
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("output", "cut"),
    [("x" * 500, False), ("x" * 501, True), ("1\n2\n3\n", False), ("1\n2\n3\n4", True)],
)
def test_what_a_chat_shows_in_part_is_said_to_be_whole_elsewhere(output: str, cut: bool) -> None:
    said = lines(cut_rows([outcome(), outcome(output=output), outcome(output=output)], 100))
    expected = ["ⓘ whole results: run prints them with --json or --reply"] if cut else []
    assert said == expected


def test_what_was_written_down_is_whole_there() -> None:
    (said,) = lines(cut_rows([outcome(output="x" * 501)], 120, "trip"))
    assert said.endswith("or --reply; or callblocks timeline show trip --view model")


def test_it_says_how_many_calls_wait() -> None:
    def said(count: int) -> str:
        waits = Failure(code="approval_required", message="m", details={"approval": "4f"})
        given = [Outcome(id=str(at), name="act", error=waits) for at in range(count)]
        return lines(summary_rows(given, "/kept", 140))[-1]

    assert said(1).startswith("ⓘ to approve: callblocks approvals approve 4f; ")
    assert said(3).startswith(
        "ⓘ 3 calls wait; to approve the first: callblocks approvals approve 4f"
    )
    assert said(3).endswith("; callblocks approvals lists all")
