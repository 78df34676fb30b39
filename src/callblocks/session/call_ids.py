"""Ids of calls on a timeline, assigned as soon as the model's text allows it.

An id that the model wrote and that is new in the turn is kept. An id is replaced by `tc_` and
twelve hex digits if the parser made it up (`tool-call-1`), if the turn has used it already, or if a
path cannot hold it. From then on the model, too, sees only the new id.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from callblocks.model.paths import call_segment

__all__ = ("CallIds", "random_id")


def random_id() -> str:
    """Return a random id."""
    return f"tc_{secrets.token_hex(6)}"


class CallIds:
    """Assigns ids within one turn; `is_taken` tells which ids the timeline has."""

    def __init__(
        self, turn: str, is_taken: Callable[[str], bool], make: Callable[[], str] = random_id
    ) -> None:
        self._turn = turn
        self._is_taken = is_taken
        self._make = make
        self._given: set[str] = set()

    def give(self, said: str) -> str:
        """Return the id for a call that has the id `said` in the model's text."""
        id = said if self._is_free(said) else self._make()
        self._given.add(id)
        return id

    def _is_free(self, said: str) -> bool:
        # The recorder writes the id as one segment of a path. If that segment would differ, the id
        # that the model uses and the path on the timeline would not match.
        if call_segment(self._turn, said) != said or said in self._given:
            return False
        return not self._is_taken(said)
