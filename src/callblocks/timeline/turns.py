"""Numbered turns: `turn_1`, `turn_2`, …

A program may name its turns freely. Numbered ones continue after the highest number in use, so that
no number ever means two turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ("next_turn",)

_TURN = re.compile(r"turn_([1-9][0-9]{0,17})")


def next_turn(taken: Iterable[str]) -> str:
    """Return the turn after all that are taken."""
    numbers = (_TURN.fullmatch(turn) for turn in taken)
    return f"turn_{1 + max((int(number[1]) for number in numbers if number), default=0)}"
