"""`callblocks workspace`: a sample office is laid, shown, and never touched again."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path
from typing import Self

import pytest

from callblocks.cli.commands.office import _PARTS, COMMANDS
from callblocks.cli.main import cli
from callblocks.core import extras
from callblocks.core.errors import ToolError
from callblocks.toolkits.office.google import auth
from support.command import run
from support.command_home import move_in
from support.google.calendar import add_calendar
from support.google.server import Server
from support.sample_offices import copy_office


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return move_in(tmp_path, monkeypatch)


def _said(*args: str) -> str:
    result = run("workspace", *args)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_init_lays_an_office_and_says_what_to_try(workspace: Path) -> None:
    told = _said("init")
    assert "15 mails" in told
    assert "12 events in 2 calendars, 8 tasks in 2 lists" in told
    _, _, examples = told.partition("Try:\n")
    assert len(examples.splitlines()) == 3
    names = {path.name for path in (workspace / "office").iterdir()}
    assert {"mail", "calendar", "drive", "drive.sqlite", "tasks.sqlite"} <= names


def test_what_init_says_to_try_works(workspace: Path) -> None:
    examples = [line.strip() for line in _said("init").partition("Try:\n")[2].splitlines()]
    show, tools, search = examples
    assert "Mail  15" in run(*show.split()[1:]).stdout
    assert "Example  emoji-bracket" in run(*tools.split()[1:]).stdout
    text, _, command = search.partition(" | ")
    asked = text.removeprefix("echo '").removesuffix("'")
    found = run(*command.split()[1:], text=asked)
    assert found.exit_code == 0
    assert "Gant perdu sur le bateau" in found.stdout


def test_another_folder_is_named_in_what_to_try(workspace: Path) -> None:
    (workspace / "the ferry").mkdir()
    told = _said("init", "-w", "the ferry")
    assert "callblocks workspace show -w 'the ferry'" in told


def test_an_office_that_is_there_is_not_touched(workspace: Path) -> None:
    (workspace / "office").mkdir()
    (workspace / "office" / "mine").write_text("mine")
    result = run("workspace", "init")
    assert result.exit_code == 1
    assert "is there already" in result.stderr
    assert os.listdir(workspace / "office") == ["mine"]


def test_only_the_person_may_read_an_office(workspace: Path) -> None:
    _said("init")
    modes = {path.stat().st_mode & 0o077 for path in (workspace / "office").rglob("*")}
    assert modes == {0}


def test_show_counts_all_parts_and_shows_the_newest_of_each(workspace: Path) -> None:
    copy_office(workspace)
    told = _said("show")
    heads = [line for line in told.splitlines() if line and not line.startswith(" ")]
    assert heads == [
        *("Mail  15", "Drive  15", "Calendar  12 in 2 calendars", "Tasks  8 in 2 lists"),
        *("Sheets  2", "Docs  3"),
    ]
    assert "Warning: westerly gale" in told
    assert "School trip to Holm Island, 20 November  " not in told


@pytest.mark.parametrize(
    ("part", "shown", "count"),
    [
        ("mail", "Gant perdu sur le bateau", 15),
        ("drive", "berth-plan.png", 15),
        ("calendar", "again and again", 12),
        ("tasks", "Print it twice, once for the island", 8),
        ("sheets", "November, Prices", 2),
        ("docs", "Skipper's handbook", 3),
    ],
)
def test_show_lists_a_part_and_gives_it_as_json(
    part: str, shown: str, count: int, workspace: Path
) -> None:
    copy_office(workspace)
    told = _said("show", part)
    assert shown in told
    assert len(told.splitlines()) == 1 + count
    found = json.loads(_said("show", part, "--json"))
    assert len(found[part]) == count
    assert len(_said("show", part, "-n", "2").splitlines()) == 3


def test_show_of_no_office_says_so_and_makes_none(workspace: Path) -> None:
    for args in (["show"], ["show", "mail"]):
        assert _said(*args) == "no office here; callblocks workspace init makes a sample\n"
    assert json.loads(_said("show", "--json")) == {part: [] for part in _PARTS}
    assert not (workspace / "office").exists()


def _days(told: str) -> list[str]:
    return [line.split()[0] for line in told.splitlines()[1:]]


class _Today(date):
    day_now = "2026-11-18"

    @classmethod
    def today(cls) -> Self:
        return cls.fromisoformat(cls.day_now)


def test_show_names_the_next_events_first(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from callblocks.cli.commands import office as office_parts

    copy_office(workspace)
    monkeypatch.setattr(office_parts, "date", _Today)
    assert _days(_said("show", "calendar", "-n", "2")) == ["2026-11-18", "2026-11-19"]
    told = _said("show", "calendar")
    assert len(_days(told)) == 12
    # A series that still goes on stands where it is next.
    assert "2026-11-23 09:00  Crew meeting" in told
    assert "2026-11-17 15:30  Dentist" in told.splitlines()[-1]
    monkeypatch.setattr(_Today, "day_now", "2036-03-01")
    past = _days(_said("show", "calendar", "-n", "2"))
    assert past == sorted(_days(_said("show", "calendar")))[-2:]


def test_show_gives_the_ids_that_tools_take_and_times_as_they_are_there(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    copy_office(workspace)
    told = _said("show", "calendar")
    assert "2026-11-17 15:30  Dentist" in told
    assert "2026-11-19 09:00  Call with the inn" in told
    assert "(crew)" in told
    assert "(primary)" in told
    assert "Boat (boat)" in _said("show", "tasks")


def test_show_tells_of_what_cannot_be_read_and_shows_the_rest(workspace: Path) -> None:
    office = copy_office(workspace)
    (office / "calendar" / "crew" / "springtide.ics").write_text("this is no event")
    result = run("workspace", "show", "calendar")
    assert result.exit_code == 0
    assert "11 in 2 calendars" in result.stdout
    assert "springtide.ics" in result.stderr


def test_show_says_why_an_office_cannot_be_read(workspace: Path) -> None:
    copy_office(workspace)
    (workspace / "office" / "tasks.sqlite").write_bytes(b"not a database, but long enough" * 50)
    result = run("workspace", "show", "tasks")
    assert result.exit_code == 1
    assert "workspace_damaged" in result.stderr


def test_the_list_of_commands_says_what_each_says() -> None:
    import click

    with click.Context(cli) as ctx:
        group = cli.get_command(ctx, "workspace")
        assert isinstance(group, click.Group)
        for name, (_, about) in COMMANDS.items():
            command = group.get_command(ctx, name)
            assert command is not None
            assert (command.name, command.short_help) == (name, about)


def test_an_account_is_connected_used_and_forgotten(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, object] = {}

    def connect(client_file: Path, token_file: Path, names: list[str], **more: object) -> str:
        asked.update(file=client_file.name, token=token_file, names=names, **more)
        token_file.write_text("kept")
        return "ada@example.org"

    def forget(token_file: Path) -> bool:
        assert token_file.read_text() == "kept"
        return True

    monkeypatch.setattr(auth, "connect", connect)
    monkeypatch.setattr(auth, "forget", forget)
    Path("client.json").write_text("{}")
    told = _said("connect", "client.json", "--only", "tasks_*", "--no-browser")
    assert told == "Connected as ada@example.org. Use it by --office google.\n"
    assert asked["file"] == "client.json"
    assert asked["open_browser"] is False
    assert asked["names"] == [
        *("tasks_list", "tasks_get", "tasks_create"),
        *("tasks_update", "tasks_complete", "tasks_delete"),
    ]
    assert _said("forget") == "Signed out.\n"


def test_connect_refuses_a_pattern_of_nothing_and_tells_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("client.json").write_text("{}")
    assert run("workspace", "connect", "client.json", "--only", "gmial_*").exit_code == 2
    result = run("workspace", "connect", "client.json")
    assert result.exit_code == 2
    assert "no file of a desktop client" in result.stderr

    def fail(*_: object, **__: object) -> str:
        raise ToolError("network_error", "Google cannot be reached")

    monkeypatch.setattr(auth, "connect", fail)
    monkeypatch.setattr(auth, "forget", fail)
    for args in (["connect", "client.json"], ["forget"]):
        result = run("workspace", *args)
        assert result.exit_code == 1
        assert "network_error: Google cannot be reached" in result.stderr


def test_forgetting_where_nobody_is_signed_in_is_no_fault() -> None:
    assert _said("forget") == "No account was connected.\n"


def test_without_an_account_google_says_who_must_do_what() -> None:
    result = run("workspace", "show", "mail", "--office", "google")
    assert result.exit_code == 1
    assert "sign_in_needed: no account is connected" in result.stderr
    assert "callblocks workspace connect" in result.stderr


@pytest.mark.parametrize(
    "args", [["workspace", "show"], ["tools"], ["run", "-"], ["chat", "--prompt", "hello"]]
)
def test_without_its_packages_google_says_what_to_install(
    args: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = extras.fault_of
    monkeypatch.setattr(
        extras, "fault_of", lambda extra: "needs more" if extra == "google" else known(extra)
    )
    monkeypatch.setenv("CALLBLOCKS_OFFICE", "google")
    result = run(*args)
    assert result.exit_code == 2
    assert "pip install 'callblocks[google]'" in result.stderr


def test_show_reads_an_account_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    from callblocks.toolkits.office.google.google_office import GoogleOffice
    from support.google.sample import seed

    with Server() as server:
        office = GoogleOffice(server.credentials(), server.base)
        seed(office, server.state)
        add_calendar(server.state, "empty", "Empty")
        monkeypatch.setattr(
            "callblocks.toolkits.office.google.google_office.GoogleOffice", lambda _: office
        )
        monkeypatch.setattr(auth, "load", lambda file: None)
        told = _said("show", "--office", "google")
        office.close()
        assert server.complaints == []
    heads = [line for line in told.splitlines() if line and not line.startswith(" ")]
    assert heads[0] == "Mail  15"
    assert heads[2:] == [
        *("Calendar  12 in 3 calendars", "Tasks  8 in 2 lists", "Sheets  2", "Docs  3"),
    ]


def _fence(name: str, **given: str) -> str:
    lines = [f"  {key}: {value}" for key, value in given.items()]
    return "\n".join([f"```tool {name} one", "input:", *lines, "```", ""])


def test_a_run_knows_only_the_tools_that_are_named(workspace: Path) -> None:
    copy_office(workspace)
    text = _fence("tasks_get", taskListId="boat", taskId="leftpump")
    allowed = ("--allow-trait", "read_only")
    assert "Have the left pump looked at" in run("run", *allowed, text=text).stdout
    known = run("run", *allowed, "--only", "tasks_*", "--only", "search", text=text)
    assert "Have the left pump looked at" in known.stdout
    unknown = run("run", *allowed, "--only", "gmail_*", text=text)
    assert unknown.exit_code == 1
    assert "no tool is called 'tasks_get'" in " ".join(unknown.stdout.split())
    slip = run("run", *allowed, "--only", "task_get", text=text)
    assert "--only task_get: no tool has such a name; did you mean tasks_get?" in slip.stderr


def test_a_run_at_google_says_that_nobody_is_signed_in(workspace: Path) -> None:
    copy_office(workspace)
    text = _fence("tasks_get", taskListId="boat", taskId="leftpump")
    result = run("run", "--allow-trait", "read_only", "--office", "google", text=text)
    assert result.exit_code == 1
    assert "sign_in_needed" in result.stdout


def test_a_chat_knows_the_office_where_there_is_one(workspace: Path) -> None:
    hint = "--allow tasks_*: no tool has such a name"
    asked = ("chat", "--allow", "tasks_*", "--prompt", "hello")
    assert hint in run(*asked).stderr
    assert hint not in run(*asked, "--only", "tasks_*").stderr
    copy_office(workspace)
    assert hint not in run(*asked).stderr


def test_an_index_that_a_search_left_is_no_office(tmp_path: Path) -> None:
    (tmp_path / "office" / ".index" / "old").mkdir(parents=True)
    assert run("workspace", "init", "-w", str(tmp_path)).exit_code == 0
    assert (tmp_path / "office" / "mail" / "address").exists()
    assert run("workspace", "init", "-w", str(tmp_path)).exit_code == 1
