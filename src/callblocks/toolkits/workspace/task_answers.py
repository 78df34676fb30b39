"""Answers about tasks, as a model needs them.

An unknown list is answered with the existing ones; a deleted task is not found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Office
from callblocks.toolkits.workspace.meant import with_way_out
from callblocks.toolkits.workspace.told_change import change_line, whole

__all__ = (
    "asked",
    "changes_text",
    "deletion_text",
    "ordered",
    "present",
    "require_text",
    "shown_task",
    "task_lists",
)

T = TypeVar("T")

_SHOWN = ("id", "title", "status", "due", "notes", "parent", "completed")
_LISTS = 100
_LOOKED_INTO = 20


def asked(office: Office, list_id: str, ask: Callable[[], T]) -> T:
    """Return the answer of an office; for an unknown list, name the existing ones."""
    try:
        return ask()
    except ToolError as error:
        if error.code != "not_found" or list_id == "@default":
            raise
        lists = office.tasks.lists(limit=_LISTS, page="").items
        if list_id in (one["id"] for one in lists):
            raise
        known = ", ".join(f"{one['id']} ({one.get('title', '')})" for one in lists)
        why = f"there is no list of tasks {brief(list_id)}; there are: @default, {known}"
        raise ToolError("not_found", why.removesuffix(", ")) from error


def present(office: Office, list_id: str, task_id: str, *, deleted: bool = False) -> Json:
    """Return a task that is not deleted, or with `deleted` any."""
    with with_way_out(lambda: _other_list(office, list_id, task_id)):
        task = asked(office, list_id, lambda: office.tasks.task(list_id, task_id))
    if task.get("deleted") and not deleted:
        way_out = "tasks_update with a status brings it back"
        raise ToolError("not_found", f"the task {brief(task_id)} was deleted; {way_out}")
    return task


def _other_list(office: Office, list_id: str, task_id: str) -> str:
    """Name the list that contains a task which was not found."""
    lists = office.tasks.lists(limit=_LISTS, page="").items
    known = [one["id"] for one in lists]
    if list_id not in (*known, "@default"):
        return ""
    for other in known[:_LOOKED_INTO]:
        if other != list_id and _has_task(office, other, task_id):
            return f"it is in another list: give taskListId {brief(other)}"
    return ""


def _has_task(office: Office, list_id: str, task_id: str) -> bool:
    try:
        office.tasks.task(list_id, task_id)
    except ToolError:
        return False
    return True


def require_text(fields: Json) -> None:
    """Refuse text that neither Google nor a file can store."""
    for name, value in fields.items():
        if "\0" in value:
            why = f"{name} has a NUL character; leave it out"
            raise ToolError("invalid_input", why, **{name: why})


def ordered(items: list[Json]) -> list[Json]:
    """Sort the tasks of a page by position, each followed by its subtasks."""
    known = {one["id"] for one in items}
    below: dict[str, list[Json]] = {}
    for one in sorted(items, key=lambda one: one.get("position", "")):
        parent = one.get("parent", "")
        below.setdefault(parent if parent in known else "", []).append(one)
    found: list[Json] = []
    waiting = below.pop("", [])[::-1]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting.extend(below.pop(one["id"], [])[::-1])
    return found


def task_lists(office: Office) -> Json:
    """Return the lists if there is more than one."""
    lists = office.tasks.lists(limit=_LISTS, page="").items
    shown = [{"id": one["id"], "title": one.get("title", "")} for one in lists]
    return {"taskLists": shown} if len(shown) > 1 else {}


def shown_task(task: Json, full: bool) -> Json:
    """Return the relevant fields of a task; its due time as a date."""
    if full:
        return task
    shown: Json = {name: task[name] for name in _SHOWN if name in task}
    return shown | {"due": shown["due"][:10]} if "due" in shown else shown


def changes_text(task: Json, changes: Json) -> str:
    """Describe the fields of a task that would change, before and after."""
    lines = [f"the task {whole(task.get('title', ''))}"]
    changed = {name: new for name, new in changes.items() if (task.get(name) or "") != (new or "")}
    lines += [change_line(name, task.get(name) or "", new or "") for name, new in changed.items()]
    return "\n".join(lines) if changed else f"{lines[0]}: no change"


def deletion_text(office: Office, list_id: str, task: Json) -> str:
    """Describe the task that would be deleted, and its subtasks."""
    told = f"the task {whole(task.get('title', ''))} is deleted"
    page = office.tasks.tasks(
        list_id, completed=True, due_min="", due_max="", limit=_LISTS, page=""
    )
    below = _below(page.items, task["id"])
    names = [f"with it: {whole(one.get('title', ''))}" for one in below]
    more = ["and those below it that are further down in the list"] if page.next else []
    return "\n".join((told, *names, *more))


def _below(tasks: list[Json], task_id: str) -> list[Json]:
    """Return the subtasks of a task at any depth."""
    known = {task_id}
    found: list[Json] = []
    for one in ordered(tasks):
        if one.get("parent") in known:
            known.add(one["id"])
            found.append(one)
    return found
