"""The sample office in the played Google Workspace, under the ids that it has in a folder.

It comes in by the same requests that tools make. Google chooses ids itself, but for events: so
that of what is made next is put into the mouth of the fake.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from callblocks.toolkits.office.backend import DOCUMENT, FOLDER, SPREADSHEET, Office
from callblocks.toolkits.office.local.mail.mail_resource import id_of
from callblocks.toolkits.office.sample_office import (
    ZONE,
    SampleFile,
    calendars,
    files,
    mails,
    task_lists,
)
from support.google.calendar import add_calendar
from support.google.gmail import receive
from support.google.state import State
from support.google.tasks import add_task_list

__all__ = ("seed",)


def seed(office: Office, state: State) -> None:
    """Put the sample into an empty account."""
    for mail in mails():
        with _next_id(state, id_of(mail.unique)):
            receive(state, mail.raw)
    for file in files():
        with _next_id(state, file.id):
            _seed_file(office, file)
    for calendar in calendars():
        if calendar.id != "primary":
            add_calendar(state, calendar.id, calendar.summary, ZONE)
        for event in calendar.events:
            office.calendars.create(calendar.id, event, notify="none")
    _seed_tasks(office, state)


def _seed_file(office: Office, file: SampleFile) -> None:
    if file.mime == DOCUMENT:
        office.documents.create(file.name, file.content.decode())
    elif file.mime == SPREADSHEET:
        office.sheets.create(file.name, list(file.sheets))
        for title, rows in file.sheets.items():
            office.sheets.write(file.id, f"{title}!A1", rows, entered="USER_ENTERED")
    else:
        content = None if file.mime == FOLDER else file.content
        parents = [file.parent or "root"]
        told = {"name": file.name, "mimeType": file.mime, "parents": parents}
        office.drive.create(told, content)


def _seed_tasks(office: Office, state: State) -> None:
    state.tasklists.clear()
    for held in task_lists():
        with _next_id(state, held.id):
            add_task_list(state, held.title)
        for task in reversed(held.tasks):
            if "parent" not in task:
                _seed_task(office, state, held.id, task)
        for task in held.tasks:
            if "parent" in task:
                _seed_task(office, state, held.id, task)


def _seed_task(office: Office, state: State, list_id: str, task: dict[str, str]) -> None:
    fields = {name: task[name] for name in ("title", "notes", "due", "status") if name in task}
    with _next_id(state, task["id"]):
        office.tasks.create(list_id, fields, parent=task.get("parent", ""), previous="")


@contextmanager
def _next_id(state: State, wanted: str) -> Iterator[None]:
    """Let the next thing that is made have this id."""
    usual, state.new_id = state.new_id, lambda start="": wanted
    try:
        yield
    finally:
        state.new_id = usual
