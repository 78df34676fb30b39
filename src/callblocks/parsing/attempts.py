"""Who was asked to read a block, for people who want to know why a text was read as it was."""

from __future__ import annotations

__all__ = ("Attempt",)


class Attempt:
    """One owner of a marker was asked. `refused_after` is what it had read when it refused."""

    __slots__ = ("marker", "offset", "owner", "refused_after")

    def __init__(self, owner: str, marker: str, offset: int) -> None:
        self.owner = owner
        self.marker = marker
        self.offset = offset
        self.refused_after: str | None = None
