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

from typing import Annotated, Literal

from pydantic import Field

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Office
from callblocks.toolkits.workspace.due import day_end, day_start, read_day
from callblocks.toolkits.workspace.office_notices import tell_absent
from callblocks.toolkits.workspace.task_answers import (
    asked,
    changes_text,
    deletion_text,
    ordered,
    present,
    require_text,
    shown_task,
    task_lists,
)
from callblocks.toolkits.workspace.told_change import whole
from callblocks.tools.context import Context
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool

__all__ = ("tasks_tools",)

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
