"""The names of the office tools, which a registry knows before any of them is created.

    gmail_*      list, read, send, search              calendar_*   list, events, create, update, …
    drive_*      list, read, create, update, …         docs_*       read, create, append, replace
    sheets_*     read, write, append, create, clear    tasks_*      list, get, create, complete, …

A service's module is imported when one of its tools is requested. In a shared office every changing
tool counts as reaching others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module

from msgspec.structs import replace

from callblocks.model.catalogue import CATALOGUE
from callblocks.runtime.files.root import Root
from callblocks.toolkits.workspace.backend import Office
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = ("GOOGLE_METHODS", "OFFICE_TOOLS", "SERVICES", "add_workspace_tools", "service_tools")

# The tools of each service; its module has the service's name and makes them.
SERVICES: dict[str, tuple[str, ...]] = {
    service: tuple(name for name in CATALOGUE if name.startswith(f"{service}_"))
    for service in ("gmail", "drive", "calendar", "docs", "sheets", "tasks")
}

_WITH_FILES = ("gmail",)
# Nobody else sees an account's tasks, but others can assign some from documents and chats.
_PRIVATE = ("tasks",)

# Every tool that works on an office.
OFFICE_TOOLS = tuple(name for names in SERVICES.values() for name in names)


# The Google method that corresponds to a tool, which may call others as well.
GOOGLE_METHODS = {
    "gmail_list": "gmail.users.messages.list",
    "gmail_read": "gmail.users.messages.get",
    "gmail_send": "gmail.users.messages.send",
    "gmail_search": "gmail.users.messages.list",
    "drive_list": "drive.files.list",
    "drive_read": "drive.files.get",
    "drive_create": "drive.files.create",
    "drive_update": "drive.files.update",
    "drive_delete": "drive.files.update",
    "drive_search": "drive.files.list",
    "calendar_list": "calendar.calendarList.list",
    "calendar_events": "calendar.events.list",
    "calendar_create": "calendar.events.insert",
    "calendar_update": "calendar.events.patch",
    "calendar_delete": "calendar.events.delete",
    "docs_read": "docs.documents.get",
    "docs_create": "docs.documents.create",
    "docs_append": "docs.documents.batchUpdate",
    "docs_replace": "docs.documents.batchUpdate",
    "sheets_read": "sheets.spreadsheets.values.get",
    "sheets_write": "sheets.spreadsheets.values.update",
    "sheets_append": "sheets.spreadsheets.values.append",
    "sheets_create": "sheets.spreadsheets.create",
    "sheets_clear": "sheets.spreadsheets.values.clear",
    "tasks_list": "tasks.tasks.list",
    "tasks_get": "tasks.tasks.get",
    "tasks_create": "tasks.tasks.insert",
    "tasks_update": "tasks.tasks.patch",
    "tasks_complete": "tasks.tasks.patch",
    "tasks_delete": "tasks.tasks.delete",
}


def add_workspace_tools(registry: Registry, office: Office, root: Root) -> None:
    """Let a registry know the tools of an office; a service's are made together, when needed."""
    for service, names in SERVICES.items():
        registry.add_later(names, partial(service_tools, service, office, root))


def service_tools(service: str, office: Office, root: Root) -> Iterable[Tool]:
    """Make the tools of one service of an office; what is attached to a mail comes from `root`."""
    module = import_module(f"callblocks.toolkits.workspace.{service}")
    make: Callable[..., Iterable[Tool]] = getattr(module, f"{service}_tools")
    made = make(office, root) if service in _WITH_FILES else make(office)
    # The same tool has other traits in a shared office, where others see or wrote its content; so
    # the traits are set here and not where the tool is declared.
    if not getattr(office, "is_shared", False):
        return made
    return map(_of_others if service in _PRIVATE else _outward, made)


def _outward(tool: Tool) -> Tool:
    """Return the tool marked as reaching others: additions to a shared file are sent to them."""
    if tool.traits.read_only:
        return tool
    return replace(tool, traits=replace(tool.traits, open_world=True))


def _of_others(tool: Tool) -> Tool:
    """Return the tool marked as a source of foreign text."""
    return replace(tool, traits=replace(tool.traits, kind="source"))
