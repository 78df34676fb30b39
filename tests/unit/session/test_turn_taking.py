"""One turn at a time on a timeline, whoever wants the next one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.calls import Call
from callblocks.core.errors import TurnRunning
from callblocks.core.outcomes import Outcome
from callblocks.guard.workers.worker_process import this_process
from callblocks.models.model import Usage
from callblocks.runtime.journal import Intent, Journal
from callblocks.session.event_gate import ANSWERED, INTERRUPTED
from callblocks.session.turn_lock import (
    TurnTaking,
    having_turn,
    interrupted_turn,
    new_owner,
    open_turn,
    owner_lives,
    this_owner,
    turn_key,
)
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import Timeline
from support.memory_artifacts import MemoryArtifacts
from support.memory_files import MemoryFiles

DEAD = f"{socket.gethostname()}/4194303:1"
CALL = Call(id="c1", name="act", input={"what": "x"})


@pytest.fixture
def timeline(tmp_path: Path) -> Iterator[Timeline]:
    with Timeline.open(tmp_path / "timeline.sqlite", "talk") as timeline:
        yield timeline


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal")
    yield opened
    opened.close()


def a_recorder(timeline: Timeline) -> Recorder:
    return Recorder(timeline, MemoryFiles(), MemoryArtifacts())


def taking(timeline: Timeline, journal: Journal | None = None) -> TurnTaking:
    return TurnTaking(a_recorder(timeline), journal)


def test_owners_live_as_long_as_they_have_their_turn() -> None:
    one, other = new_owner(), new_owner()
    assert one != other
    assert not owner_lives(one)
    with having_turn(one):
        assert owner_lives(one)
        assert not owner_lives(other)
    assert not owner_lives(one)


HERE = socket.gethostname()


def test_who_lives() -> None:
    assert owner_lives(f"{HERE}/1")
    assert owner_lives(f"{HERE}/1#7")
    assert not owner_lives(DEAD)
    assert not owner_lives(f"{DEAD}#2")
    assert not owner_lives(f"{HERE}/{this_process()}")
    assert not owner_lives(f"{HERE}/not a process")


@pytest.mark.parametrize("owner", ["elsewhere/4194303:1", ""])
def test_who_is_elsewhere_lives_until_they_were_silent_for_an_hour(owner: str) -> None:
    assert owner_lives(owner)
    assert owner_lives(owner, 3599.0)
    assert not owner_lives(owner, 3600.0)


def test_a_turn_that_another_machine_left_is_free_after_an_hour(timeline: Timeline) -> None:
    now = [1_900_000_000.0]
    recorder = Recorder(timeline, MemoryFiles(), MemoryArtifacts(), clock=lambda: now[0])
    turn = recorder.new_turn("elsewhere/7:1#1")
    recorder.prompt(turn, "Hello?")
    own = TurnTaking(recorder, None)
    now[0] += 3590
    assert own.left() is None
    now[0] += 20
    assert own.left() == turn
    assert own.take("Go.", (), {}) == "turn_2"


def test_of_two_who_take_turns_one_waits(timeline: Timeline) -> None:
    one, other = taking(timeline), taking(timeline)
    with one.having():
        assert one.take("Go.", (), {}) == "turn_1"
        assert other.left() is None
        with pytest.raises(TurnRunning):
            other.take("Go.", (), {})
        with pytest.raises(TurnRunning):
            other.interrupted()
        with pytest.raises(TurnRunning):
            other.take_over("turn_1")
        one.end("turn_1", ANSWERED, Usage())
        assert other.interrupted() is None
        with other.having():
            assert other.take("Go.", (), {}) == "turn_2"


def test_whoever_is_second_at_the_same_moment_sees_the_first(timeline: Timeline) -> None:
    one = taking(timeline)
    own: Any = Timeline(timeline.store, "talk")
    recorder = a_recorder(own)
    other = TurnTaking(recorder, None)
    append = own.append

    def late(blocks: Any, expected: int | None = None) -> Any:
        own.append = append
        one.take("Go.", (), {})
        return append(blocks, expected)

    own.append = late
    with one.having(), pytest.raises(TurnRunning):
        other.take("Go.", (), {})
    assert set(recorder.state.turns) == {"turn_1"}


def test_a_turn_that_was_left_is_ended_before_the_next(timeline: Timeline) -> None:
    a_recorder(timeline).new_turn(DEAD)
    one = taking(timeline)
    assert one.left() == one.interrupted() == "turn_1"
    assert one.take("Go.", (), {}) == "turn_2"
    state = a_recorder(timeline).state
    assert state.ended == {"turn_1": "interrupted"}
    assert open_turn(state) == "turn_2"


def test_a_turn_that_goes_on_is_not_over(timeline: Timeline) -> None:
    recorder = a_recorder(timeline)
    recorder.new_turn(DEAD)
    one = taking(timeline)
    one.end("turn_1", INTERRUPTED, Usage())
    assert interrupted_turn(recorder.state) == one.interrupted() == "turn_1"
    with one.having():
        one.take_over("turn_1")
        assert open_turn(recorder.state) == "turn_1"
        assert interrupted_turn(recorder.state) is None


def test_turns_of_no_owner_are_not_looked_at(timeline: Timeline) -> None:
    a_recorder(timeline).new_turn()
    assert taking(timeline).left() is None
    assert taking(timeline).take("Go.", (), {}) == "turn_2"


def test_two_timelines_of_one_name_are_two_in_a_journal(tmp_path: Path) -> None:
    keys: set[str] = set()
    for at in range(2):
        with Timeline.open(tmp_path / f"{at}.sqlite", "talk") as timeline:
            recorder = Recorder(timeline, MemoryFiles(), MemoryArtifacts(), clock=lambda at=at: at)
            keys.add(turn_key(recorder, recorder.new_turn(this_owner())))
    assert len(keys) == 2
    assert all(key.startswith("talk.turn_1.") for key in keys)


def begun(recorder: Recorder, journal: Journal, outcome: Outcome | None = None) -> None:
    """The call was begun, and perhaps ended, by a program that is gone."""
    turn = turn_key(recorder, "turn_1")
    journal.begin(Intent(key="k", turn=turn, call="c1", tool="act", input={}))
    if outcome is not None:
        journal.end("k", outcome)


def test_a_call_that_had_not_begun_may_still_run(timeline: Timeline, journal: Journal) -> None:
    recorder = a_recorder(timeline)
    recorder.started(recorder.new_turn(DEAD), CALL)
    assert taking(timeline, journal).take_over("turn_1") == ([], [CALL])
    (outcome,) = taking(timeline, journal).settle("turn_1")
    assert outcome.error
    assert outcome.error.code == "cancelled"
    assert taking(timeline, journal).settle("turn_1") == []


@pytest.mark.parametrize(
    "given", [{"path": "a.md", "content": "# A"}, {"token": "ghp_" + "a" * 36}]
)
def test_a_call_whose_input_is_not_all_there_does_not_run(
    timeline: Timeline, journal: Journal, given: dict[str, str]
) -> None:
    recorder = a_recorder(timeline)
    turn = recorder.new_turn(DEAD)
    recorder.started(turn, Call(id="c1", name="react.write", input=given))
    outcomes, left = taking(timeline, journal).take_over(turn)
    assert (len(outcomes), left) == (1, [])


def test_a_call_that_had_begun_is_indeterminate(timeline: Timeline, journal: Journal) -> None:
    recorder = a_recorder(timeline)
    recorder.started(recorder.new_turn(DEAD), CALL)
    begun(recorder, journal)
    (outcome,), left = taking(timeline, journal).take_over("turn_1")
    assert left == []
    assert outcome.error
    assert outcome.error.code == "indeterminate"
    assert recorder.state.has("tc:turn_1.c1.result")


def test_a_call_that_had_ended_has_its_outcome(timeline: Timeline, journal: Journal) -> None:
    recorder = a_recorder(timeline)
    recorder.started(recorder.new_turn(DEAD), CALL)
    done = Outcome(id="c1", name="act", output="done")
    begun(recorder, journal, done)
    assert taking(timeline, journal).take_over("turn_1") == ([done], [])


def test_calls_of_other_turns_are_left_alone(timeline: Timeline, journal: Journal) -> None:
    recorder = a_recorder(timeline)
    recorder.started("before", CALL)
    turn = recorder.new_turn(DEAD)
    recorder.started("between", CALL)
    assert taking(timeline, journal).settle(turn) == []
