"""Task lists of the local office."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from callblocks.runtime.origins.origins import Origins
from callblocks.toolkits.workspace.backend import Json, Page
from callblocks.toolkits.workspace.local.task_file import TASKS, TaskFile, new_id, now
from callblocks.toolkits.workspace.local.task_rows import (
    DEEPEST,
    SELECT,
    change_task,
    found_task,
    list_id_of,
    list_of,
    make_place,
    no_task,
    offset_of,
    page_of,
    position_of,
    require_default,
    task_of,
)

__all__ = ("LocalTasks",)

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
