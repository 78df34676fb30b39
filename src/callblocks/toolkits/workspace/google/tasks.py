"""Google Tasks."""

from __future__ import annotations

from callblocks.toolkits.workspace.backend import Json, Page
from callblocks.toolkits.workspace.google.service import Service

__all__ = ("GoogleTasks",)


class GoogleTasks:
    """The tasks of an account."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def lists(self, *, limit: int, page: str) -> Page:
        """Return the lists of the account."""
        paging = {"maxResults": limit, **_given(pageToken=page)}
        return _page(self._service.call(lambda api: api.tasklists().list(**paging)))

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
        """Return tasks of a list; those completed in Google's own programs count as hidden."""
        wanted = {
            "tasklist": list_id,
            "showCompleted": completed,
            "showHidden": completed,
            "maxResults": limit,
            **_given(dueMin=due_min, dueMax=due_max, pageToken=page),
        }
        return _page(self._service.call(lambda api: api.tasks().list(**wanted)))

    def task(self, list_id: str, task_id: str) -> Json:
        """Return one task, also a deleted one."""
        return self._service.call(lambda api: api.tasks().get(tasklist=list_id, task=task_id))

    def create(self, list_id: str, task: Json, *, parent: str, previous: str) -> Json:
        """Add a task among those of its parent: first, or after `previous`."""
        place = _given(parent=parent, previous=previous)
        return self._service.call(
            lambda api: api.tasks().insert(tasklist=list_id, body=task, **place)
        )

    def update(self, list_id: str, task_id: str, changes: Json) -> Json:
        """Change fields of a task; `None` empties one."""
        return self._service.call(
            lambda api: api.tasks().patch(tasklist=list_id, task=task_id, body=changes),
            repeatable=True,
        )

    def delete(self, list_id: str, task_id: str) -> None:
        """Delete a task and those below it."""
        self._service.call(lambda api: api.tasks().delete(tasklist=list_id, task=task_id))


def _given(**values: str) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _page(answer: Json) -> Page:
    return Page(answer.get("items", []), answer.get("nextPageToken", ""))
