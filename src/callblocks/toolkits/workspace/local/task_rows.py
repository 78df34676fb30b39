"""Tasks and lists in the tables of the local office, and as Google's resources."""

from __future__ import annotations

import sqlite3
from typing import Any

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Page
from callblocks.toolkits.workspace.due import day_start
from callblocks.toolkits.workspace.local.task_file import now

__all__ = (
    "DEEPEST",
    "SELECT",
    "change_task",
    "found_task",
    "list_id_of",
    "list_of",
    "make_place",
    "no_task",
    "offset_of",
    "page_of",
    "position_of",
    "require_default",
    "task_of",
)

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
