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

from callblocks.cli.commands.timeline import COMMANDS, command
from callblocks.core.blocks import Block
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.log.open_store import open_store
from support.command import run
from support.command_home import move_in
from support.postgres import fresh_database
from support.sample_timelines import TS, a_talk, said


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


def test_what_was_noted_of_a_list_shows_that_the_end_was_cut(state: Path) -> None:
    noted = run("timeline", "list").stdout.splitlines()[1].split()[-1]
    whole = json.loads(run("timeline", "list", "--json").stdout.splitlines()[1])
    for last in (noted, f"{whole['count']}:{whole['hash']}"):
        assert run("timeline", "verify", "talk", "--last", last).exit_code == 0
    with closing(sqlite3.connect(state / "timelines.sqlite")) as connection, connection:
        connection.execute("delete from blocks where timeline = 1 and seq > 4")
        connection.execute(
            "update timelines set count = 4, hash = (select hash from blocks"
            " where timeline = 1 and seq = 4) where name = 'talk'"
        )
    assert run("timeline", "verify", "talk").exit_code == 0
    result = run("timeline", "verify", "talk", "--last", noted)
    assert result.exit_code == 1
    assert "15 blocks were noted, and there are 4" in result.stdout


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    "args",
    [
        ["--last", f"1:{'0' * 64}"],
        ["talk", "short", "--last", f"1:{'0' * 64}"],
        ["talk", "--last", "15"],
        ["talk", "--last", "1:abc"],
        ["talk", "--last", f"0:{'0' * 64}"],
        ["talk", "--last", f"1:{'0' * 65}"],
    ],
)
def test_what_cannot_have_been_noted_is_usage(args: list[str]) -> None:
    assert run("timeline", "verify", *args).exit_code == 2


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


def lose(state: Path, *numbers: int) -> None:
    """Take blocks of the timeline `talk` away."""
    with closing(sqlite3.connect(state / "timelines.sqlite")) as connection, connection:
        for seq in numbers:
            connection.execute(
                "delete from blocks where seq = ? and timeline ="
                " (select id from timelines where name = 'talk')",
                (seq,),
            )


@pytest.mark.parametrize("form", ["jsonl", "markdown", "html"])
def test_an_export_with_a_gap_names_what_is_missing(state: Path, form: str) -> None:
    lose(state, 1, 3, 4, 15)
    result = run("timeline", "export", "talk", "-f", form)
    line = one_line(result, 1)
    assert line == "callblocks: chain_broken: these numbers are missing: 1, 3 to 4, 15"
    if form == "jsonl":
        lines = [json.loads(line) for line in result.stdout.splitlines()[1:-1]]
        assert [one["seq"] for one in lines] == list(range(1, 16))
        assert [one["seq"] for one in lines if one["block"] is None] == [1, 3, 4, 15]
    else:
        for words in ("Block 1 is", "Blocks 3 to 4 are", "Block 15 is"):
            assert f"{words} missing." in result.stdout


@pytest.mark.parametrize("view", ["chat", "raw", "model"])
def test_what_is_shown_of_a_gap_is_one_line(state: Path, view: str) -> None:
    lose(state, 3, 4, 15)
    result = run("timeline", "show", "talk", "--view", view)
    assert (result.exit_code, result.stderr) == (0, "")
    said = result.stdout.lower()
    assert said.count("blocks 3 to 4 are missing") == said.count("block 15 is missing") == 1


def test_a_gap_may_be_of_the_turn_that_is_shown(state: Path) -> None:
    lose(state, 3)
    assert "Block 3 is missing." in run("timeline", "show", "talk", "--turn", "turn_1").stdout


def test_a_turn_that_is_not_there_is_told(state: Path) -> None:
    line = one_line(run("timeline", "show", "talk", "--turn", "turn_7"), 1)
    assert line == "callblocks: talk has no block of turn_7"
    line = one_line(run("timeline", "show", "talk", "--turn", "turn_1", "--after", "15"), 1)
    assert line == "callblocks: talk has no block of turn_1 after 15"


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("args", [[], ["--view", "raw"], ["--view", "raw", "--json"]])
def test_nothing_after_the_end_is_told(args: list[str]) -> None:
    result = run("timeline", "show", "talk", "--after", "15", *args)
    assert one_line(result, 0) == "callblocks: talk ends with block 15: there is none after 15"
    assert result.stdout == ""


def test_a_timeline_of_records_alone_has_no_chat_and_says_so(state: Path) -> None:
    with open_store(state / "timelines.sqlite") as store:
        store.append("new", [said("timeline.settings", "{}")])
    result = run("timeline", "show", "new")
    assert "--view raw shows every block" in one_line(result, 0)


@pytest.mark.usefixtures("state")
def test_a_place_that_cannot_be_written_is_named_as_it_was_given() -> None:
    line = one_line(run("timeline", "export", "talk", "-o", "nowhere/x"), 2)
    assert line == "callblocks: nowhere/x: No such file or directory"


def test_a_refused_import_makes_no_store(home: Path) -> None:
    for args in ([], ["--store", "new.sqlite"]):
        one_line(run("timeline", "import", "-", *args, text="nonsense"), 1)
    assert not Path("new.sqlite").exists()
    assert not (home.parent / "state" / "timelines.sqlite").exists()


def test_a_store_that_cannot_be_opened_is_not_to_be_verified(home: Path) -> None:
    Path("my store.sqlite").write_bytes(b"no database at all " * 100)
    line = one_line(run("timeline", "list", "--store", "my store.sqlite"), 1)
    assert "restore a copy of it" in line
    assert "sqlite3 'my store.sqlite' .recover" in line
    assert "verify" not in line
