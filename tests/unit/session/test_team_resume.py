from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from callblocks.core.errors import ModelError
from callblocks.core.events import (
    CallEnded,
    CallReady,
    Text,
    TurnEnded,
    TurnEvent,
)
from callblocks.models.model import Request
from callblocks.session.host import Host
from callblocks.session.model_choice import Attachment
from callblocks.session.team_file import Member
from callblocks.session.turn_lock import this_owner
from callblocks.timeline.recorder import Recorder
from support.scripted_sessions import Never, Replies, of_type, run_turn
from support.teams import calls, of_member, seen, some_team, team_host

LONG = ["word " * 300, Never]
"""A reply that is under way until its program ends."""


def _host(folder: Path, consensus: Replies, *members: Replies, **more: Any) -> Host:
    """A team of members `m1`, `m2`, … who may read and write files."""
    tools = ("file_read", "file_write")
    seats = [Member(name=f"m{at}", model=model, tools=tools) for at, model in enumerate(members, 1)]
    return team_host(folder, consensus, *seats, **more)


def _crash(host: Host, is_time: Callable[[list[TurnEvent]], bool], *files: Attachment) -> None:
    """Ask a team, and let it die when it is time: nothing is written any more."""

    async def go() -> None:
        events: list[TurnEvent] = []

        def tell(event: TurnEvent) -> None:
            events.append(event)
            if is_time(events):
                task.cancel()

        task = asyncio.ensure_future(some_team(host).run("Why?", files, tell=tell))
        with suppress(asyncio.CancelledError):
            await task
        assert is_time(events)

    with host, patch.object(Recorder, "end_turn", _nothing_for_the_dead(Recorder.end_turn)):
        asyncio.run(go())


def _nothing_for_the_dead(end_turn: Any) -> Any:
    """Only turns that were over before are marked as such."""

    def end(self: Recorder, turn: str, **meta: Any) -> Any:
        return [] if meta["status"] == "interrupted" else end_turn(self, turn, **meta)

    return end


def _resume(host: Host, *, settled: bool = False) -> list[TurnEvent]:
    async def go() -> list[TurnEvent]:
        events: list[TurnEvent] = []
        team = some_team(host)
        if settled:
            assert team.settle() is not None
        assert await team.resume(tell=events.append) is not None
        assert await team.resume(tell=events.append) is None
        return events

    with host:
        return asyncio.run(go())


def _second_talks(events: list[TurnEvent]) -> bool:
    """The first member is done, and the second is not."""
    return bool(of_type(of_member(events, "m1"), TurnEnded)) and len(of_member(events, "m2")) > 5


@pytest.mark.parametrize("settled", [False, True])
def test_a_member_that_was_done_is_not_asked_again(tmp_path: Path, settled: bool) -> None:
    notes = Attachment("notes.md", b"# Notes of mine")
    _crash(_host(tmp_path, Replies(), Replies("Done."), Replies(LONG)), _second_talks, notes)
    consensus, one, two = Replies("Both."), Replies("Again?"), Replies("Here I am.")
    events = _resume(_host(tmp_path, consensus, one, two), settled=settled)
    assert not one.requests
    assert len(two.requests) == 1
    assert "Why?" in seen(two.requests[0])
    assert "# Notes of mine" in seen(two.requests[0])
    sent = seen(consensus.requests[0])
    assert "Done." in sent
    assert "Here I am." in sent
    assert sent.count("Why?") == 1
    assert _ended(events) == "answered"


def test_a_member_that_had_not_begun_is_asked(tmp_path: Path) -> None:
    def first_talks(events: list[TurnEvent]) -> bool:
        return len(of_member(events, "m1")) > 5

    notes = Attachment("notes.md", b"# Notes of mine")
    _crash(_host(tmp_path, Replies(), Replies(LONG), Replies(), at_once=1), first_talks, notes)
    consensus, one, two = Replies("Both."), Replies("One."), Replies("Two.")
    events = _resume(_host(tmp_path, consensus, one, two))
    assert "# Notes of mine" in seen(two.requests[0])
    assert len(one.requests) == len(two.requests) == len(consensus.requests) == 1
    assert _ended(events) == "answered"


def test_a_member_whose_turn_was_only_taken_is_asked(tmp_path: Path) -> None:
    _crash(_host(tmp_path, Replies(), Replies("Done."), Replies(LONG)), _second_talks)
    host = _host(tmp_path, Replies("All."), Replies(), Replies(), Replies("Three."))
    with host:
        some_team(host).members[2].recorder.take_over("team_turn_1", this_owner())
    third, consensus = Replies("Three."), Replies("All.")
    _resume(_host(tmp_path, consensus, Replies(), Replies("Two."), third))
    assert "Why?" in seen(third.requests[0])
    assert "Three." in seen(consensus.requests[0])


def test_a_whole_answer_counts_though_its_turn_was_not_ended(tmp_path: Path) -> None:
    with _host(tmp_path, Replies(), Replies(), Replies()) as host:
        team = some_team(host)
        team.recorder.new_turn(this_owner())
        team.recorder.prompt("turn_1", "Why?")
        one = team.members[0].recorder
        one.take_over("team_turn_1", this_owner())
        one.prompt("team_turn_1", "Why?")
        one.completion("team_turn_1", "Because.")
    consensus, first = Replies("Both."), Replies("Again?")
    host = _host(tmp_path, consensus, first, Replies("Two."))
    events = _resume(host)
    assert not first.requests
    assert "Because." in seen(consensus.requests[0])
    assert _ended(events) == "answered"


def test_an_interrupted_member_that_did_something_else_since_is_not_asked(tmp_path: Path) -> None:
    _crash(_host(tmp_path, Replies(), Replies("Done."), Replies(LONG)), _second_talks)
    with _host(tmp_path, Replies(), Replies(), Replies()) as host:
        second = some_team(host).members[1]
        second.settle()
        asyncio.run(run_turn(second, "Something else"))
    consensus, two = Replies("Both."), Replies("Never.")
    _resume(_host(tmp_path, consensus, Replies(), two))
    assert not two.requests
    assert "m2 gave no whole answer: it was interrupted." in seen(consensus.requests[0])


def test_no_member_is_asked_again_once_the_one_answer_is_begun(tmp_path: Path) -> None:
    def consensus_talks(events: list[TurnEvent]) -> bool:
        return bool(of_type(of_member(events, ""), Text))

    _crash(_host(tmp_path, Replies(LONG), Replies("One."), Replies("Two.")), consensus_talks)
    consensus, one, two = Replies("Both."), Replies(), Replies()
    host = _host(tmp_path, consensus, one, two)
    events = _resume(host)
    assert not one.requests + two.requests
    sent = seen(consensus.requests[0])
    assert sent.count("One.") == sent.count("Two.") == 1
    assert _ended(events) == "answered"


def test_a_member_that_failed_before_is_not_asked_again(tmp_path: Path) -> None:
    gone = Replies(ModelError("model_unreachable", "nobody is there"))
    _crash(_host(tmp_path, Replies(), gone, Replies(LONG)), _second_talks)
    consensus, one = Replies("Both."), Replies("Back again.")
    _resume(_host(tmp_path, consensus, one, Replies("Two.")))
    assert not one.requests
    assert "m1 gave no whole answer: nobody is there." in seen(consensus.requests[0])


def test_a_call_that_a_member_left_ends_with_its_name(tmp_path: Path) -> None:
    def wrote(events: list[TurnEvent]) -> bool:
        return bool(of_type(events, CallReady))

    read = calls("file_read", "c1", path="a.txt")
    _crash(_host(tmp_path, Replies(), Replies(lambda _: [read, *LONG])), wrote)
    events = _resume(_host(tmp_path, Replies("Ok."), Replies(read, "Read.")))
    assert [event.outcome.id for event in of_type(events, CallEnded)] == ["m1/c1"]
    assert _ended(events) == "answered"


def test_another_prompt_leaves_the_interrupted_turn_behind(tmp_path: Path) -> None:
    _crash(_host(tmp_path, Replies(), Replies("Done."), Replies(LONG)), _second_talks)
    consensus, one, two = Replies("Both."), Replies("One."), Replies("Two.")
    with _host(tmp_path, consensus, one, two) as host:
        team = some_team(host)
        asyncio.run(run_turn(team, "And how?"))
        ended = [one.recorder.state.ended for one in (team, *team.members)]
    assert "And how?" in seen(one.requests[0])
    assert ended == [
        {"turn_1": "interrupted", "turn_2": "answered"},
        {"team_turn_1": "answered", "team_turn_2": "answered"},
        {"team_turn_1": "interrupted", "team_turn_2": "answered"},
    ]


def test_a_member_that_runs_elsewhere_is_left_alone(tmp_path: Path) -> None:
    consensus, one = Replies("Both."), Replies("One.")
    with _host(tmp_path, consensus, one, Replies("Two.")) as host:
        team = some_team(host)
        team.members[0].recorder.new_turn("another-machine/1:2")
        events = asyncio.run(run_turn(team, "Why?"))
        assert team.members[0].recorder.state.ended == {}
    assert not one.requests
    assert _ended(events) == "answered"
    words = "m1 gave no whole answer: turn_1 of trip.m1 runs elsewhere."
    assert words in seen(consensus.requests[0])


DYING = """
import asyncio, sys
from pathlib import Path
from support.scripted_sessions import Replies, run_turn
from support.teams import some_team, team_host
from callblocks.session.team_file import Member

members = [
    Member(name="m1", model=Replies("Done.")),
    Member(name="m2", model=Replies("word " * 100_000, wait=0.001)),
]

def tell(event):
    if event.member == "m1" and type(event).__name__ == "TurnEnded":
        print("now", flush=True)

with team_host(Path(sys.argv[1]), Replies(), *members) as host:
    asyncio.run(some_team(host).run("Why?", tell=tell))
"""


def test_a_program_that_was_killed_is_gone_on_with(tmp_path: Path) -> None:
    tests = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", DYING, tmp_path], cwd=tests, stdout=subprocess.PIPE, text=True
    ) as dying:
        assert dying.stdout is not None
        assert dying.stdout.readline() == "now\n"
        dying.send_signal(signal.SIGKILL)
    consensus, one, two = Replies("Both."), Replies("Again?"), Replies("Here I am.")
    events = _resume(_host(tmp_path, consensus, one, two))
    assert not one.requests
    assert _requested(consensus.requests, "Done.", "Here I am.")
    assert _ended(events) == "answered"


def _requested(requests: list[Request], *words: str) -> bool:
    (request,) = requests
    return all(word in seen(request) for word in words)


def _ended(events: list[TurnEvent]) -> str:
    (ended,) = of_type(of_member(events, ""), TurnEnded)
    return ended.status
