"""`callblocks run --timeline`: what is written down, and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from callblocks.core.blocks import Block
from callblocks.timeline.log.open_store import open_store
from support.command import run
from support.command_home import TOOLS, fence, move_in
from support.sample_timelines import said

TEXT = (
    "First a note.\n"
    + fence("note", "n", text="a")
    + "Then two at once.\n"
    + fence("add", "s", a=1, b=2)
    + fence("fail", "f")
    + "That was all.\n"
)


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CALLBLOCKS_STORE", raising=False)
    folder = move_in(tmp_path, monkeypatch)
    (folder / "tools.py").write_text(TOOLS)
    return folder


@pytest.fixture
def state(workspace: Path) -> Path:
    return workspace.parent / "state"


def record(text: str, *args: str, name: str = "t") -> Result:
    return run("run", "-T", "tools.py", "--allow", "*", "--timeline", name, *args, text=text)


def blocks(state: Path, name: str = "t") -> list[Block]:
    with open_store(state / "timelines.sqlite") as store:
        return [entry.block for entry in store.entries(name)]


def kinds(found: list[Block]) -> list[tuple[str, str]]:
    return [(block.type, block.call_id) for block in found]


def test_a_run_is_written_down_in_order(state: Path) -> None:
    result = record(TEXT)
    assert result.exit_code == 1
    assert kinds(blocks(state)) == [
        ("timeline.settings", ""),
        ("react.notes", "n"),
        ("react.tool.call", "n"),
        ("react.notice", "n"),
        ("react.tool.result", "n"),
        ("react.tool.result", "n"),
        ("react.notes", "s"),
        ("react.tool.call", "s"),
        ("react.tool.result", "s"),
        ("react.tool.result", "s"),
        ("react.tool.call", "f"),
        ("react.notice", "f"),
        ("react.tool.result", "f"),
        ("assistant.completion", ""),
    ]


def test_what_is_shown_does_not_change_but_for_where_it_was_recorded(state: Path) -> None:
    recorded = record(TEXT).stdout.splitlines()
    plain = run("run", "-T", "tools.py", "--allow", "*", text=TEXT).stdout.splitlines()
    assert recorded == [*plain, f"ⓘ recorded in t, turn_1 ({state}/timelines.sqlite)"]


@pytest.mark.parametrize("args", [["--json"], ["--reply"]])
def test_what_is_for_programs_does_not_change(args: list[str]) -> None:
    text = fence("add", "s", a=1, b=2)
    result = record(text, *args)
    plain = run("run", "-T", "tools.py", "--allow", "*", *args, text=text)
    assert result.stderr.startswith("callblocks: recorded in t, turn_1 (")
    if args == ["--reply"]:
        assert result.stdout == plain.stdout
    else:
        found, wanted = (json.loads(one.stdout) for one in (result, plain))
        assert found | {"seconds": 0} == wanted | {"seconds": 0}


def test_each_run_is_a_turn_after_those_there_are(state: Path) -> None:
    with open_store(state / "timelines.sqlite") as store:
        store.append("t", [said("user.prompt", "a", turn="turn_7"), said("x", "y", turn="odd")])
    record(fence("add", "s", a=1, b=2))
    record(fence("add", "s", a=1, b=2))
    assert list(dict.fromkeys(block.turn_id for block in blocks(state)))[2:] == ["turn_8", "turn_9"]


def test_a_turn_that_another_run_has_is_left_to_it(state: Path) -> None:
    (state / "timelines" / "t" / "turn_1").mkdir(parents=True)
    record(fence("add", "s", a=1, b=2))
    assert blocks(state)[0].turn_id == "turn_2"


def test_the_react_tools_are_there_only_with_a_timeline(state: Path) -> None:
    text = fence("react.write", "w", path="report.md", content="# Report")
    assert "unknown_tool" in run("run", "--allow", "*", text=text).stdout
    assert record(text).exit_code == 0
    assert (state / "timelines/t/turn_1/files/report.md").read_text() == "# Report"
    paths = [block.path for block in blocks(state) if block.type == "react.tool.result"]
    assert paths == ["tc:turn_1.w.result", "fi:turn_1.files/report.md"]


def test_what_a_turn_wrote_the_next_can_read(state: Path) -> None:
    record(fence("react.write", "w", path="report.md", content="# Report"))
    path = "fi:turn_1.files/report.md"
    result = record(fence("react.read", "r", paths=[path, "fi:turn_1.files/no.md"]), "--json")
    status = json.loads(result.stdout)["output"]
    assert status["exists_in_visible_context"] == [path]
    assert status["missing"] == ["fi:turn_1.files/no.md"]


@pytest.mark.parametrize("args", [[], ["--policy", "off.toml"], ["--allow", "*", "--dry-run"]])
def test_where_nothing_runs_nothing_is_written(state: Path, args: list[str]) -> None:
    Path("off.toml").write_text("autoexec = false\n")
    result = run("run", "-T", "tools.py", "--timeline", "t", *args, text=TEXT)
    assert result.exit_code == 0
    assert "recorded" not in result.stdout
    assert blocks(state) == []
    assert not (state / "timelines/t/turn_1").exists()


def test_a_text_without_words_and_calls_leaves_nothing(state: Path) -> None:
    assert "recorded" not in record("\n").stdout
    assert blocks(state) == []
    assert not (state / "timelines/t/turn_1").exists()


def test_a_text_without_calls_is_an_answer(state: Path) -> None:
    record("It is 3.\n")
    assert [block.text for block in blocks(state)][1:] == ["It is 3."]


def test_what_a_policy_refuses_is_written_down_too(state: Path) -> None:
    text = fence("note", "n", text="a")
    run("run", "-T", "tools.py", "--allow", "add", "--timeline", "t", text=text)
    found = blocks(state)
    assert [block.type for block in found][1:4] == [
        *("react.tool.call", "react.notice", "react.tool.result")
    ]
    assert json.loads(found[-1].text or "")["error"]["code"] == "approval_required"


def test_the_grant_that_lets_a_call_run_is_written_down(state: Path) -> None:
    options = ("-T", "tools.py", "--allow", "add", "--timeline", "t")
    waiting = run("run", *options, text=fence("note", "n", text="a"))
    id = waiting.stdout.partition("callblocks approvals approve ")[2].split(";")[0].split()[0]
    assert run("approvals", "approve", id, "--for", "10").exit_code == 0
    run("run", *options, text=fence("note", "m", text="b"))
    (granted,) = (block for block in blocks(state) if block.type == "timeline.approval")
    assert granted.call_id == "m"
    assert (granted.meta["approval"], granted.meta["minutes"]) == (id, 10)


def test_calls_that_have_a_result_are_left_alone(state: Path) -> None:
    text = "Old.\n🛠️[add 1 2]\n🛠️[/end]\n🛠️[/result 1]\n3\n🛠️[/end]\nNew.\n🛠️[add 3 4]\n🛠️[/end]\n"
    record(text)
    assert [block.type for block in blocks(state)].count("react.tool.call") == 1
    assert [block.text for block in blocks(state) if block.type == "react.notes"] == [
        "Old.\n\nNew."
    ]


def test_a_call_is_on_the_timeline_before_it_runs(state: Path, workspace: Path) -> None:
    (workspace / "look.py").write_text(
        "from callblocks.timeline.log.open_store import open_store\n"
        "from callblocks.tools.declare import tool\n\n\n"
        "@tool\ndef look() -> list[str]:\n"
        '    """Look at the timeline."""\n'
        f"    with open_store({str(state / 'timelines.sqlite')!r}) as store:\n"
        "        return [entry.block.type for entry in store.entries('t')]\n"
    )
    result = run(
        *("run", "-T", "look.py", "--allow", "*", "--timeline", "t", "--json"),
        text="I look.\n" + fence("look"),
    )
    seen = json.loads(result.stdout)["output"]
    assert seen == ["timeline.settings", "react.notes", "react.tool.call"]


def test_another_store_is_used_and_named(workspace: Path) -> None:
    result = record(fence("add", "s", a=1, b=2), "--store", "other.sqlite")
    assert "ⓘ recorded in t, turn_1 (other.sqlite)" in result.stdout
    with open_store("other.sqlite") as store:
        assert store.head("t").count == 4


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--timeline", "../x"], 2, "bad_name"),
        (["--timeline", "t", "--store", "tools.py"], 1, "store_damaged"),
        (["--timeline", "t", "--store", "postgresql://u:pw1@127.0.0.1:1/x"], 1, "store_unavail"),
    ],
)
def test_where_it_cannot_be_written_nothing_runs(args: list[str], code: int, words: str) -> None:
    result = run("run", "-T", "tools.py", "--allow", "*", *args, text=fence("note", text="a"))
    assert result.exit_code == code
    (line,) = result.stderr.splitlines()
    assert words in line
    assert "pw1" not in line
    assert not Path("notes.txt").exists()


@pytest.mark.parametrize("name", ["timelines", "timelines/t"])
def test_a_place_for_files_that_cannot_be_made_is_one_line(state: Path, name: str) -> None:
    (state / name).parent.mkdir(parents=True, exist_ok=True)
    (state / name).write_text("no folder")
    result = record(fence("note", "n", text="a"))
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert str(state / "timelines") in line
    assert not Path("notes.txt").exists()


def test_a_store_that_fails_on_the_way_stops_the_run(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from callblocks.core.errors import TimelineError
    from callblocks.timeline.recorder import Recorder

    def full(*_: object) -> None:
        raise TimelineError("store_full", "no room")

    monkeypatch.setattr(Recorder, "started", full)
    result = record(fence("note", "n", text="a"))
    assert result.exit_code == 1
    assert result.stderr == "callblocks: store_full: no room\n"
    assert not Path("notes.txt").exists()


def test_what_was_done_is_shown_though_it_could_not_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from callblocks.core.errors import TimelineError
    from callblocks.timeline.recorder import Recorder

    def full(*_: object, **__: object) -> None:
        raise TimelineError("store_full", "no room")

    monkeypatch.setattr(Recorder, "ended", full)
    result = record(fence("note", "n", text="a"))
    assert (result.exit_code, result.stderr) == (1, "callblocks: store_full: no room\n")
    assert "note(text=a) → written" in result.stdout


def test_calls_that_are_not_recorded_are_counted() -> None:
    one = "🛠️[add 1 2]\n🛠️[/end]\n🛠️[/result 1]\n3\n🛠️[/end]\n"
    assert record(one).stdout.splitlines()[-1] == (
        "ⓘ not recorded: 1 call, which has its result in the text already"
    )
    result = record("Old.\n" + one + one.replace("1]", "2]"), "--reply")
    assert result.stderr.splitlines()[-1] == (
        "callblocks: not recorded: 2 calls, which have their result in the text already"
    )


def test_timelines_of_one_name_in_two_stores_share_nothing(state: Path) -> None:
    record(fence("react.write", "w", path="report.md", content="# Ours"))
    path = "fi:turn_1.files/report.md"
    other = ["--store", "other.sqlite", "--json"]
    record(fence("add", "a", a=1, b=2), *other)
    result = record(fence("react.read", "r", paths=[path]), *other)
    assert json.loads(result.stdout)["output"]["missing"] == [path]
    record(fence("react.write", "w", path="report.md", content="# Theirs"), *other)
    assert "recorded in t, turn_2 (" in record(fence("add", "a", a=1, b=2)).stdout
    mine, theirs = sorted((state / "timelines").iterdir())
    assert mine.name == "t"
    assert theirs.name.startswith("t+")
    assert (mine / "turn_1/files/report.md").read_text() == "# Ours"
    assert (theirs / "turn_3/files/report.md").read_text() == "# Theirs"


def test_the_turn_is_on_the_timeline_before_anything_runs(state: Path) -> None:
    record(TEXT)
    first = blocks(state)[0]
    assert (first.type, first.turn_id) == ("timeline.settings", "turn_1")


def test_a_turn_that_is_taken_while_the_text_is_read_is_left_to_the_other(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from callblocks.cli.commands.run import CallsRun
    from callblocks.toolkits.turn_files import open_recorder

    read = CallsRun.read

    def slow(*args: object) -> None:
        read(*args)  # pyright: ignore[reportArgumentType] passed on as it came
        with open_recorder(state, "t") as other:
            assert other.new_turn() == "turn_1"

    monkeypatch.setattr(CallsRun, "read", slow)
    result = record(fence("react.write", "w", path="a.md", content="# A") + fence("add", a=1, b=2))
    assert "recorded in t, turn_2 (" in result.stdout
    assert (state / "timelines/t/turn_2/files/a.md").read_text() == "# A"
    assert {block.turn_id for block in blocks(state)[1:]} == {"turn_2"}


def test_what_the_person_asked_and_gave_is_written_first(state: Path) -> None:
    Path("numbers.csv").write_text("1,2\n")
    Path("more.txt").write_text("3\n")
    record(
        fence("react.read", "r", paths=["fi:turn_1.user.attachments/numbers.csv"]),
        *("--prompt", "Add them up.", "--attach", "numbers.csv", "--attach", "more.txt"),
    )
    found = blocks(state)
    assert kinds(found)[:7] == [
        ("timeline.settings", ""),
        ("user.prompt", ""),
        *[("user.attachment", "")] * 4,
        ("react.tool.call", "r"),
    ]
    assert found[1].text == "Add them up."
    assert found[3].text == "1,2\n"
    assert (state / "timelines/t/turn_1/attachments/more.txt").read_text() == "3\n"


def test_a_prompt_alone_is_a_turn(state: Path) -> None:
    assert "recorded in t, turn_1" in record("", "--prompt", "Hello?").stdout
    assert [block.type for block in blocks(state)] == ["timeline.settings", "user.prompt"]


def test_skills_are_found_in_their_folder() -> None:
    Path("skills/a").mkdir(parents=True)
    Path("skills/a/b.md").write_text("# How\n\nSo.\n")
    Path("skills/a/c.md").write_bytes(b"\xff")
    result = record(fence("react.read", "r", paths=["sk:a.b"]), "--skills", "skills", "--json")
    assert json.loads(result.stdout.splitlines()[-1])["output"]["missing_skills"] == []
    first = result.stderr.splitlines()[0]
    assert first == "callblocks: --skills: a/c.md is no skill: it is not UTF-8 text"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--attach", "a.txt", "--attach", "x/a.txt"], "another file has the name a.txt"),
        (["--attach", "nowhere"], "nowhere"),
        (["--skills", "nowhere"], "nowhere"),
        (["--attach", "a\nb"], "--attach"),
    ],
)
def test_what_cannot_be_attached_is_one_line_and_nothing_runs(
    state: Path, args: list[str], words: str
) -> None:
    Path("x").mkdir()
    for name in ("a.txt", "x/a.txt", "a\nb"):
        Path(name).write_text("a")
    result = record(fence("note", "n", text="a"), *args)
    assert result.exit_code == 2
    assert words in result.stderr.splitlines()[-1]
    assert not Path("notes.txt").exists()
    assert blocks(state) == []


def test_a_file_that_is_too_large_is_not_attached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callblocks.toolkits.turn_files.MAX_FILE", 3)
    Path("a.txt").write_text("four")
    result = record("", "--attach", "a.txt")
    assert (result.exit_code, result.stderr) == (
        2,
        "callblocks: --attach a.txt: it has more than 3 bytes\n",
    )


@pytest.mark.parametrize("args", [["--prompt", "a"], ["--attach", "tools.py"], ["--skills", "."]])
def test_what_goes_with_a_timeline_needs_one(args: list[str]) -> None:
    result = run("run", *args, text="")
    assert result.exit_code == 2
    assert f"{args[0]} goes with --timeline" in result.stderr
