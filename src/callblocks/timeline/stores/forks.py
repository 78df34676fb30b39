"""Protection against forks: a store belongs to the process that opened it.

A fork copies locks that another thread may hold, and connections that the parent continues to use.
So a store refuses to work in a child, which must open one of its own. With SQLite it cannot even do
that while the parent had the same file open: the library counts the locks of a file per process,
and would take the parent's for its own. Such a child must be started afresh (`subprocess`, or
`spawn` in `multiprocessing`), or forked before the store is opened.
"""

from __future__ import annotations

import os
from pathlib import Path
from weakref import WeakSet

from callblocks.model.errors import TimelineError

__all__ = ("Owned", "check_not_inherited")

_ADVICE = "open it after the fork, or start the process with spawn"


class Owned:
    """An object that only the process which made it may use."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        _owned.add(self)

    @property
    def is_inherited(self) -> bool:
        """Return whether another process made it, and this one is its child."""
        return os.getpid() != self._owner

    def check_owner(self) -> None:
        """Refuse to be used in a child."""
        if self.is_inherited:
            raise TimelineError(
                "store_unavailable", f"this timeline store was opened before a fork: {_ADVICE}"
            )

    def files(self) -> tuple[Path, ...]:
        """Return the files that a child must not open while the parent's are in its memory."""
        return ()


_owned: WeakSet[Owned] = WeakSet()
_inherited_files: set[tuple[int, int]] = set()


def check_not_inherited(path: Path) -> None:
    """Refuse to open a file that was open when this process was forked."""
    if _inherited_files and _key(path) in _inherited_files:
        raise TimelineError(
            "store_unavailable",
            f"timeline store {path} was open when this process was forked: {_ADVICE}",
            path=str(path),
        )


def _key(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _inherit() -> None:
    """Mark, in a child, what the parent has open: it is never used, and never closed either.

    Closing it would end a transaction of the parent, in memory that both share. The reference count
    is raised for good, so that the garbage collector never closes it.
    """
    if not _owned:
        return
    import ctypes

    # The set is weak and may change while it is iterated, hence the copy.
    for owned in tuple(_owned):
        _inherited_files.update(key for file in owned.files() if (key := _key(file)))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owned))


os.register_at_fork(after_in_child=_inherit)
