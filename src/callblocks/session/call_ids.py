"""The id of a call on its timeline, known as early as the model's text allows.

A model that numbers its calls writes ids that are new in the turn: they stay. One that a parser
made (`tool-call-1`), that was used before, or that no path can hold is replaced by `tc_` and twelve
hex digits. From then on the model, too, sees that id only.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from callblocks.model.paths import call_segment

__all__ = ("CallIds", "random_id")


def random_id() -> str:
    """An id that no call had."""
    return f"tc_{secrets.token_hex(6)}"


class CallIds:
    """Gives ids within one turn; `is_taken` says which the timeline has."""

    def __init__(
        self, turn: str, is_taken: Callable[[str], bool], make: Callable[[], str] = random_id
    ) -> None:
        self._turn = turn
        self._is_taken = is_taken
        self._make = make
        self._given: set[str] = set()

    def give(self, said: str) -> str:
        """The id for a call that the text calls so."""
        id = said if self._is_free(said) else self._make()
        self._given.add(id)
        return id

    def _is_free(self, said: str) -> bool:
        if call_segment(self._turn, said) != said or said in self._given:
            return False
        return not self._is_taken(said)
