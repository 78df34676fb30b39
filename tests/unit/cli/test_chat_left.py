from __future__ import annotations

from callblocks.cli.chat.chat_turn import after_known, left_events
from callblocks.core.events import (
    CallReady,
    CallStarted,
    RoundBegan,
    Text,
    TurnBegan,
    TurnEvent,
)
from support.model_events import model_said, read_events, unplaced
from support.sample_timelines import called, ended, entries, gave, said

LEFT = entries(
    [
        said("assistant.completion", "Before."),
        said("user.prompt", "Go on.", turn="turn_2", author="user"),
        said("react.notes", "I add.", turn="turn_2"),
        called("c1", turn="turn_2", a=1),
        *gave("c1", "1", turn="turn_2"),
        called("c2", turn="turn_2", a=2),
        ended("interrupted", turn="turn_2"),
    ]
)


def test_what_the_timeline_has_of_a_turn_is_known_by_keys_of_its_own() -> None:
    events = left_events(LEFT, "turn_2")
    assert unplaced(events[:2]) == [RoundBegan(number=1), model_said(text="I add.")]
    calls = read_events(events, CallStarted, CallReady)
    assert [call.index for call in calls] == [-2, -2, -3, -3]
    assert not any(isinstance(event, TurnBegan) for event in events)
    assert events[-1] == model_said(text="\n")


def test_where_no_turn_was_left_nothing_is_known() -> None:
    assert left_events(LEFT, None) == []
    assert left_events(LEFT, "turn_3") == []


def test_what_is_known_is_told_once_the_turn_goes_on() -> None:
    told: list[TurnEvent] = []
    tell = after_known([model_said(text="known")], told.append)
    assert told == []
    tell(TurnBegan(turn="turn_2", member="reader"))
    tell(TurnBegan(turn="turn_2"))
    tell(model_said(text="new"))
    tell(TurnBegan(turn="turn_2"))
    assert [event.text for event in read_events(told, Text)] == ["known", "new"]
    assert isinstance(told[1], TurnBegan)
