"""Events of a runtime while calls run, before their outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from callblocks.model.calls import Call
from callblocks.model.outcomes import Failure
from callblocks.runtime.weighed import Weighed

__all__ = ("Began", "Judged", "Listener", "Progress", "Said")


class Judged(msgspec.Struct, frozen=True):
    """The policy's judgement of a call, or the failure that stops it whatever the policy says."""

    call: Call
    verdict: Weighed | Failure


class Began(msgspec.Struct, frozen=True):
    """A call was allowed, and its tool has started."""

    id: str


class Said(msgspec.Struct, frozen=True):
    """Text that a running tool shows; it is not its output."""

    id: str
    text: str


Progress: TypeAlias = Judged | Began | Said
Listener: TypeAlias = Callable[[Progress], None]
