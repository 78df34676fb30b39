"""Update of the mail index: only new files are read.

Maildir files never change, they are only renamed, so a known unique name needs no second reading.
Files are read outside of any transaction and written to the index two hundred at a time: another
process waits no longer than one batch takes, and an interrupted refresh keeps its progress.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from itertools import islice

import msgspec

from callblocks.toolkits.workspace.local.mail_box import MailBox, MailFile
from callblocks.toolkits.workspace.local.mail_entry import Entry, read_entry
from callblocks.toolkits.workspace.local.mail_resource import Damaged
from callblocks.toolkits.workspace.local.mail_rows import (
    add_entry,
    add_fault,
    forget,
    move,
    places_of,
    writing,
)

__all__ = ("refresh",)

_AT_ONCE = 200


class _Fault(msgspec.Struct, frozen=True):
    stamp: str
    words: str


def refresh(index: sqlite3.Connection, box: MailBox) -> None:
    """Bring the index up to date with the mailbox."""
    state = box.state() or ""
    mended = _mended(index, box)
    if mended:
        with writing(index):
            forget(index, mended)
    elif state and _is_noted(index, state):
        return
    # The index is read before the folder. A message that another process adds in between is then
    # new; in the other order it would seem gone and be forgotten.
    known, there = places_of(index), box.places()
    gone = [MailFile(place) for place in known - there]
    fresh = [MailFile(place) for place in sorted(there - known)]
    if gone or fresh:
        _add(index, box, _moved(index, gone, fresh))
    if state:
        _note(index, state)


def _moved(
    index: sqlite3.Connection, gone: list[MailFile], fresh: list[MailFile]
) -> list[MailFile]:
    """Forget vanished files and rename moved ones; return the files that are really new."""
    again = {file.unique for file in gone} & {file.unique for file in fresh}
    with writing(index):
        moved = {file.unique for file in fresh if file.unique in again and move(index, file)}
        forget(index, [file for file in gone if file.unique not in moved])
    return [file for file in fresh if file.unique not in moved]


def _is_noted(index: sqlite3.Connection, state: str) -> bool:
    return index.execute("SELECT 1 FROM state WHERE value = ?", (state,)).fetchone() is not None


def _mended(index: sqlite3.Connection, box: MailBox) -> list[MailFile]:
    """Return damaged files that were changed since they were read."""
    rows = index.execute("SELECT place, stamp FROM fault").fetchall()
    known = [(MailFile(os.fsdecode(place)), stamp) for place, stamp in rows]
    return [file for file, stamp in known if box.stamp(file) != stamp]


def _add(index: sqlite3.Connection, box: MailBox, fresh: list[MailFile]) -> None:
    left = iter(fresh)
    while batch := list(islice(left, _AT_ONCE)):
        read = [(file, _read(box, file)) for file in batch]
        with writing(index):
            for file, found in read:
                if isinstance(found, Entry):
                    add_entry(index, file, found)
                elif found is not None:
                    add_fault(index, file, found.stamp, found.words)


def _read(box: MailBox, file: MailFile) -> Entry | _Fault | None:
    stamp = box.stamp(file)
    try:
        raw, status = box.read(file)
        return read_entry(file, raw, status)
    except FileNotFoundError:
        return None  # renamed meanwhile: the next call finds it
    except Damaged as damaged:
        return _Fault(stamp, str(damaged))
    except OSError as error:
        if error.errno == errno.ELOOP:
            return _Fault(stamp, "it is a link, and links are not followed")
        return _Fault(stamp, error.strerror or "it cannot be read")


def _note(index: sqlite3.Connection, state: str) -> None:
    """Record the state of the folders that the index now reflects."""
    with writing(index):
        index.execute("DELETE FROM state")
        index.execute("INSERT INTO state VALUES (?)", (state,))
