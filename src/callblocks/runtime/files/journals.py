"""What lies beside an SQLite file: its journal must be one that this file's own writers left.

    tasks.sqlite
    tasks.sqlite-journal     played back by whoever opens the file next, also only to read

A journal can name another file, the journal of a change to several databases at once. SQLite
deletes that file after playing back, wherever it lies: who can put a journal beside a database
could so delete any file of the user. Our databases are written one by one, and never name one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ("foreign_journal",)

_BESIDE = ("-journal", "-wal", "-shm")
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")


def foreign_journal(path: Path | str) -> str:
    """What is wrong beside an SQLite file, for a sentence that starts with its name; or ""."""
    for ending in _BESIDE:
        place = f"{path}{ending}"
        try:
            opened = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            continue
        except OSError:
            return f"{os.path.basename(place)} beside it is no file that can be read; delete that"
        with open(opened, "rb") as file:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode):
                return f"{os.path.basename(place)} beside it is no file; delete that"
            file.seek(max(0, status.st_size - len(_NAMES_ANOTHER)))
            if file.read() == _NAMES_ANOTHER:
                return f"{os.path.basename(place)} beside it names another file; delete that"
    return ""
