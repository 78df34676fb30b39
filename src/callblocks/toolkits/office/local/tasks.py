"""Task lists of the local office."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.origins import Origins
from callblocks.toolkits.office.backend import Json, Page
from callblocks.toolkits.office.local.database import damaged, database, make_database
from callblocks.toolkits.office.tools.task_tools import day_start

__all__ = (
    "DEEPEST",
    "DEFAULT_TITLE",
    "SELECT",
    "TASKS",
    "LocalTasks",
    "TaskFile",
    "change_task",
    "found_task",
    "list_id_of",
    "list_of",
    "make_place",
    "new_id",
    "no_task",
    "now",
    "offset_of",
    "page_of",
    "position_of",
    "require_default",
    "task_of",
)

# --- The tasks of the local office in `office/tasks.sqlite`, readable with the `sqlite3` shell ---
#
#     lists   id, title, position, updated
#     tasks   id, list, title, notes, due, status, completed, parent, position, deleted, updated
#
# A deleted task stays with `deleted` = 1; set it to 0 to restore it.

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


# --- Tasks and lists in the tables of the local office, and as Google's resources ---

# Maximum depth of nested tasks.
DEEPEST = 100

_DEPTH = """
with recursive above (id, depth) as (
    select id, 1 from tasks where id = ?
    union all
    select tasks.parent, depth + 1 from tasks join above using (id)
    where tasks.parent != '' and depth < ?
)
select ifnull(max(depth), 0) from above
"""
_FIELDS = ("id", "title", "notes", "due", "status", "completed", "parent", "position", "updated")
# The fields of a task, as `task_of` takes them.
SELECT = f"select {', '.join(f'tasks.{name}' for name in _FIELDS)}, tasks.deleted"


def list_id_of(connection: sqlite3.Connection, given: str) -> str:
    """Resolve a list id, where `@default` is the first list; "" if that does not exist yet."""
    if given == "@default":
        found = connection.execute("select id from lists order by position, id limit 1")
    else:
        found = connection.execute("select id from lists where id = ?", (given,))
    row = found.fetchone()
    if row is not None:
        return row[0]
    require_default(given)
    return ""  # there is none yet: it is made by the first write


def found_task(connection: sqlite3.Connection, owner: str, task_id: str) -> Json:
    """Return a task of a list, also a deleted one; `not_found` if there is none."""
    row = connection.execute(
        f"{SELECT} from tasks where list = ? and id = ?", (owner, task_id)
    ).fetchone()
    if row is None:
        raise no_task(task_id)
    return task_of(row)


def make_place(connection: sqlite3.Connection, owner: str, parent: str, previous: str) -> int:
    """Return the position of a new task among its siblings, and shift those after it."""
    _require_shallow(connection, parent)
    place = 0
    if previous:
        before = found_task(connection, owner, previous)
        if before.get("parent", "") != parent:
            why = f"{brief(previous)} has another parent; `previous` is a task beside the new one"
            raise ToolError("invalid_input", why, previous=why)
        position = before["position"]
        place = int(position) + 1 if position.isdecimal() else 0
    connection.execute(
        "update tasks set position = printf('%020d', cast(position as integer) + 1) "
        "where list = ? and parent = ? and position >= ?",
        (owner, parent, position_of(place)),
    )
    return place


def _require_shallow(connection: sqlite3.Connection, parent: str) -> None:
    """Refuse a task that would be too deep to be listed."""
    (depth,) = connection.execute(_DEPTH, (parent, DEEPEST)).fetchone()
    if depth >= DEEPEST:
        why = f"tasks are at most {DEEPEST} deep; choose a parent nearer to the top"
        raise ToolError("invalid_input", why, parent=why)


def change_task(connection: sqlite3.Connection, task_id: str, changes: Json) -> None:
    """Change fields of a task; `None` empties one."""
    fields: Json = {name: changes[name] or "" for name in ("title", "notes") if name in changes}
    if "deleted" in changes:
        fields["deleted"] = int(changes["deleted"])
    if "due" in changes:
        fields["due"] = (changes["due"] or "")[:10]
    if "status" in changes:
        fields["status"] = changes["status"]
        fields["completed"] = _completed(connection, task_id, changes["status"])
    for name, value in {**fields, "updated": now()}.items():
        connection.execute(f"update tasks set {name} = ? where id = ?", (value, task_id))


def _completed(connection: sqlite3.Connection, task_id: str, status: str) -> str:
    """Return the completion time; a completed task keeps its own."""
    before = connection.execute("select completed from tasks where id = ?", (task_id,)).fetchone()
    return (before[0] or now()) if status == "completed" else ""


def task_of(row: tuple[Any, ...]) -> Json:
    """Return a `Task` of Google Tasks without empty fields."""
    *values, deleted = row
    fields = {name: value for name, value in zip(_FIELDS, values, strict=True) if value != ""}
    if "due" in fields:
        fields["due"] = day_start(fields["due"])
    task: Json = {"kind": "tasks#task", "title": "", **fields}
    return task | {"deleted": True} if deleted else task


def list_of(list_id: str, title: str, updated: str) -> Json:
    """A `TaskList` of Google Tasks."""
    return {"kind": "tasks#taskList", "id": list_id, "title": title, "updated": updated}


def position_of(place: int) -> str:
    """Return a position as a text that sorts numerically."""
    return f"{place:020d}"


def page_of(found: list[Json], start: int, limit: int) -> Page:
    """Return a page of the rows, which are one more than the limit if there is a next page."""
    return Page(found[:limit], str(start + limit) if len(found) > limit else "")


def offset_of(page: str) -> int:
    """Return the offset of a page token; `invalid_input` for a malformed one."""
    if not page:
        return 0
    if not (page.isascii() and page.isdigit() and len(page) < 10):
        why = f"{brief(page)} is no page token; give one that the list gave, or none"
        raise ToolError("invalid_input", why, pageToken=why)
    return int(page)


def require_default(list_id: str) -> None:
    """Raise `not_found` for a list other than `@default` while no list exists."""
    if list_id != "@default":
        raise _no_list(list_id)


def _no_list(list_id: str) -> ToolError:
    return ToolError("not_found", f"there is no list of tasks {brief(list_id)}")


def no_task(task_id: str) -> ToolError:
    """Return the failure for an unknown task."""
    return ToolError("not_found", f"there is no task {brief(task_id)} in this list")


# --- Task lists of the local office ---

# Depth-first order: the sort key is the path of positions from the top. A task whose parent is
# missing stands at the top. The depth limit ends cycles that somebody made by hand.
_PAGE = f"""
with recursive shown (id, place, depth) as (
    select id, position, 1 from tasks where list = :list and not deleted and parent not in
        (select id from tasks where list = :list and not deleted)
    union all
    select tasks.id, place || '.' || position, depth + 1 from tasks
    join shown on parent = shown.id where list = :list and not deleted and depth < :deepest
)
{SELECT} from shown join tasks using (id)
where (:completed or status != 'completed')
    and (:due_min = '' or due >= :due_min)
    and (:due_max = '' or (due != '' and due <= :due_max))
order by place, id limit :limit offset :offset
"""
_BELOW = """
with recursive below (id) as (
    select :task union select tasks.id from tasks join below on parent = below.id
)
update tasks set deleted = 1, updated = :now where id in below and list = :list
"""


class LocalTasks:
    """The tasks in a folder; the file is created by the first write."""

    def __init__(self, folder: Path, origins: Origins | None = None) -> None:
        self._file = TaskFile(folder)
        self._path = f"{folder.name}/{TASKS}"
        self._origins = origins

    def lists(self, *, limit: int, page: str) -> Page:
        """Return the lists; `@default` is the first."""
        start = offset_of(page)
        with self._file.reading() as connection:
            if connection is None:
                return Page([])
            found = connection.execute(
                "select id, title, updated from lists order by position, id limit ? offset ?",
                (limit + 1, start),
            ).fetchall()
        self._saw(())
        return page_of([list_of(*row) for row in found], start, limit)

    def add_list(self, title: str) -> Json:
        """Make another list, after those that are there."""
        made = (new_id(), title, now())
        with self._file.writing() as connection:
            connection.execute(
                "insert into lists (id, title, updated, position) "
                "select ?, ?, ?, max(position) + 1 from lists",
                made,
            )
        return list_of(*made)

    def tasks(
        self,
        list_id: str,
        *,
        completed: bool,
        due_min: str,
        due_max: str,
        limit: int,
        page: str,
    ) -> Page:
        """Tasks in their order, each before those below it."""
        start = offset_of(page)
        with self._file.reading() as connection:
            if connection is None:
                require_default(list_id)
                return Page([])
            wanted = {
                "list": list_id_of(connection, list_id),
                "completed": completed,
                "due_min": due_min[:10],
                "due_max": due_max[:10],
                "limit": limit + 1,
                "offset": start,
                "deepest": DEEPEST,
            }
            found = connection.execute(_PAGE, wanted).fetchall()
        listed = page_of([task_of(row) for row in found], start, limit)
        self._saw(listed.items)
        return listed

    def task(self, list_id: str, task_id: str) -> Json:
        """Return one task, also a deleted one."""
        with self._file.reading() as connection:
            if connection is None:
                require_default(list_id)
                raise no_task(task_id)
            found = found_task(connection, list_id_of(connection, list_id), task_id)
        self._saw([found])
        return found

    def create(self, list_id: str, task: Json, *, parent: str, previous: str) -> Json:
        """Add a task among those of its parent: first, or after `previous`."""
        with self._file.writing() as connection:
            owner = list_id_of(connection, list_id)
            made = new_id()
            self._mark(made)
            place = make_place(connection, owner, parent, previous)
            connection.execute(
                "insert into tasks (id, list, title, parent, position, updated) "
                "values (?, ?, '', ?, ?, ?)",
                (made, owner, parent, position_of(place), now()),
            )
            change_task(connection, made, task)
            return found_task(connection, owner, made)

    def update(self, list_id: str, task_id: str, changes: Json) -> Json:
        """Change fields of a task; `None` empties one."""
        with self._file.writing() as connection:
            owner = list_id_of(connection, list_id)
            found_task(connection, owner, task_id)
            self._mark(task_id)
            change_task(connection, task_id, changes)
            found = found_task(connection, owner, task_id)
        self._saw([found])
        return found

    def delete(self, list_id: str, task_id: str) -> None:
        """Delete a task and those below it."""
        with self._file.writing() as connection:
            owner = list_id_of(connection, list_id)
            if found_task(connection, owner, task_id).get("deleted"):
                raise no_task(task_id)
            connection.execute(_BELOW, {"task": task_id, "list": owner, "now": now()})

    def _saw(self, tasks: Iterable[Json]) -> None:
        """Taint the call if a task was written by a tainted call, or its file by others."""
        if self._origins is not None:
            self._origins.saw_store(self._path)
            for one in tasks:
                self._origins.saw(f"task:{one['id']}", f"the task {one['id']}")

    def _mark(self, task_id: str) -> None:
        """Mark a task before a tainted call writes it: a crash in between must not lose the
        mark.
        """
        if self._origins is not None:
            self._origins.mark(f"task:{task_id}")
