"""Who was asked to read a block, for people who want to know why a text was read as it was."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ("FOUND", "Attempt", "Refusal")

# How many characters of the text a refusal quotes.
FOUND = 20


class Refusal(NamedTuple):
    """Why a block was refused: what was expected at an offset, and how the text goes on there.

    `found` is as much of the text as had arrived, a few characters; `""` is the end of the text.
    """

    expected: str
    found: str
    offset: int


class Attempt:
    """One owner of a marker was asked; `refusal` is None if it took the block."""

    __slots__ = ("marker", "offset", "owner", "refusal")

    def __init__(self, owner: str, marker: str, offset: int) -> None:
        self.owner = owner
        self.marker = marker
        self.offset = offset
        self.refusal: Refusal | None = None

    def to_record(self) -> dict[str, object]:
        """Return what a program may want to know of it; `refusal` is null if it took the block."""
        refusal = None if self.refusal is None else self.refusal._asdict()
        head = {"type": "attempt", "dialect": self.owner, "marker": self.marker}
        return {**head, "offset": self.offset, "refusal": refusal}
