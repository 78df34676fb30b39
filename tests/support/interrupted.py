"""A program that commits while it is interrupted at random moments.

It says how often it was hit; what is not as it should be afterwards is an `AssertionError`.
"""

from __future__ import annotations

import random
import signal
import sys

from callblocks.timeline.log.group_commit import AppendRequest, GroupCommit

__all__ = ("main",)


def main() -> int:
    """How often the interrupt came."""
    own = GroupCommit(_commit)
    chance = random.Random(7)
    signal.signal(signal.SIGALRM, _interrupt)
    hits = 0
    for _ in range(4000):
        try:
            assert not own._lock.locked()
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, 8e-5))
            for _ in range(20):
                own.run(AppendRequest("talk", [b"{}"], None, 2))
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.getsignal(signal.SIGALRM)  # One that is still on its way arrives here.
        except KeyboardInterrupt:
            hits += 1
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    assert own.run(AppendRequest("talk", [b"{}"], None, 2)) == []
    assert not own._waiting
    return hits


def _commit(batch: list[AppendRequest]) -> None:
    for one in batch:
        one.entries = []


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.stdout.write(str(main()))
