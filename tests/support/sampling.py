"""Samples of what a law would otherwise try in full: the same ones in each run.

    for text in sample(texts, of=4, seed="hermes"):
        ...

A law that holds for each dialect and each text of the corpus costs their product, and its cases
repeat each other. `sample` keeps each n-th of them. The seed moves where it begins, so that two
dialects that sample the same list try different parts of it. Only texts and places are sampled:
each dialect is tried in each run. `share` is the same for a number of random examples.
`CALLBLOCKS_FULL=1` tries all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

__all__ = ("FULL", "sample", "share")

T = TypeVar("T")
FULL = os.environ.get("CALLBLOCKS_FULL", "") == "1"
"""Whether laws try all that they have."""


def sample(items: Sequence[T], *, of: int, seed: str | int) -> Sequence[T]:
    """Return each `of`-th item, from a first one that depends on the seed; all with `FULL`."""
    if FULL:
        return items
    first = seed if isinstance(seed, int) else crc32(seed.encode())
    return items[first % min(of, max(1, len(items))) :: of]


def share(count: int, *, of: int) -> int:
    """Return how many of so many random examples are tried: one in `of`; all with `FULL`."""
    return count if FULL else max(1, count // of)
