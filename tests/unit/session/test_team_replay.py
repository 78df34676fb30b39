from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from callblocks.core.blocks import Entry
from callblocks.core.events import (
    ModelWrote,
    Text,
    TurnBegan,
)
from callblocks.session.team import replay_of
from callblocks.session.team_file import Member
from callblocks.views.replay import replayed
from support.scripted_sessions import Replies, run_turn
from support.teams import some_team, team_host


def test_members_are_told_of_before_their_team(tmp_path: Path) -> None:
    members = [Member(name=name, model=Replies("First.", "Second.")) for name in ("one", "two")]
    read: list[str] = []
    with team_host(tmp_path, Replies("Both.", "Again."), *members) as host:
        team = some_team(host)
        for prompt in ("Go", "Go on"):
            asyncio.run(run_turn(team, prompt))

        def entries(name: str) -> Iterator[Entry]:
            read.append(name)
            return host.store.entries(name)

        events = list(replay_of(host.settings.team, "trip", entries)(host.store.entries("trip")))
        for turn in ("turn_1", "turn_2"):
            at = events.index(TurnBegan(turn=turn)) + 1
            told = list(team.replayed(turn))
            assert events[at : at + len(told)] == told
    assert [
        (one.member, one.event.text)
        for one in events
        if isinstance(one, ModelWrote) and isinstance(one.event, Text)
    ] == [
        ("one", "First."),
        ("two", "First."),
        ("", "Both."),
        ("one", "Second."),
        ("two", "Second."),
        ("", "Again."),
    ]
    assert read == ["trip.one", "trip.two"]


def test_without_a_team_a_timeline_says_all() -> None:
    assert replay_of(None, "trip", lambda _: ()) is replayed
