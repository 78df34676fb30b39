"""Records of which reader was asked to read which opener, to explain why a text was read so."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ("FOUND", "Attempt", "Refusal")

# The number of characters of the text that a refusal quotes.
FOUND = 20


class Refusal(NamedTuple):
    """The reason of a refusal: the text that was expected at an offset, and the text found there.

    `found` is a few characters, as many as had arrived; `""` is the end of the text.
    """

    expected: str
    found: str
    offset: int


class Attempt:
    """One reader that was asked to read an opener; `refusal` is None if it accepted the block."""

    __slots__ = ("marker", "offset", "owner", "refusal")

    def __init__(self, owner: str, marker: str, offset: int) -> None:
        self.owner = owner
        self.marker = marker
        self.offset = offset
        self.refusal: Refusal | None = None

    def to_record(self) -> dict[str, object]:
        """Return the attempt as a JSON-like record; `refusal` is null if the block was accepted."""
        refusal = None if self.refusal is None else self.refusal._asdict()
        head = {"type": "attempt", "dialect": self.owner, "marker": self.marker}
        return {**head, "offset": self.offset, "refusal": refusal}
