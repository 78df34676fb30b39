"""What a policy knows of the tools of an office, by who else sees what they make."""

from __future__ import annotations

from pathlib import Path

import pytest

from callblocks import parse
from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.open_office import OFFICE_TOOLS, add_workspace_tools, open_office
from callblocks.tools.registry import Registry

# Who gets a mail, or attends an event, is told of it.
OUTWARD = {"gmail_send", "calendar_create", "calendar_update", "calendar_delete"}


def traits(office: Office, root: Root) -> dict[str, tuple[str, ...]]:
    registry = Registry()
    add_workspace_tools(registry, office, root)
    assert registry.names == OFFICE_TOOLS
    return {tool.name: tool.traits.names() for tool in registry.tools}


def test_nobody_sees_what_is_made_in_a_folder(local_office: Office, root: Root) -> None:
    known = traits(local_office, root)
    assert {name for name, held in known.items() if "open_world" in held} == OUTWARD


@pytest.mark.parametrize("late", [False, True])
def test_what_is_made_at_google_may_be_seen_by_others(
    google_office: Office, root: Root, tmp_path: Path, late: bool
) -> None:
    office = open_office(root, "google", tmp_path / "none.json") if late else google_office
    for name, held in traits(office, root).items():
        is_seen = "read_only" not in held and not name.startswith("tasks_")
        assert ("open_world" in held) == is_seen, name


BODIES = {
    "gmail_list": "labelIds",
    "gmail_send": "body",
    "drive_create": "content",
    "drive_update": "content",
    "calendar_create": "description",
    "calendar_update": "description",
    "docs_create": "text",
    "docs_append": "text",
    "sheets_write": "values",
    "sheets_append": "values",
    "sheets_create": "values",
    "tasks_create": "notes",
    "tasks_update": "notes",
}


def test_a_body_goes_to_the_long_text_of_a_tool(local_office: Office, root: Root) -> None:
    registry = Registry()
    add_workspace_tools(registry, local_office, root)
    assert {one.name: one.spec.body for one in registry.tools if one.spec.body} == BODIES


def test_the_body_of_an_event_is_no_choice_of_who_is_told(local_office: Office, root: Root) -> None:
    registry = Registry()
    add_workspace_tools(registry, local_office, root)
    text = "🛠️[calendar_create Service 2026-11-16 2026-11-17]\nNo boat.\n🛠️[/end]"
    (call,) = parse(text, "emoji-bracket", tools=registry).calls
    assert call.input["description"] == "No boat.\n"
    assert "sendUpdates" not in call.input


# What others wrote comes in by these, whatever they are called for.
BRINGING = {
    *("gmail_list", "gmail_read", "gmail_search", "drive_list", "drive_read", "drive_search"),
    *("calendar_events", "calendar_update", "calendar_delete", "docs_read", "sheets_read"),
}


def test_the_tools_that_bring_text_of_others_are_known_before_they_run(
    local_office: Office, google_office: Office, root: Root
) -> None:
    # Others can assign tasks at Google; those of a folder are marked one by one.
    tasks = {name for name in OFFICE_TOOLS if name.startswith("tasks_")}
    at_google = {"calendar_list", *tasks}
    for office, more in ((local_office, set[str]()), (google_office, at_google)):
        registry = Registry()
        add_workspace_tools(registry, office, root)
        assert {one.name for one in registry.tools if one.brings_text_of_others} == BRINGING | more
