"""What each tool is allowed at Google: enough for its work, and nothing that it does not use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import CallerError
from callblocks.toolkits.office.google.auth import SCOPES, holds, scopes_for
from callblocks.toolkits.office.open_office import SERVICES
from support.google.discovery import all_methods

NAMES = st.lists(st.sampled_from(sorted(SCOPES)))
_AUTH = "https://www.googleapis.com/auth/"


def test_every_tool_that_asks_google_has_scopes() -> None:
    assert set(SCOPES) == {name for names in SERVICES.values() for name in names}


@pytest.mark.parametrize("name", SCOPES)
def test_the_service_of_a_tool_knows_its_scopes(name: str) -> None:
    service = name.partition("_")[0]
    methods = [method for id, method in all_methods().items() if id.startswith(f"{service}.")]
    for scope in SCOPES[name]:
        assert any(scope in method.scopes for method in methods)


@pytest.mark.parametrize("scope", ["https://mail.google.com/", f"{_AUTH}gmail.modify"])
def test_no_tool_may_delete_mail(scope: str) -> None:
    assert scope not in scopes_for(SCOPES)


def test_what_only_reads_is_allowed_only_to_read() -> None:
    for name in SCOPES:
        if name.endswith(("_list", "_read", "_search", "_get", "_events")):
            assert all(scope.endswith(".readonly") for scope in SCOPES[name])


def test_a_scope_that_another_covers_is_not_asked_for() -> None:
    assert scopes_for(["tasks_list"]) == (f"{_AUTH}tasks.readonly",)
    assert scopes_for(["tasks_list", "tasks_create"]) == (f"{_AUTH}tasks",)
    assert scopes_for(["gmail_list", "gmail_send"]) == (
        f"{_AUTH}gmail.readonly",
        f"{_AUTH}gmail.send",
    )
    assert scopes_for([]) == ()


@given(NAMES)
def test_what_is_asked_for_is_enough(names: list[str]) -> None:
    asked = scopes_for(names)
    assert all(holds(asked, name) for name in names)


@given(NAMES)
def test_nothing_that_is_asked_for_can_be_left_out(names: list[str]) -> None:
    asked = scopes_for(names)
    for scope in asked:
        left = [other for other in asked if other != scope]
        assert not all(holds(left, name) for name in names)


def test_a_scope_that_covers_another_is_taken_by_all_its_methods() -> None:
    """So that a tool works the same when more was allowed."""
    for wide, narrow in (
        ("drive", "drive.readonly"),
        ("calendar.events", "calendar.events.readonly"),
        ("documents", "documents.readonly"),
        ("spreadsheets", "spreadsheets.readonly"),
        ("tasks", "tasks.readonly"),
    ):
        assert holds([_AUTH + wide], _reader(_AUTH + narrow))
        for method in all_methods().values():
            if _AUTH + narrow in method.scopes:
                assert _AUTH + wide in method.scopes, method.id


def _reader(scope: str) -> str:
    return next(name for name, scopes in SCOPES.items() if scopes == (scope,))


def test_a_tool_that_asks_nothing_of_google_has_no_scopes() -> None:
    with pytest.raises(CallerError, match="terminal_execute asks nothing of Google"):
        scopes_for(["terminal_execute"])
