"""Several steps as one, turns that are taken and ended, and what is beside the text of a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import BadPath, TimelineError
from callblocks.core.outcomes import Notice, Outcome
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import Timeline
from callblocks.timeline.timeline_state import State
from support.memory_artifacts import MemoryArtifacts
from support.memory_files import MemoryFiles
from support.tool_runtime import call

DONE = Outcome(id="c1", name="look", output="done")


@pytest.fixture
def timeline(tmp_path: Path) -> Iterator[Timeline]:
    with Timeline.open(tmp_path / "timeline.sqlite", "talk") as timeline:
        yield timeline


@pytest.fixture
def recorder(timeline: Timeline) -> Recorder:
    return Recorder(timeline, MemoryFiles(), MemoryArtifacts())


def types(recorder: Recorder) -> list[str]:
    return [entry.block.type for entry in recorder.timeline.entries()]


def test_steps_together_are_written_at_once(recorder: Recorder) -> None:
    turn = recorder.new_turn()
    with recorder.together():
        assert recorder.notes(turn, call("look"), "I look.", round=1) == []
        assert recorder.started(turn, call("look"), round=1) == []
        recorder.ended(turn, call("look", id="c2"), DONE, round=1, written=True)
        recorder.tell(turn, "n1", Notice(code="odd", message="so"))
        recorder.completion(turn, "Done.", is_partial=True, reasoning="")
        recorder.end_turn(turn, status="answered", code="", tokens_in=0)
        assert types(recorder) == ["timeline.settings"]
    written = [entry.block for entry in recorder.timeline.entries(after=1)]
    assert [(one.type, one.path) for one in written] == [
        ("react.notes", "ar:turn_1.react.notes.c1"),
        ("react.tool.call", "tc:turn_1.c1.call"),
        ("react.tool.call", "tc:turn_1.c2.call"),
        ("react.tool.result", "tc:turn_1.c2.result"),
        ("react.tool.result", "tc:turn_1.c2.result"),
        ("react.notice", "tc:turn_1.n1.notice"),
        ("assistant.completion", "ar:turn_1.assistant.completion"),
        ("timeline.turn", ""),
    ]
    assert [one.meta.get("round") for one in written[:4]] == [1, 1, 1, None]
    assert [one.meta.get("written") for one in written[1:3]] == [None, True]
    assert (written[-2].meta["is_partial"], "reasoning" in written[-2].meta) == (True, False)
    assert written[-1].meta == {"status": "answered"}


def test_of_steps_that_fail_together_none_is_written(recorder: Recorder) -> None:
    with suppress(BadPath), recorder.together():
        recorder.attach("turn_1", "a.txt", b"a")
        recorder.attach("turn_1", "../b.txt", b"b")
    assert types(recorder) == []
    recorder.prompt("turn_1", "Go.")
    assert types(recorder) == ["timeline.settings", "user.prompt"]


def test_nothing_together_is_nothing(recorder: Recorder) -> None:
    with recorder.together():
        pass
    assert types(recorder) == []


def test_steps_together_are_made_anew_where_another_writer_was_first(recorder: Recorder) -> None:
    own: Any = recorder.timeline
    other = Recorder(Timeline(own.store, "talk"), MemoryFiles(), MemoryArtifacts())
    append = own.append

    def late(blocks: Any, expected: int | None = None) -> Any:
        own.append = append
        other.prompt("turn_9", "Me first.")
        return append(blocks, expected)

    own.append = late
    with recorder.together():
        recorder.prompt("turn_1", "Go.")
        recorder.completion("turn_1", "Done.")
    said = [one for one in types(recorder) if one != "timeline.settings"]
    assert said == ["user.prompt", "user.prompt", "assistant.completion"]


def test_a_turn_is_taken_where_the_check_lets_it(recorder: Recorder) -> None:
    def refuse(state: State) -> None:
        raise TimelineError("conflicting", f"{len(state.turns)} turns")

    assert recorder.new_turn("me") == "turn_1"
    with pytest.raises(TimelineError, match="1 turns"):
        recorder.new_turn("you", refuse)
    with pytest.raises(TimelineError, match="1 turns"):
        recorder.take_over("turn_1", "you", refuse)
    assert recorder.state.owners == {"turn_1": "me"}
    recorder.take_over("turn_1", "you")
    assert recorder.state.owners == {"turn_1": "you"}


def test_a_turn_ends_once_and_goes_on_with_a_new_owner(recorder: Recorder) -> None:
    turn = recorder.new_turn("me")
    recorder.end_turn(turn, status="interrupted")
    assert recorder.end_turn(turn, status="answered") == []
    assert recorder.state.ended == {turn: "interrupted"}
    recorder.take_over(turn, "you")
    assert recorder.state.ended == {}
    recorder.end_turn(turn, status="answered")
    assert recorder.state.ended == {turn: "answered"}


def test_an_answer_is_a_record_and_changes_nothing_else(recorder: Recorder) -> None:
    turn = recorder.new_turn("me")
    recorder.started(turn, call("note", id="c1"))
    before = (recorder.state.settings, dict(recorder.state.owners), recorder.state.rounds.count)
    (entry,) = recorder.answered(
        turn, "c1", "note", approval="a1", approved=True, reason="", answer="half \ud800"
    )
    assert (entry.block.type, entry.block.author) == ("timeline.approval", "timeline")
    assert (entry.block.turn_id, entry.block.call_id) == (turn, "c1")
    assert entry.block.meta == {"approval": "a1", "approved": True, "answer": "half \ufffd"}
    after = (recorder.state.settings, dict(recorder.state.owners), recorder.state.rounds.count)
    assert after == before


def test_the_state_knows_where_turns_begin(recorder: Recorder) -> None:
    recorder.prompt("turn_1", "Go.")
    recorder.new_turn("me")
    recorder.prompt("turn_1", "On.")
    assert recorder.state.turns == {"turn_1": 1, "turn_2": 3}


def test_what_another_program_left_is_settled_once(recorder: Recorder) -> None:
    (_, entry) = recorder.started("turn_1", call("look"))
    assert len(recorder.settle(entry, DONE)) == 2
    assert recorder.settle(entry, DONE) == []
