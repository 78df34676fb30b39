"""Who has a turn, and which turn was left: by a program that died, or by a session that gave up.

host/4711:88123        a program on a machine
host/4711:88123#3      one of its sessions, which has the turn as long as it runs there
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

_SILENT = 3600.0
"""Seconds without a block after which a program on another machine has its turn no more."""
_NUMBERS = count(1)
_HERE: set[str] = set()
"""The sessions of this program that have a turn."""


def this_owner() -> str:
    """This program, on this machine."""
    return f"{socket.gethostname()}/{this_process()}"


def new_owner() -> str:
    """A session of this program."""
    return f"{this_owner()}#{next(_NUMBERS)}"


@contextmanager
def having_turn(owner: str) -> Generator[None, None, None]:
    """Say that a session has a turn, while it does."""
    _HERE.add(owner)
    try:
        yield
    finally:
        _HERE.discard(owner)


def owner_lives(owner: str, silent: float = 0.0) -> bool:
    """Whether somebody still has the turn that they took, and was `silent` in for some seconds.

    Of another machine nobody knows, or of a container that had another name: it counts as alive
    until it was silent for an hour.
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
    """The turn that was taken last by a program that said so, if it is not over."""
    turn = next(reversed(state.owners), None)
    return None if turn in state.ended else turn


def interrupted_turn(state: State) -> str | None:
    """The turn that was taken last, if it was marked as interrupted."""
    turn = next(reversed(state.owners), "")
    return turn if state.ended.get(turn) == "interrupted" else None


def turn_key(recorder: Recorder, turn: str) -> str:
    """The turn as a journal knows it, in which many timelines meet, also of the same name."""
    first = recorder.state.turns[turn]
    (entry,) = recorder.timeline.entries(after=first - 1, limit=1)
    return f"{recorder.timeline.name}.{turn}.{entry.hash[:16]}"
