"""Tasks, the same on both offices."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.local.tasks import LocalTasks
from callblocks.toolkits.office.tools.task_tools import tasks_tools
from support.google.calling import Calling
from support.google.state import State
from support.google.tasks import add_task_list


@pytest.fixture
def add(call: Calling) -> Callable[..., str]:
    """Add a task to the first list; its id."""
    return lambda title, **more: call("tasks_create", taskListId="@default", title=title, **more)[
        "id"
    ]


@pytest.fixture
def titles(call: Calling) -> Callable[..., list[str]]:
    """The titles that a listing gives."""
    return lambda **given: [one["title"] for one in call("tasks_list", **given)["items"]]


@pytest.fixture
def add_list(office: Office, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Make another list, as a person does; its id."""
    tasks = office.tasks
    if isinstance(tasks, LocalTasks):
        return lambda title: tasks.add_list(title)["id"]
    state: State = request.getfixturevalue("google_state")
    return lambda title: add_task_list(state, title)


def test_there_is_nothing_to_do_at_first(call: Calling) -> None:
    assert call("tasks_list") == {"items": []}


def test_a_task_is_given_back_as_it_was_made(call: Calling) -> None:
    made = call(
        "tasks_create", taskListId="@default", title="Buy milk", notes="two\n🥛", due="2030-01-31"
    )
    expected = {
        "id": made["id"],
        "title": "Buy milk",
        "status": "needsAction",
        "due": "2030-01-31",
        "notes": "two\n🥛",
    }
    assert made == expected
    assert call("tasks_get", taskListId="@default", taskId=made["id"]) == expected
    assert call("tasks_list") == {"items": [expected]}


def test_full_gives_the_whole_resource(call: Calling, add: Callable[..., str]) -> None:
    task = add("x", due="2030-01-31T23:00:00-05:00")
    whole = call("tasks_get", taskListId="@default", taskId=task, full=True)
    assert whole["kind"] == "tasks#task"
    assert whole["due"] == "2030-01-31T00:00:00.000Z"
    assert whole["position"] == "0" * 20
    datetime.fromisoformat(whole["updated"])
    assert call("tasks_list", full=True)["items"] == [whole]


def test_a_new_task_stands_first_or_after_another(
    add: Callable[..., str], titles: Callable[..., list[str]]
) -> None:
    first = add("a")
    add("b")
    add("c", previous=first)
    assert titles() == ["b", "a", "c"]


def test_tasks_below_another_follow_it(
    add: Callable[..., str], titles: Callable[..., list[str]], call: Calling
) -> None:
    trip = add("trip")
    add("home")
    book = add("book", parent=trip)
    add("pack", parent=trip, previous=book)
    assert titles() == ["home", "trip", "book", "pack"]
    assert call("tasks_get", taskListId="@default", taskId=book)["parent"] == trip


def test_done_tasks_are_listed_where_that_is_asked(
    call: Calling, add: Callable[..., str], titles: Callable[..., list[str]]
) -> None:
    done = add("done")
    add("open")
    before = datetime.now(UTC).replace(microsecond=0)
    completed = call("tasks_complete", taskListId="@default", taskId=done)
    assert completed["status"] == "completed"
    assert datetime.fromisoformat(completed["completed"]) >= before
    assert call("tasks_complete", taskListId="@default", taskId=done) == completed
    assert titles() == ["open"]
    assert titles(showCompleted=True) == ["open", "done"]


def test_a_task_that_is_opened_again_has_no_time_of_completion(
    call: Calling, add: Callable[..., str]
) -> None:
    task = add("again")
    call("tasks_complete", taskListId="@default", taskId=task)
    again = call("tasks_update", taskListId="@default", taskId=task, status="needsAction")
    assert again == {"id": task, "title": "again", "status": "needsAction"}


def test_an_update_changes_only_what_is_given(call: Calling, add: Callable[..., str]) -> None:
    task = add("old", notes="n", due="2030-01-31")
    changed = call("tasks_update", taskListId="@default", taskId=task, title="new")
    assert (changed["title"], changed["notes"], changed["due"]) == ("new", "n", "2030-01-31")
    emptied = call("tasks_update", taskListId="@default", taskId=task, notes="", due="")
    assert not emptied.get("notes")
    assert "due" not in emptied
    moved = call("tasks_update", taskListId="@default", taskId=task, due="2031-02-01")
    assert moved["due"] == "2031-02-01"
    done = call("tasks_update", taskListId="@default", taskId=task, status="completed")
    again = call("tasks_update", taskListId="@default", taskId=task, status="completed")
    assert again["completed"] == done["completed"]


def test_tasks_are_found_by_the_day_they_are_due(
    add: Callable[..., str], titles: Callable[..., list[str]]
) -> None:
    for day in ("2030-01-01", "2030-01-15", "2030-01-31"):
        add(day, due=day)
    add("some day")
    assert titles(dueMin="2030-01-15") == ["2030-01-31", "2030-01-15"]
    assert titles(dueMax="2030-01-15") == ["2030-01-15", "2030-01-01"]
    assert titles(dueMin="2030-01-02", dueMax="2030-01-30T10:00:00Z") == ["2030-01-15"]


def test_deleting_a_task_deletes_those_below_it(
    call: Calling, add: Callable[..., str], titles: Callable[..., list[str]]
) -> None:
    trip = add("trip")
    pack = add("pack", parent=trip)
    socks = add("socks", parent=pack)
    add("stay")
    deleted = call("tasks_delete", taskListId="@default", taskId=trip)
    assert deleted == {"id": trip, "title": "trip", "deleted": True}
    assert titles(showCompleted=True) == ["stay"]
    for gone in (trip, pack, socks):
        assert call.failure("tasks_get", taskListId="@default", taskId=gone) == "not_found"
        for name in ("tasks_complete", "tasks_delete"):
            assert call.failure(name, taskListId="@default", taskId=gone) == "not_found"


def test_pages_together_give_all_tasks_once(call: Calling, add: Callable[..., str]) -> None:
    for number in range(7):
        add(f"t{number}")
    seen: list[str] = []
    token = ""
    while True:
        page = call("tasks_list", maxResults=3, pageToken=token)
        assert 1 <= len(page["items"]) <= 3
        seen += [one["title"] for one in page["items"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert seen == [f"t{number}" for number in range(6, -1, -1)]


def test_other_lists_are_named_and_can_be_used(
    call: Calling, add: Callable[..., str], add_list: Callable[[str], str]
) -> None:
    add("first")
    other = add_list("Groceries")
    lists = call("tasks_list")["taskLists"]
    assert [one["title"] for one in lists] == ["My Tasks", "Groceries"]
    call("tasks_create", taskListId=other, title="milk")
    (milk,) = call("tasks_list", taskListId=other)["items"]
    assert milk["title"] == "milk"
    assert call.failure("tasks_get", taskListId="@default", taskId=milk["id"]) == "not_found"
    (first,) = call("tasks_list", taskListId=lists[0]["id"])["items"]
    assert first["title"] == "first"


def test_an_unknown_list_is_answered_with_those_there_are(
    call: Calling, add: Callable[..., str], add_list: Callable[[str], str]
) -> None:
    task = add("x")
    other = add_list("Groceries")
    for name, more in [
        ("tasks_list", {}),
        ("tasks_get", {"taskId": task}),
        ("tasks_create", {"title": "y"}),
        ("tasks_update", {"taskId": task, "title": "y"}),
        ("tasks_complete", {"taskId": task}),
        ("tasks_delete", {"taskId": task}),
    ]:
        error = call.error(name, taskListId="nope", **more)
        assert error.code == "not_found"
        assert f"{other} (Groceries)" in error.message


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("tasks_create", {"title": "x", "due": "31.1.2030"}),
    ("tasks_create", {"title": "x", "due": "2030-02-30"}),
    ("tasks_create", {"title": "x", "due": "2030-01-31T99:00:00Z"}),
    ("tasks_create", {"title": "x", "due": "tomorrow"}),
    ("tasks_create", {"title": ""}),
    ("tasks_create", {"title": "x" * 1025}),
    ("tasks_create", {"title": "a\0b"}),
    ("tasks_create", {"title": "\ud800"}),
    ("tasks_create", {"title": "x", "notes": "x" * 8193}),
    ("tasks_update", {"taskId": "t"}),
    ("tasks_update", {"taskId": "t", "status": "done"}),
    ("tasks_update", {"taskId": "t", "due": "soon"}),
    ("tasks_list", {"dueMin": "soon"}),
    ("tasks_list", {"maxResults": 0}),
    ("tasks_list", {"maxResults": 101}),
    ("tasks_list", {"pageToken": "no token"}),
]


def test_bad_input_is_invalid_input_and_changes_nothing(
    call: Calling, add: Callable[..., str], titles: Callable[..., list[str]]
) -> None:
    add("there")
    for name, given in REFUSED:
        assert call.failure(name, taskListId="@default", **given) == "invalid_input"
    assert titles() == ["there"]


@pytest.mark.parametrize("field", ["parent", "previous"])
def test_an_unknown_neighbour_is_not_found_and_nothing_is_made(call: Calling, field: str) -> None:
    given = {"taskListId": "@default", "title": "x", field: "nope"}
    assert call.failure("tasks_create", **given) == "not_found"
    assert call("tasks_list")["items"] == []


def test_nothing_is_put_below_a_deleted_task(call: Calling, add: Callable[..., str]) -> None:
    gone = add("gone")
    call("tasks_delete", taskListId="@default", taskId=gone)
    given = {"taskListId": "@default", "title": "x", "parent": gone}
    assert call.failure("tasks_create", **given) == "not_found"


def test_a_task_of_another_parent_is_no_neighbour(call: Calling, add: Callable[..., str]) -> None:
    first, second = add("first"), add("second")
    given = {"taskListId": "@default", "title": "x", "parent": first, "previous": second}
    assert call.failure("tasks_create", **given) == "invalid_input"


def test_the_preview_of_deleting_names_the_task(call: Calling, add: Callable[..., str]) -> None:
    task = add("Buy milk")
    assert "'Buy milk'" in call.preview("tasks_delete", taskListId="@default", taskId=task)
    missing = call.refused("tasks_delete", taskListId="@default", taskId="nope")
    assert missing.startswith("not_found: ")


def test_the_preview_of_a_new_task_shows_it_and_refuses_what_is_no_day(call: Calling) -> None:
    given = {"taskListId": "@default", "title": "Buy milk"}
    assert call.preview("tasks_create", **given, due="2030-01-31") == (
        "create a task\ntitle: 'Buy milk'\ndue: '2030-01-31T00:00:00.000Z'"
    )
    refused = call.refused("tasks_create", **given, due="tomorrow")
    assert refused.startswith("invalid_input: 'tomorrow' is no date; today is ")


def test_the_preview_of_a_change_shows_what_is_lost(call: Calling, add: Callable[..., str]) -> None:
    given = {"taskListId": "@default", "taskId": add("Buy milk", notes="two\nbottles")}
    assert call.preview("tasks_update", **given, notes="", due="2030-01-31") == (
        "the task 'Buy milk'\n"
        "notes: 'two\\nbottles' becomes ''\n"
        "due: '' becomes '2030-01-31T00:00:00.000Z'"
    )
    assert call("tasks_get", **given)["notes"] == "two\nbottles"


def test_a_policy_knows_what_takes_something_away(office: Office) -> None:
    tools = {tool.name: tool for tool in tasks_tools(office)}
    assert [name for name, one in tools.items() if one.traits.destructive] == [
        "tasks_update",
        "tasks_delete",
    ]
    assert [name for name, one in tools.items() if one.traits.read_only] == [
        "tasks_list",
        "tasks_get",
    ]
