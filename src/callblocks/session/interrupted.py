"""Ownership of turns, and detection of turns whose owner is gone.

host/4711:88123        a process: host name, process id and start time
host/4711:88123#3      one session of that process

A turn is owned from the block that begins it to the block that ends it. It counts as left if its
process is dead, or if the process lives but this session does not run it (`_HERE`). The start time
tells a process from a later one with the same id. Liveness on another machine cannot be observed:
there the silence of the timeline decides.
"""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count

from callblocks.runtime.processes import lives, this_process
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.state import State

__all__ = (
    "having_turn",
    "interrupted_turn",
    "new_owner",
    "open_turn",
    "owner_lives",
    "this_owner",
    "turn_key",
)

# Seconds without a block after which a process on another machine loses its turn.
_SILENT = 3600.0
_NUMBERS = count(1)
# The sessions of this process that own a turn.
_HERE: set[str] = set()


def this_owner() -> str:
    """Return the owner that names this process on this machine."""
    return f"{socket.gethostname()}/{this_process()}"


def new_owner() -> str:
    """Return a new owner that names one session of this process."""
    return f"{this_owner()}#{next(_NUMBERS)}"


@contextmanager
def having_turn(owner: str) -> Generator[None, None, None]:
    """Register a session as the owner of a turn for the duration of the block."""
    _HERE.add(owner)
    try:
        yield
    finally:
        _HERE.discard(owner)


def owner_lives(owner: str, silent: float = 0.0) -> bool:
    """Return whether the owner still has its turn; `silent` is the seconds since its last block.

    Another machine, or a container that had another name, cannot be checked: its owner counts as
    alive until the timeline was silent for an hour.
    """
    host, _, process = owner.partition("#")[0].rpartition("/")
    if host != socket.gethostname():
        return silent < _SILENT
    if process == this_process():
        return owner in _HERE
    try:
        return lives(process)
    except ValueError:
        return False


def open_turn(state: State) -> str | None:
    """Return the turn that was begun last and names an owner, if it is not over."""
    turn = next(reversed(state.owners), None)
    return None if turn in state.ended else turn


def interrupted_turn(state: State) -> str | None:
    """Return the turn that was begun last, if it is marked as interrupted."""
    turn = next(reversed(state.owners), "")
    return turn if state.ended.get(turn) == "interrupted" else None


def turn_key(recorder: Recorder, turn: str) -> str:
    """Return the key of a turn in the journal, which many timelines share.

    The hash tells apart timelines of the same name in different stores.
    """
    first = recorder.state.turns[turn]
    (entry,) = recorder.timeline.entries(after=first - 1, limit=1)
    return f"{recorder.timeline.name}.{turn}.{entry.hash[:16]}"
