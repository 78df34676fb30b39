"""`callblocks chats`: the chats of a store, as the page lists them."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from callblocks.cli.commands.chats import COMMANDS, command
from callblocks.server.chats.known_chats import ChatLabels
from callblocks.timeline.log.open_store import open_store
from support.command import run
from support.command_home import move_in
from support.sample_timelines import said


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder, with three chats, of which one was renamed and one deleted."""
    monkeypatch.delenv("CALLBLOCKS_STORE", raising=False)
    folder = move_in(tmp_path, monkeypatch).parent / "state"
    with open_store(folder / "timelines.sqlite") as store:
        store.append("tides", [said("user.prompt", "When is low water?", turn="turn_1")])
        store.append("birds", [said("user.prompt", "Where do puffins nest?", turn="turn_1")])
        store.append("gone", [said("user.prompt", "Some puffins", turn="turn_1")])
        labels = ChatLabels(store)
        labels.rename("birds", "Sea birds")
        labels.delete("gone", 1)
    return folder


def test_a_command_is_named_as_the_table_says() -> None:
    with click.Context(command) as ctx:
        for name, (_, about) in COMMANDS.items():
            found = command.get_command(ctx, name)
            assert found is not None
            assert (found.name, found.short_help) == (name, about)


@pytest.mark.usefixtures("state")
def test_chats_are_listed_by_their_titles() -> None:
    lines = run("chats", "list").stdout.splitlines()
    assert len(lines) == 2
    assert any("birds" in line and "Sea birds" in line for line in lines)
    assert any("When is low water?" in line for line in lines)
    assert "1 more" in run("chats", "list", "--limit", "1").stdout
    listed = [json.loads(line) for line in run("chats", "list", "--json").stdout.splitlines()]
    assert {one["name"] for one in listed} == {"birds", "tides"}


@pytest.mark.usefixtures("state")
def test_chats_are_found_by_what_was_said() -> None:
    result = run("chats", "search", "puffins")
    assert result.exit_code == 0
    assert "birds  Sea birds" in result.stdout
    assert "gone" not in result.stdout
    (found,) = run("chats", "search", "low", "wat", "--json").stdout.splitlines()
    assert json.loads(found)["turn"] == "turn_1"
    nothing = run("chats", "search", "desert")
    assert (nothing.exit_code, nothing.stdout.strip()) == (1, "No chat has all of these words.")


@pytest.mark.usefixtures("state")
def test_a_chat_is_shown_and_none_is_said_where_none_is() -> None:
    assert "When is low water?" in run("chats", "show", "tides").stdout


def test_an_empty_store_says_how_to_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CALLBLOCKS_STORE", raising=False)
    folder = move_in(tmp_path, monkeypatch).parent / "state"
    with open_store(folder / "timelines.sqlite"):
        pass
    assert "callblocks chat" in run("chats", "list").stdout
