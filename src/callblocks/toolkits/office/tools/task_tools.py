"""The tools for tasks: list, get, create, update, complete and delete.

    tasks_list       taskListId                    what is to do; done tasks with showCompleted
    tasks_get        taskListId, taskId
    tasks_create     taskListId, title, notes
    tasks_update     taskListId, taskId, title
    tasks_complete   taskListId, taskId
    tasks_delete     taskListId, taskId            and the tasks below it

`@default` is the first list. Where there are more, `tasks_list` names them all as `taskLists`.
A task that is due has a date, no time: Google keeps none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import Json, Office
from callblocks.toolkits.office.times import way_out
from callblocks.toolkits.office.tools.drive_view import change_line, tell_absent, whole
from callblocks.toolkits.office.tools.id_suggestions import with_way_out
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = (
    "asked",
    "changes_text",
    "day_end",
    "day_start",
    "deletion_text",
    "ordered",
    "present",
    "read_day",
    "require_text",
    "shown_task",
    "task_lists",
    "tasks_tools",
)

# --- Answers about tasks, as a model needs them ---
#
# An unknown list is answered with the existing ones; a deleted task is not found.

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


# --- The due date of a task: only the date counts, as in Google Tasks ---
#
#     2030-01-31                   or a time of that day:
#     2030-01-31T15:00:00+01:00    the day as it is written

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(_DAY.pattern + r"[Tt ].+")


def read_day(text: str, field: str) -> str:
    """Return the date in a text; "" stays "". `invalid_input` for another text."""
    text = text.strip()
    if not text:
        return ""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text).isoformat()
        if _MOMENT.fullmatch(text):
            return datetime.fromisoformat(text).date().isoformat()
    except ValueError:
        pass
    why = f"{brief(text)} is no date; {way_out()}"
    raise ToolError("invalid_input", why, **{field: why})


def day_start(day: str) -> str:
    """Return the start of a date in Google's form; "" stays ""."""
    return f"{day}T00:00:00.000Z" if day else ""


def day_end(day: str) -> str:
    """Return the end of a date, as an inclusive upper bound."""
    return f"{day}T23:59:59.999Z" if day else ""


# --- The tools for tasks: list, get, create, update, complete and delete ---

_Id = Annotated[str, Field(min_length=1)]
_ListId = Annotated[str, Field(min_length=1, examples=["@default"])]
_Title = Annotated[str, Field(min_length=1, max_length=1024)]
_Notes = Annotated[str, Field(max_length=8192)]
_Count = Annotated[int, Field(ge=1, le=100)]
_Status = Literal["needsAction", "completed"]


def tasks_tools(office: Office) -> tuple[Tool, ...]:
    """Return the tools for the tasks of an office."""
    return (
        _list(office),
        _get(office),
        _create(office),
        _update(office),
        _complete(office),
        _delete(office),
    )


def _list(office: Office) -> Tool:
    @tool(read_only=True, origin="builtin")
    def tasks_list(
        context: Context,
        taskListId: _Id = "@default",
        showCompleted: bool = False,
        dueMin: str = "",
        dueMax: str = "",
        maxResults: _Count = 50,
        pageToken: str = "",
        full: bool = False,
    ) -> Json:
        """List the tasks of a list in their order; a task's parent stands before it.

        Args:
            taskListId: the id of a list; @default is the first, and the answer names the others
            showCompleted: also tasks that are done
            dueMin: only tasks due on this day or later, such as 2030-01-31
            dueMax: only tasks due on this day or earlier
            maxResults: how many at most
            pageToken: the nextPageToken of the answer before
            full: all that is known of each task
        """
        page = asked(
            office,
            taskListId,
            lambda: office.tasks.tasks(
                taskListId,
                completed=showCompleted,
                due_min=day_start(read_day(dueMin, "dueMin")),
                due_max=day_end(read_day(dueMax, "dueMax")),
                limit=maxResults,
                page=pageToken,
            ),
        )
        tell_absent(office, context)
        answer: Json = {"items": [shown_task(one, full) for one in ordered(page.items)]}
        if page.next:
            answer["nextPageToken"] = page.next
        return answer if pageToken else answer | task_lists(office)

    return tasks_list


def _get(office: Office) -> Tool:
    @tool(read_only=True, origin="builtin")
    def tasks_get(taskListId: _ListId, taskId: _Id, full: bool = False) -> Json:
        """Get one task.

        Args:
            taskListId: the id of its list; @default is the first
            taskId: the id of the task, as tasks_list gave it
            full: all that is known of it
        """
        return shown_task(present(office, taskListId, taskId), full)

    return tasks_get


def _create(office: Office) -> Tool:
    def preview(taskListId: str, title: str, notes: str, due: str, **near: object) -> str:
        said = [f"{name}: {whole(value)}" for name, value in _new(title, notes, due).items()]
        for name, words in (("parent", "below"), ("previous", "after")):
            if near.get(name):
                other = present(office, taskListId, str(near[name]))
                said.append(f"it stands {words} the task {whole(other.get('title', ''))}")
        return "\n".join(("create a task", *said))

    @tool(destructive=False, body="notes", preview=preview, origin="builtin")
    def tasks_create(
        taskListId: _ListId,
        title: _Title,
        notes: _Notes = "",
        due: str = "",
        parent: str = "",
        previous: str = "",
        full: bool = False,
    ) -> Json:
        """Add a task at the top of a list, below another task, or after one.

        Args:
            taskListId: the id of the list; @default is the first
            title: what is to do
            notes: more words on it
            due: the day, such as 2030-01-31
            parent: the id of the task that it is a part of
            previous: the id of the task after which it stands
            full: all that is known of it
        """
        given = _new(title, notes, due)
        for near in (parent, previous):
            if near:
                present(office, taskListId, near)
        made = asked(
            office,
            taskListId,
            lambda: office.tasks.create(taskListId, given, parent=parent, previous=previous),
        )
        return shown_task(made, full)

    return tasks_create


def _new(title: str, notes: str, due: str) -> Json:
    task = {"title": title, "notes": notes, "due": day_start(read_day(due, "due"))}
    require_text(task)
    return {name: value for name, value in task.items() if value}


def _update(office: Office) -> Tool:
    def preview(taskListId: str, taskId: str, full: bool = False, **given: str | None) -> str:
        changes = _changes(**given)
        task = present(office, taskListId, taskId, deleted="status" in changes)
        back = {"deleted": False} if task.get("deleted") else {}
        return changes_text(task, changes | back)

    @tool(destructive=True, idempotent=True, body="notes", preview=preview, origin="builtin")
    def tasks_update(
        taskListId: _ListId,
        taskId: _Id,
        title: _Title | None = None,
        notes: _Notes | None = None,
        due: str | None = None,
        status: _Status | None = None,
        full: bool = False,
    ) -> Json:
        """Change a task; what is not given stays as it is.

        Args:
            taskListId: the id of its list; @default is the first
            taskId: the id of the task, as tasks_list gave it
            title: what is to do
            notes: more words on it; "" removes them
            due: the day, such as 2030-01-31; "" removes it
            status: needsAction, or completed; this also brings back a deleted task
            full: all that is known of it
        """
        changes = _changes(title=title, notes=notes, due=due, status=status)
        task = present(office, taskListId, taskId, deleted=bool(status))
        if task.get("deleted"):
            changes["deleted"] = False
        return shown_task(office.tasks.update(taskListId, taskId, changes), full)

    return tasks_update


def _changes(**given: str | None) -> Json:
    """Return the fields to change; a removed due date is `None`."""
    changes: Json = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise ToolError("invalid_input", "nothing to change: give title, notes, due or status")
    require_text(changes)
    if "due" in changes:
        changes["due"] = day_start(read_day(changes["due"], "due")) or None
    return changes


def _complete(office: Office) -> Tool:
    def preview(taskListId: str, taskId: str, full: bool = False) -> str:
        return changes_text(present(office, taskListId, taskId), {"status": "completed"})

    @tool(destructive=False, idempotent=True, preview=preview, origin="builtin")
    def tasks_complete(taskListId: _ListId, taskId: _Id, full: bool = False) -> Json:
        """Mark a task as done.

        Args:
            taskListId: the id of its list; @default is the first
            taskId: the id of the task, as tasks_list gave it
            full: all that is known of it
        """
        task = present(office, taskListId, taskId)
        if task.get("status") != "completed":
            task = office.tasks.update(taskListId, taskId, {"status": "completed"})
        return shown_task(task, full)

    return tasks_complete


def _delete(office: Office) -> Tool:
    def preview(taskListId: str, taskId: str) -> str:
        task = present(office, taskListId, taskId)
        return deletion_text(office, taskListId, task)

    @tool(destructive=True, idempotent=True, preview=preview, origin="builtin")
    def tasks_delete(taskListId: _ListId, taskId: _Id) -> Json:
        """Delete a task, and the tasks below it.

        Args:
            taskListId: the id of its list; @default is the first
            taskId: the id of the task, as tasks_list gave it
        """
        task = present(office, taskListId, taskId)
        office.tasks.delete(taskListId, taskId)
        return {"id": taskId, "title": task.get("title", ""), "deleted": True}

    return tasks_delete
