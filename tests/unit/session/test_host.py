"""The sessions of one program: the same one by the same name, and not too many of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from callblocks.core.errors import TimelineError, UnknownDialect
from callblocks.session import host as host_module
from callblocks.session.team_file import Member
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.office.open_office import OFFICE_TOOLS
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.sample_offices import copy_office
from support.scripted_sessions import Never, Replies, run_turn, some_host
from support.teams import team_host


def test_a_name_is_one_session(tmp_path: Path) -> None:
    with some_host(tmp_path, Replies()) as host:
        assert host.session("one") is host.session("one")
        assert host.session("one") is not host.session("two")
        assert host.session("two").name == "two"


def test_a_name_that_no_timeline_can_have_is_refused(tmp_path: Path) -> None:
    with some_host(tmp_path, Replies()) as host, pytest.raises(TimelineError):
        host.session("../one")


@pytest.mark.parametrize("dialect", ["chat-blocks", "nothing"])
def test_a_dialect_that_no_model_is_taught_is_refused(tmp_path: Path, dialect: str) -> None:
    with (
        some_host(tmp_path, Replies(), dialect=dialect) as host,
        pytest.raises(UnknownDialect, match=dialect),
    ):
        host.session("one")


def test_idle_sessions_make_room_and_running_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "_KEPT", 2)

    async def main() -> None:
        first, begun = host.session("one"), asyncio.Event()
        task = asyncio.ensure_future(first.run("Go.", tell=lambda event: begun.set()))
        await begun.wait()
        idle = host.session("two")
        host.session("three")
        assert host.session("one") is first
        assert host.running == [first]
        assert host.session("two") is not idle
        first.stop()
        await task

    with some_host(tmp_path, Replies([Never])) as host:
        asyncio.run(main())


def test_a_session_that_is_about_to_be_used_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "_KEPT", 1)
    with some_host(tmp_path, Replies("Yes.")) as host:
        first = host.session("one")
        first.is_held = True
        host.session("two")
        assert host.session("one") is first
        first.is_held = False
        host.session("three")
        assert host.session("one") is not first


def test_tools_of_ones_own_come_before_those_of_that_name(tmp_path: Path) -> None:
    @tool(read_only=True)
    def file_read(path: str) -> str:
        """Read in another way."""
        return path

    with some_host(tmp_path, Replies(), tools=Registry([file_read])) as host:
        assert host.registry.get("file_read") is file_read
        assert "file_write" in host.registry.names


def test_a_host_that_is_made_anew_knows_all_that_was_said(tmp_path: Path) -> None:
    for number in (1, 2):
        model = Replies("Yes.")
        with some_host(tmp_path, model) as host:
            session = host.session("one")
            asyncio.run(run_turn(session, f"Prompt {number}."))
            assert list(session.recorder.state.ended) == [f"turn_{at + 1}" for at in range(number)]


def test_the_tools_of_an_office_are_known_where_there_is_one(tmp_path: Path) -> None:
    with some_host(tmp_path, Replies()) as host:
        assert not {*OFFICE_TOOLS} & {*host.registry.names}
        assert {"file_read", "search", "terminal_execute"} <= {*host.registry.names}
    copy_office(tmp_path / "work")
    with some_host(tmp_path, Replies()) as host:
        assert {*OFFICE_TOOLS} < {*host.registry.names}


def test_an_office_that_is_given_is_known_and_used(tmp_path: Path) -> None:
    office = LocalOffice(copy_office(tmp_path / "elsewhere"))
    with some_host(tmp_path, Replies(), office=office) as host:
        found = host.registry["tasks_get"](taskListId="boat", taskId="leftpump")
    assert found["title"] == "Have the left pump looked at"


def test_a_model_is_taught_only_the_tools_that_are_named(tmp_path: Path) -> None:
    @tool
    def add(number: int) -> int:
        """Add one."""
        return number + 1

    model = Replies(["Fine."])
    only = ("file_r*", "tasks_list", "add")
    with some_host(tmp_path, model, only=only, tools=Registry([add])) as host:
        assert host.registry.names == ("add", "file_read", "tasks_list")
        asyncio.run(run_turn(host.session("one"), "Hello."))
    told = str(model.requests[0])
    for name in ("add", "file_read", "tasks_list"):
        assert f"## {name}" in told
    for name in ("file_write", "gmail_list", "terminal_execute", "react.read"):
        assert name not in told


def test_a_team_may_name_tools_of_an_office_that_is_not_there_yet(tmp_path: Path) -> None:
    member = Member(name="one", model=Replies(), tools=("gmail_list",))
    with team_host(tmp_path, Replies(), member) as host:
        assert "gmail_list" in host.registry
