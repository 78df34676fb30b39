"""`callblocks timeline` within this process; what needs others is in tests/flows."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import Result

from callblocks.cli.timeline import COMMANDS, command
from callblocks.model.blocks import Block
from callblocks.timeline.keeping.artifacts import Artifacts
from callblocks.timeline.stores.opening import open_store
from support.command import run
from support.home import move_in
from support.postgres import fresh_database
from support.talks import TS, a_talk, said


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place without any timeline."""
    monkeypatch.delenv("CALLBLOCKS_STORE", raising=False)
    return move_in(tmp_path, monkeypatch)


@pytest.fixture
def state(home: Path) -> Path:
    """The state folder, with the timelines `talk` and `short`."""
    folder = home.parent / "state"
    with open_store(folder / "timelines.sqlite") as store:
        store.append("talk", a_talk())
        store.append("short", [said("user.prompt", "Hi.", turn="turn_9")])
    return folder


def one_line(result: Result, code: int) -> str:
    """What is said when it goes wrong: one line, no traceback."""
    assert result.exit_code == code
    assert result.exception is None or isinstance(result.exception, SystemExit)
    (line,) = result.stderr.splitlines()
    return line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    with click.Context(command) as ctx:
        found = command.get_command(ctx, name)
    assert found is not None
    assert (found.name, found.short_help) == (name, COMMANDS[name][1])


@pytest.mark.usefixtures("home")
def test_where_nothing_is_kept_that_is_said() -> None:
    assert run("timeline", "list").stdout == "No timeline is kept here.\n"
    assert run("timeline", "list", "--json").stdout == ""
    assert run("timeline", "verify").stdout == "No timeline is kept here.\n"


@pytest.mark.usefixtures("state")
def test_the_list_names_each_timeline() -> None:
    short, talk = run("timeline", "list").stdout.splitlines()
    assert short.startswith("short   1 block  ")
    assert talk.startswith("talk   15 blocks  ")
    first, second = map(json.loads, run("timeline", "list", "--json").stdout.splitlines())
    assert (first["name"], second["count"]) == ("short", 15)


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("args", [["show"], ["follow"], ["verify"], ["export"]])
def test_an_unknown_timeline_is_one_line(args: list[str]) -> None:
    said = one_line(run("timeline", *args, "tolk"), 1)
    assert said == "callblocks: unknown_timeline: no timeline has the name tolk; did you mean talk?"


@pytest.mark.usefixtures("state")
def test_a_bad_name_is_usage() -> None:
    assert "bad_name" in one_line(run("timeline", "show", "../x"), 2)


@pytest.mark.usefixtures("state")
def test_the_chat_is_what_is_shown() -> None:
    folded = run("timeline", "show", "talk").stdout
    assert "🔧 2 tool calls, 1 failed (show details)" in folded
    assert "add(a=1, b=2) → 3" in run("timeline", "show", "talk", "--expand").stdout


@pytest.mark.usefixtures("state")
def test_the_raw_view_has_every_block() -> None:
    shown = run("timeline", "show", "talk", "--view", "raw").stdout
    assert sum("2030-01-31 12:00:00" in line[:30] for line in shown.splitlines()) == 15
    later = run("timeline", "show", "talk", "--view", "raw", "--after", "13", "--json").stdout
    assert [json.loads(line)["seq"] for line in later.splitlines()] == [14, 15]


@pytest.mark.usefixtures("state")
def test_the_model_view_has_what_the_model_gets() -> None:
    shown = run("timeline", "show", "talk", "--view", "model").stdout
    assert shown.startswith("[User say]: Add them up.\n")
    assert "[TOOL CALL c1].call add\n" in shown
    assert shown.endswith("── cache point ──\n")
    lines = run("timeline", "show", "talk", "--view", "model", "--json").stdout.splitlines()
    assert {json.loads(line)["type"] for line in lines} == {"text", "image"}


@pytest.mark.usefixtures("state")
def test_the_model_view_can_be_folded() -> None:
    whole = run("timeline", "show", "talk", "--view", "model").stdout
    folded = run("timeline", "show", "talk", "--view", "model", "--budget", "60").stdout
    assert len(folded) < len(whole)
    assert "folded" in folded or "too many to show" in folded


def test_a_turn_can_be_shown_alone(state: Path) -> None:
    with open_store(state / "timelines.sqlite") as store:
        store.append("talk", [said("user.prompt", "Again.", turn="turn_2")])
    shown = run("timeline", "show", "talk", "--turn", "turn_2").stdout
    assert shown.splitlines()[0] == "── turn_2"
    assert "Add them up." not in shown


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    "args",
    [
        ["--view", "chat", "--json"],
        ["--view", "model", "--after", "3"],
        ["--view", "model", "--turn", "turn_1"],
        ["--view", "raw", "--budget", "60"],
        ["--after", "-1"],
        ["--view", "web"],
    ],
)
def test_what_does_not_go_together_is_usage(args: list[str]) -> None:
    assert run("timeline", "show", "talk", *args).exit_code == 2


def test_verify_names_what_was_changed(state: Path) -> None:
    with closing(sqlite3.connect(state / "timelines.sqlite")) as connection, connection:
        connection.execute("update blocks set body = x'7b7d' where seq = 3")
    result = run("timeline", "verify")
    assert result.exit_code == 1
    first, second, *findings = result.stdout.splitlines()
    assert first == "short  1 block, all as they were written"
    assert second.startswith("talk  15 blocks, ")
    assert findings[0].split()[:2] == ["3", "chain_broken"]
    assert run("timeline", "verify", "short").exit_code == 0


def test_what_else_is_there_can_still_be_read(state: Path, home: Path) -> None:
    with closing(sqlite3.connect(state / "timelines.sqlite")) as connection, connection:
        connection.execute("update blocks set body = x'00' where seq = 3")
    assert "Block 3 cannot be read." in run("timeline", "show", "talk").stdout
    assert "timeline.damaged" in run("timeline", "show", "talk", "--view", "raw").stdout
    for form in ("jsonl", "markdown", "html"):
        target = home / f"talk.{form}"
        result = run("timeline", "export", "talk", "-f", form, "-o", str(target))
        assert one_line(result, 1) == ("callblocks: damaged_block: left out what cannot be read: 3")
        assert "It is 3." in target.read_text("utf-8")


@pytest.fixture
def kept(state: Path) -> Path:
    """The one file that the timeline `talk` names."""
    artifacts = Artifacts(state / "artifacts")
    artifact = artifacts("a.txt", b"content")
    block = Block(
        type="react.tool.result",
        author="tool",
        turn_id="turn_1",
        ts=TS,
        path="fi:turn_1.files/a.txt",
        meta=artifacts.hosting(artifact),
    )
    with open_store(state / "timelines.sqlite") as store:
        store.append("talk", [block])
    return state / "artifacts" / artifact.path


def test_verify_names_a_file_that_is_missing(kept: Path) -> None:
    assert run("timeline", "verify").exit_code == 0
    kept.unlink()
    result = run("timeline", "verify", "talk")
    assert result.exit_code == 1
    assert "   16  artifact_missing  fi:turn_1.files/a.txt: artifact\n" in result.stdout
    assert run("timeline", "show", "talk").exit_code == 0


def test_artifacts_may_be_elsewhere(kept: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (kept.parent.parent.parent).rename(elsewhere)
    assert run("timeline", "verify", "talk").exit_code == 1
    assert run("timeline", "verify", "talk", "--artifacts", str(elsewhere)).exit_code == 0


def test_an_export_goes_in_again_and_is_the_same(state: Path, home: Path) -> None:
    assert run("timeline", "export", "talk", "-o", "talk.jsonl").exit_code == 0
    other = str(home / "other.sqlite")
    result = run("timeline", "import", "talk.jsonl", "--store", other)
    assert result.stdout == f"imported talk: 15 blocks, into {other}\n"
    again = run("timeline", "export", "talk", "--store", other).stdout_bytes
    assert again == Path("talk.jsonl").read_bytes()
    assert run("timeline", "verify", "--store", other).exit_code == 0


@pytest.mark.usefixtures("state")
def test_another_name_is_told() -> None:
    content = run("timeline", "export", "talk").stdout_bytes
    result = run("timeline", "import", "-", "--as", "two", text=content)
    assert result.exit_code == 0
    assert "its hashes, right under the name talk, are new under this one" in result.stdout
    assert run("timeline", "verify", "two").exit_code == 0


@pytest.mark.usefixtures("state")
def test_a_timeline_that_is_there_is_not_touched() -> None:
    content = run("timeline", "export", "talk").stdout_bytes
    said = one_line(run("timeline", "import", "-", text=content), 1)
    assert said.startswith("callblocks: timeline_exists: ")


@pytest.mark.usefixtures("state")
def test_a_tampered_import_is_one_line_with_its_block() -> None:
    content = run("timeline", "export", "talk").stdout_bytes.replace(b"Add them", b"Sub them")
    said = one_line(run("timeline", "import", "-", "--as", "two", text=content), 1)
    assert said.startswith("callblocks: chain_broken: block 1 ")
    assert "two" not in run("timeline", "list").stdout


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "bad_import"),
        (b'{"format":"callblocks timeline","version":9,"name":"a"}\n', "newer_schema"),
        (
            b'{"format":"callblocks timeline","version":1,"name":"a"}\n' + b"x" * 17_000_000,
            "block_",
        ),
    ],
)
def test_a_bad_import_is_one_line(content: bytes, code: str) -> None:
    said = one_line(run("timeline", "import", "-", text=content), 1)
    assert said.startswith(f"callblocks: {code}")


@pytest.mark.usefixtures("state")
def test_an_import_may_come_through_a_pipe(home: Path) -> None:
    content = run("timeline", "export", "talk").stdout_bytes
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_bytes, args=[content], daemon=True)
    writer.start()
    assert run("timeline", "import", "pipe", "--as", "two").exit_code == 0
    writer.join()


@pytest.mark.usefixtures("home")
def test_no_file_to_import_is_usage() -> None:
    assert run("timeline", "import", "nothing.jsonl").exit_code == 2


@pytest.mark.usefixtures("state")
def test_a_half_written_export_is_not_left_behind(home: Path) -> None:
    (home / "full").mkdir()
    result = run("timeline", "export", "talk", "-o", "nowhere/talk.jsonl")
    assert "nowhere/talk.jsonl" in one_line(result, 2)
    Path("talk.jsonl").mkdir()
    assert run("timeline", "export", "talk", "-o", "talk.jsonl").exit_code == 2
    assert sorted(path.name for path in home.iterdir()) == ["full", "talk.jsonl"]


def test_a_torn_store_is_one_line(state: Path) -> None:
    (state / "timelines.sqlite").write_bytes(b"no database " * 1000)
    for args in (["list"], ["show", "talk"], ["verify"], ["export", "talk"]):
        said = one_line(run("timeline", *args), 1)
        assert said.startswith("callblocks: store_damaged: ")


def test_a_newer_store_is_one_line(state: Path) -> None:
    with closing(sqlite3.connect(state / "timelines.sqlite")) as connection, connection:
        connection.execute("pragma user_version = 99")
    said = one_line(run("timeline", "list"), 1)
    assert said.startswith("callblocks: newer_schema: ")


@pytest.mark.usefixtures("home")
def test_a_store_that_is_not_there_is_not_made() -> None:
    said = one_line(run("timeline", "list", "--store", "typo.sqlite"), 1)
    assert said.startswith("callblocks: store_unavailable: no store is at typo.sqlite")
    assert not Path("typo.sqlite").exists()


@pytest.fixture
def address() -> Iterator[str]:
    with fresh_database() as address:
        yield address


@pytest.mark.usefixtures("state")
def test_the_same_goes_for_a_server(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("timeline", "export", "talk", "-o", "talk.jsonl")
    monkeypatch.setenv("CALLBLOCKS_STORE", address)
    assert run("timeline", "list").stdout == "No timeline is kept here.\n"
    assert run("timeline", "import", "talk.jsonl").exit_code == 0
    assert run("timeline", "list").stdout.startswith("talk  15 blocks")
    assert run("timeline", "verify", "talk").exit_code == 0
    assert run("timeline", "export", "talk").stdout_bytes == Path("talk.jsonl").read_bytes()
    assert "unknown_timeline" in one_line(run("timeline", "show", "short"), 1)
