"""Joined, the events of a text do not tell how it was cut."""

from __future__ import annotations

from callblocks.core.events import CallInput, CallStarted, Event, Reasoning, Text, join


def test_neighbours_of_one_kind_are_joined() -> None:
    events: list[Event] = [
        Text("a", (0, 1)),
        Text("", (1, 3)),
        Text("b", (3, 4)),
        Reasoning("c", (4, 5)),
        Reasoning("d", (5, 6)),
        Text("e", (6, 7)),
    ]
    assert join(events) == [Text("ab", (0, 4)), Reasoning("cd", (4, 6)), Text("e", (6, 7))]


def test_the_input_of_two_calls_is_not_joined() -> None:
    events: list[Event] = [
        CallStarted(0, "a", "ls", (0, 1)),
        CallInput(0, "x", (1, 2)),
        CallInput(0, "y", (2, 3)),
        CallInput(1, "z", (3, 4)),
    ]
    assert join(events) == [events[0], CallInput(0, "xy", (1, 3)), CallInput(1, "z", (3, 4))]


def test_nothing_joined_is_nothing() -> None:
    assert join([]) == []
