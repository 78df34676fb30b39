"""Files beside an SQLite database: a journal there must come from the database's own writers.

    tasks.sqlite
    tasks.sqlite-journal     rolled back by the next process that opens the file, even for reading

A rollback journal can name a super-journal, the journal of a transaction over several databases.
SQLite deletes that file after the rollback, wherever it lies. An attacker who can put a journal
beside a database could thus delete any file of the user. Our databases are written one by one, and
our journals never name another file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ("foreign_journal",)

_BESIDE = ("-journal", "-wal", "-shm")
# The magic number of a journal header. A journal that ends with it names a super-journal.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")


def foreign_journal(path: Path | str) -> str:
    """Return a fault of the files beside an SQLite file, worded to follow its name; "" if there is
    none.
    """
    for ending in _BESIDE:
        place = f"{path}{ending}"
        try:
            # NOFOLLOW: a link could point to any file. NONBLOCK: opening a pipe must not hang.
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
