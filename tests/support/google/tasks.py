"""Google Tasks, played: lists, and tasks in the order of their positions."""

from __future__ import annotations

from datetime import UTC, datetime

from support.google.state import Asked, Json, Method, Refused, State

__all__ = ("add_task_list", "tasks_methods")


def add_task_list(state: State, title: str) -> str:
    """Make a list, as a person does at Google; its id."""
    list_id = state.new_id("L")
    made = {"kind": "tasks#taskList", "id": list_id, "title": title, "updated": _now()}
    state.tasklists[list_id] = made
    return list_id


def tasks_methods(state: State) -> dict[str, Method]:
    """The methods that the tools use."""
    add_task_list(state, "My Tasks")
    fake = _Fake(state)
    return {
        "tasks.tasklists.list": fake.lists,
        "tasks.tasks.list": fake.list,
        "tasks.tasks.get": fake.get,
        "tasks.tasks.insert": fake.insert,
        "tasks.tasks.patch": fake.patch,
        "tasks.tasks.delete": fake.delete,
    }


class _Fake:
    def __init__(self, state: State) -> None:
        self.state = state

    def lists(self, asked: Asked) -> Json:
        items, more = _cut(list(self.state.tasklists.values()), asked, 1000)
        return {"kind": "tasks#taskLists", "items": items, **more}

    def list(self, asked: Asked) -> Json:
        query = asked.query
        found = [one for one in self._of(asked) if not one.get("deleted")]
        if not query.get("showCompleted", True):
            found = [one for one in found if one["status"] != "completed"]
        if not query.get("showHidden"):
            found = [one for one in found if not one.get("hidden")]
        if "dueMin" in query:
            found = [one for one in found if one.get("due", "") >= query["dueMin"]]
        if "dueMax" in query:
            found = [one for one in found if one.get("due", "~") < query["dueMax"]]
        # Positions are among siblings only: Google does not put a task behind its parent.
        items, more = _cut(sorted(found, key=lambda one: one["position"]), asked, 20)
        return {"kind": "tasks#tasks", "items": items, **more}

    def get(self, asked: Asked) -> Json:
        return self._task(asked, asked.path["task"])

    def insert(self, asked: Asked) -> Json:
        parent, previous = asked.query.get("parent", ""), asked.query.get("previous", "")
        siblings = [one for one in self._of(asked) if one.get("parent", "") == parent]
        if parent:
            self._task(asked, parent)
        at = 0
        if previous:
            before = self._task(asked, previous)
            if before not in siblings:
                raise Refused(400, "invalid", "Invalid previous task")
            at = siblings.index(before) + 1
        made: Json = {
            "kind": "tasks#task",
            "id": self.state.new_id("T"),
            "etag": '"1"',
            "title": "",
            "status": "needsAction",
            "links": [],
        }
        if parent:
            made["parent"] = parent
        siblings.insert(at, made)
        for place, one in enumerate(siblings):
            one["position"] = f"{place:020d}"
        self.state.tasks[made["id"]] = (self._list_id(asked), made)
        return _changed(made, asked.body)

    def patch(self, asked: Asked) -> Json:
        return _changed(self._task(asked, asked.path["task"]), asked.body)

    def delete(self, asked: Asked) -> None:
        task = self._task(asked, asked.path["task"])
        if task.get("deleted"):
            raise Refused(404, "notFound", "Task not found.")
        self._drop(asked, task)

    def _drop(self, asked: Asked, task: Json) -> None:
        task["deleted"] = True
        for one in self._of(asked):
            if one.get("parent") == task["id"]:
                self._drop(asked, one)

    def _list_id(self, asked: Asked) -> str:
        given = asked.path["tasklist"]
        known = next(iter(self.state.tasklists)) if given == "@default" else given
        if known not in self.state.tasklists:
            raise Refused(404, "notFound", "Task list not found.")
        return known

    def _of(self, asked: Asked) -> list[Json]:
        owner = self._list_id(asked)
        held = [task for of, task in self.state.tasks.values() if of == owner]
        return sorted(held, key=lambda one: one["position"])

    def _task(self, asked: Asked, task_id: str) -> Json:
        owner, task = self.state.tasks.get(task_id, ("", {}))
        if owner != self._list_id(asked):
            raise Refused(404, "notFound", "Task not found.")
        return task


def _changed(task: Json, changes: Json) -> Json:
    for name, value in changes.items():
        if value is None:
            task.pop(name, None)
        else:
            task[name] = value
    if "due" in task:
        # Google takes a moment only, and keeps its day.
        moment = datetime.fromisoformat(task["due"])
        task["due"] = f"{moment:%Y-%m-%d}T00:00:00.000Z"
    if task["status"] == "completed":
        task.setdefault("completed", _now())
    else:
        task.pop("completed", None)
    task["updated"] = _now()
    return task


def _cut(items: list[Json], asked: Asked, size: int) -> tuple[list[Json], Json]:
    token = asked.query.get("pageToken", "0")
    if not token.isdigit():
        raise Refused(400, "invalid", "Invalid page token")
    start, limit = int(token), asked.query.get("maxResults", size)
    more = {"nextPageToken": str(start + limit)} if len(items) > start + limit else {}
    return items[start : start + limit], more


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z"
