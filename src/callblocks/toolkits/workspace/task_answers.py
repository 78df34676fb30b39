"""What an office answers about tasks, as a model needs it.

A list that is not there is answered with those that are; a task that was deleted is not found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Office

__all__ = ("asked", "ordered", "present", "require_text", "shown_task", "task_lists")

T = TypeVar("T")

_SHOWN = ("id", "title", "status", "due", "notes", "parent", "completed")
_LISTS = 100


def asked(office: Office, list_id: str, ask: Callable[[], T]) -> T:
    """The answer of an office; where it knows no such list, the lists are named."""
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


def present(office: Office, list_id: str, task_id: str) -> Json:
    """A task that is not deleted."""
    task = asked(office, list_id, lambda: office.tasks.task(list_id, task_id))
    if task.get("deleted"):
        raise ToolError("not_found", f"the task {brief(task_id)} was deleted")
    return task


def require_text(fields: Json) -> None:
    """What neither Google nor a file can keep is refused by name."""
    for name, value in fields.items():
        if "\0" in value:
            why = f"{name} has a NUL character; leave it out"
            raise ToolError("invalid_input", why, **{name: why})


def ordered(items: list[Json]) -> list[Json]:
    """Tasks of a page by position, each followed by those below it."""
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
    """The lists, where there is more than one."""
    lists = office.tasks.lists(limit=_LISTS, page="").items
    shown = [{"id": one["id"], "title": one.get("title", "")} for one in lists]
    return {"taskLists": shown} if len(shown) > 1 else {}


def shown_task(task: Json, full: bool) -> Json:
    """A task as a model needs it: of its day the date alone."""
    if full:
        return task
    shown: Json = {name: task[name] for name in _SHOWN if name in task}
    return shown | {"due": shown["due"][:10]} if "due" in shown else shown
