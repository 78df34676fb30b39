"""Turns that are numbered."""

from __future__ import annotations

import pytest

from callblocks.timeline.recorder import next_turn


@pytest.mark.parametrize(
    ("taken", "turn"),
    [
        ([], "turn_1"),
        (["turn_1", "turn_3"], "turn_4"),
        (["turn_01", "turn_0", "turn", "odd", "turn_2x", ""], "turn_1"),
        (["turn_9", "turn_10"], "turn_11"),
    ],
)
def test_a_turn_comes_after_all_that_are_taken(taken: list[str], turn: str) -> None:
    assert next_turn(taken) == turn
