"""The tasks of the local office in `office/tasks.sqlite`, readable with the `sqlite3` shell.

    lists   id, title, position, updated
    tasks   id, list, title, notes, due, status, completed, parent, position, deleted, updated

A deleted task stays with `deleted` = 1; set it to 0 to restore it.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.local.database import damaged, database, make_database

__all__ = ("DEFAULT_TITLE", "TASKS", "TaskFile", "new_id", "now")

# The file in the folder of the office.
TASKS = "tasks.sqlite"

# The title of the initial list.
DEFAULT_TITLE = "My Tasks"

_SCHEMA = """
create table if not exists lists (
    id text primary key,
    title text not null,
    position integer not null,
    updated text not null
) strict;
create table if not exists tasks (
    id text primary key,
    list text not null references lists (id),
    title text not null,
    notes text not null default '',
    due text not null default '',
    status text not null default 'needsAction' check (status in ('needsAction', 'completed')),
    completed text not null default '',
    parent text not null default '',
    position text not null,
    deleted integer not null default 0,
    updated text not null
) strict;
create index if not exists tasks_in_order on tasks (list, deleted, parent, position);
"""


class TaskFile:
    """The file, which is created by the first write."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / TASKS

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection | None]:
        """Open the file for reading; `None` if it does not exist."""
        if not self._is_there():
            yield None
            return
        with database(self._path) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Open the file for writing; create it with its first list if needed."""
        if not self._is_there():
            self._make()
        with database(self._path, write=True) as connection:
            if connection.execute("select 1 from lists").fetchone() is None:
                connection.execute(
                    "insert into lists values (?, ?, 0, ?)", (new_id(), DEFAULT_TITLE, now())
                )
            yield connection

    def _is_there(self) -> bool:
        if self._path.parent.is_symlink():
            raise damaged(self._path.parent, "it is a link, and links are not followed")
        if self._path.is_symlink():
            raise damaged(self._path, "it is a link, and links are not followed")
        try:
            return self._path.stat().st_size > 0
        except FileNotFoundError:
            return False

    def _make(self) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_database(self._path, _SCHEMA)
        except OSError as error:
            why = f"the tasks cannot be kept: {error.strerror or error}"
            raise ToolError("file_error", why) from error


def new_id() -> str:
    """An id that nothing else has."""
    return secrets.token_urlsafe(16)


def now() -> str:
    """This moment, as Google writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
