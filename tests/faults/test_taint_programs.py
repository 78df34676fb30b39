"""Text of others never leaves unasked, whatever way it takes: random programs with restarts.

`CALLBLOCKS_PROGRAMS=50000` plays that many; `docs/runtime.md` has what came of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from support.canaries import Tally, play

PROGRAMS = int(os.environ.get("CALLBLOCKS_PROGRAMS", "200"))
PARTS = 4
WHOLE = 4
"""Programs with a model, a dialect and `SIGKILL`, which take much longer."""


def played(seeds: range, *, whole: bool) -> Tally:
    """Play programs; each has a disk of its own, in memory where that can be had."""
    tally, failures = Tally(), list[str]()
    for seed in seeds:
        quick = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        folder = tempfile.mkdtemp(prefix="callblocks-canaries-", dir=quick)
        try:
            failures += play(Path(folder) / "world", seed, tally, whole=whole)
        finally:
            shutil.rmtree(folder)
    assert failures == []
    return tally


@pytest.mark.parametrize("part", range(PARTS))
def test_what_may_leave_with_text_of_others_is_asked(part: int) -> None:
    tally = played(range(part, PROGRAMS, PARTS), whole=False)
    # It is no law that holds because everything is asked, or because nothing happens.
    assert tally["outward unasked"] > 0
    assert tally["outward with a canary"] > tally["turns"] / 4


def test_it_holds_for_sessions_that_are_killed() -> None:
    tally = played(range(WHOLE), whole=True)
    assert tally["killed"] > 0
    assert tally["resumed"] > 0
    assert tally["outward with a canary"] > 0
