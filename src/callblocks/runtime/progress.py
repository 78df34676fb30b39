"""What a runtime says while calls run, before their outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from callblocks.model.calls import Call
from callblocks.model.outcomes import Failure
from callblocks.runtime.weighed import Weighed

__all__ = ("Began", "Judged", "Listener", "Progress", "Said")


class Judged(msgspec.Struct, frozen=True):
    """What the policy says of a call, or why it cannot run whatever the policy says."""

    call: Call
    verdict: Weighed | Failure


class Began(msgspec.Struct, frozen=True):
    """A call was allowed, and its tool runs now."""

    id: str


class Said(msgspec.Struct, frozen=True):
    """A running tool shows text; it is not its output."""

    id: str
    text: str


Progress: TypeAlias = Judged | Began | Said
Listener: TypeAlias = Callable[[Progress], None]
