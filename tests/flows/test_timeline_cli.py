"""Timelines on the command line, as processes: what one writes another reads, follows and moves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.log.open_store import open_store
from support.command_home import TOOLS, fence
from support.postgres import fresh_database
from support.sample_timelines import a_talk, said
from support.terminals import drain, terminal, until

COMMAND = [sys.executable, "-m", "callblocks"]
TEXT = (
    "First a note.\n"
    + fence("note", "n", text="a")
    + "Then two at once.\n"
    + fence("add", "s", a=1, b=2)
    + fence("fail", "f")
    + fence("react.write", "w", path="report.md", content="# Report\n")
    + "That was all.\n"
)
BLOCKS = 17
TALK = 15


class Place:
    """A workspace with a state folder and a store, and the command in it."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder / "workspace"
        self.state = folder / "state"
        self.store = store
        self.folder.mkdir()
        (self.folder / "tools.py").write_text(TOOLS)
        (self.folder / "chat.md").write_text(TEXT)
        self.env = {name: value for name, value in os.environ.items() if "COLOR" not in name}
        self.env |= {"CALLBLOCKS_HOME": str(self.state), "CALLBLOCKS_STORE": store}

    def run(self, *args: str, code: int = 0) -> str:
        """What a command prints; its exit code is known."""
        done = subprocess.run(
            [*COMMAND, *args],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False), done.stderr
        return done.stdout.decode() if code == 0 else done.stderr.decode()

    def fill(self, times: int = 1) -> None:
        """Write a talk of 15 blocks, so often, from this process."""
        with open_store(self.store) as store:
            for _ in range(times):
                store.append("t", a_talk())

    def record(self) -> None:
        """Run the text, in which one call fails."""
        self.run("run", "chat.md", "-T", "tools.py", "--allow", "*", "--timeline", "t", code=1)

    @contextmanager
    def started(self, *args: str, at: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """A command that goes on, with pipes or at a terminal; it is ended after a while."""
        out = subprocess.PIPE if at is None else at
        process = subprocess.Popen(
            [*COMMAND, *args],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL if at is None else at,
            stdout=out,
            stderr=out,
        )
        patience = threading.Timer(60, process.kill)
        patience.start()
        with process:
            try:
                yield process
            finally:
                patience.cancel()
                process.kill()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        yield Place(tmp_path, str(tmp_path / "t.sqlite"))
    else:
        with fresh_database() as address:
            yield Place(tmp_path, address)


@pytest.fixture
def here(tmp_path: Path) -> Place:
    """A place with a store in a file, where the kind of store makes no difference."""
    return Place(tmp_path, str(tmp_path / "t.sqlite"))


def test_what_a_run_leaves_another_process_shows(place: Place) -> None:
    place.record()
    assert place.run("timeline", "list").startswith(f"t  {BLOCKS} blocks  ")
    chat = place.run("timeline", "show", "t", "--expand")
    assert "🔧 3 tool calls, 1 failed" in chat
    assert "  add(a=1, b=2) → 3\n" in chat
    assert "fi:turn_1.files/report.md (text/markdown, 9B)" in chat
    raw = place.run("timeline", "show", "t", "--view", "raw", "--json").splitlines()
    assert [json.loads(line)["seq"] for line in raw] == list(range(1, BLOCKS + 1))
    model = place.run("timeline", "show", "t", "--view", "model")
    assert "[TOOL RESULT w].artifact react.write\n" in model
    assert "hosted_uri" not in model
    assert place.run("timeline", "verify") == f"t  {BLOCKS} blocks, all as they were written\n"


PLAN, NOTES = "fi:turn_1.files/plan.md", "fi:turn_1.files/notes.md"
LINES = (
    f"{PLAN}\n{NOTES}",
    f"- {PLAN}\n- {NOTES}",
    f'["{PLAN}", "{NOTES}"]',
    f'paths: ["{PLAN}", "{NOTES}"]',
    f"paths:\n  - {PLAN}\n  - {NOTES}",
    f'{{"paths": ["{PLAN}",\n"{NOTES}"]}}',
    f"{PLAN}, {NOTES}",
)
OBJECTS = [
    {"type": "react.read", "id": f"r{at}", "operation": "read", "parameters": {"paths": paths}}
    for at, paths in enumerate(([PLAN, NOTES], *LINES))
]
SPELLED = {
    "tool-fence": "".join(
        fence("react.read", f"r{at}", paths=paths)
        for at, paths in enumerate(([PLAN, NOTES], *LINES))
    ),
    "scissors-cat": f"{json.dumps(OBJECTS)}\n\n✂️🐱\n\nSo.\n",
    "emoji-bracket": f"🛠️[react.read {PLAN} {NOTES}]🛠️[/end]"
    + f'🛠️[react.read ["{PLAN}", "{NOTES}"]]🛠️[/end]'
    + "".join(f"🛠️[react.read]\n{body}\n🛠️[/end]" for body in LINES),
}


def test_paths_are_read_however_a_model_spells_them(here: Place) -> None:
    wrote = [fence("react.write", id, path=f"{id}.md", content=id) for id in ("plan", "notes")]
    args = ("--allow", "*", "--timeline", "t", "--json")
    (here.folder / "chat.md").write_text("".join(wrote))
    here.run("run", "chat.md", *args)
    for dialect, text in SPELLED.items():
        (here.folder / "chat.md").write_text(text)
        outcomes = here.run("run", "chat.md", "-d", dialect, *args).splitlines()
        assert len(outcomes) == text.count("react.read")
        for outcome in outcomes:
            status = json.loads(outcome)["output"]
            assert (status["paths"], status["missing"]) == ([PLAN, NOTES], []), dialect


def test_rows_of_the_pool_are_read_though_a_head_cannot_hold_their_bracket(here: Place) -> None:
    for text in (
        "🛠️[react.read so:sources_pool[1-3]]🛠️[/end]",
        "🛠️[react.read]\nso:sources_pool[1-3]\n🛠️[/end]",
    ):
        (here.folder / "chat.md").write_text(text)
        said = here.run("run", "chat.md", "--allow", "*", "--timeline", "t", "--json")
        assert json.loads(said)["output"]["missing"] == ["so:sources_pool[1-3]"]


def test_what_is_exported_and_imported_is_the_same(place: Place, tmp_path: Path) -> None:
    place.fill()
    place.run("timeline", "export", "t", "-o", "t.jsonl")
    other = ("--store", str(tmp_path / "other.sqlite"))
    place.run("timeline", "import", "t.jsonl", *other)
    assert place.run("timeline", "export", "t", *other) == (place.folder / "t.jsonl").read_text()
    assert "all as they were written" in place.run("timeline", "verify", "t", *other)


def test_a_follower_sees_what_another_process_writes(place: Place) -> None:
    place.fill()
    with place.started("timeline", "follow", "t", "--json", "--after", "0") as process:
        first = [read_line(process)["seq"] for _ in range(TALK)]
        place.fill(2)
        second = [read_line(process)["seq"] for _ in range(2 * TALK)]
        assert first + second == list(range(1, 3 * TALK + 1))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        assert (process.returncode, said) == (130, b"callblocks: interrupted\n")


def test_two_runs_at_once_are_two_turns(place: Place) -> None:
    args = ("run", "chat.md", "-T", "tools.py", "--allow", "*", "--timeline", "t")
    with place.started(*args) as one, place.started(*args) as two:
        for process in (one, two):
            process.communicate()
            assert process.returncode == 1
    raw = place.run("timeline", "show", "t", "--view", "raw", "--json").splitlines()
    turns = [json.loads(line)["block"]["turn_id"] for line in raw]
    assert {turn: turns.count(turn) for turn in turns} == {"turn_1": BLOCKS, "turn_2": BLOCKS}
    assert "all as they were written" in place.run("timeline", "verify")


def test_what_is_stopped_says_so_on_the_timeline(here: Place) -> None:
    (here.folder / "tools.py").write_text(
        "import time\n\nfrom callblocks.tools.declare import tool\n\n\n"
        '@tool\ndef wait() -> None:\n    """Wait for ever."""\n'
        "    while True:\n        time.sleep(0.01)\n"
    )
    (here.folder / "chat.md").write_text(fence("wait", "w") + fence("wait", "x") + "Done.\n")
    args = ("run", "chat.md", "-T", "tools.py", "--allow", "*", "--timeline", "t")

    async def called() -> None:
        async for entry in store.follow("t"):
            if entry.block.type == "react.tool.call":
                return

    with open_store(here.store) as store, here.started(*args) as process:
        asyncio.run(called())
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 130
        kinds = [(entry.block.type, entry.block.call_id) for entry in store.entries("t")]
    ended = ["react.tool.call", "react.notice", "react.tool.result"]
    assert kinds[1:] == [(kind, call) for call in ("w", "x") for kind in ended]


def test_a_long_check_shows_how_far_it_is(here: Place) -> None:
    with open_store(here.store) as store:
        store.append("t", [said("user.prompt", "Hi.")] * 2500)
    with (
        terminal(rows=30, columns=80) as (ours, theirs),
        here.started("timeline", "verify", at=theirs) as process,
    ):
        assert "2500" in until(ours, "/2500")
        drain(ours, process)
        assert process.wait() == 0


def test_a_follower_begins_with_the_last_ten_and_its_reader_may_go(here: Place) -> None:
    here.fill(2)
    with here.started("timeline", "follow", "t") as process:
        assert process.stdout is not None
        assert process.stdout.readline().split()[0] == b"%d" % (2 * TALK - 9)
        process.stdout.close()
        here.fill()
        assert process.wait() == 141


def test_a_torn_store_leaves_the_rest_readable(here: Place) -> None:
    """A page of blocks is overwritten, as a broken disk does."""
    with open_store(here.store) as store:
        for number in range(20):
            store.append("t", [said("user.prompt", "words " * 2000, turn=f"turn_{number}")])
    file = Path(here.store)
    content = bytearray(file.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    file.write_bytes(content)
    here.run("timeline", "verify", code=1)
    shown = here.run("timeline", "export", "t", "-f", "markdown", "-o", "t.md", code=1)
    assert shown.splitlines()[-1].split()[1] in ("store_damaged:", "damaged_block:")
    assert (here.folder / "t.md").read_text().count("**User**") > 10


def test_a_missing_artifact_is_found(here: Place) -> None:
    artifacts = Artifacts(here.state / "artifacts")
    artifact = artifacts("report.md", b"# Report")
    block = msgspec.structs.replace(a_talk()[0], meta=artifacts.hosting(artifact))
    with open_store(here.store) as store:
        store.append("t", [block])
    (artifacts.folder / artifact.path).unlink()
    here.run("timeline", "verify", code=1)


def test_a_tampered_file_is_refused_with_the_number_of_the_block(here: Place) -> None:
    here.fill()
    here.run("timeline", "export", "t", "-o", "t.jsonl")
    path = here.folder / "t.jsonl"
    path.write_text(path.read_text().replace("there is no tea", "there is  tea"))
    said = here.run("timeline", "import", "t.jsonl", "--as", "u", code=1)
    assert said.startswith("callblocks: chain_broken: block 7 ")
    with open_store(here.store) as store:
        assert [one.name for one in store.names()] == ["t"]


def test_a_long_timeline_is_paged_in_colours(here: Place) -> None:
    here.fill(2)
    with terminal(rows=10, columns=80) as (ours, theirs):
        here.env |= {"PAGER": "less", "LESS": "-R", "TERM": "xterm"}
        args = ("timeline", "show", "t", "--view", "raw")
        with here.started(*args, at=theirs) as process:
            shown = until(ours, "react.tool.call")
            assert "\x1b[1;36mreact.tool.call" in shown
            assert "assistant.completion" not in shown
            os.write(ours, b"q")
            drain(ours, process)
            assert process.wait() == 0


def test_a_short_timeline_is_not_paged_and_no_color_is_honoured(here: Place) -> None:
    here.fill()
    with terminal(rows=50, columns=80) as (ours, theirs):
        here.env |= {"PAGER": "false", "NO_COLOR": "1", "TERM": "xterm"}
        args = ("timeline", "show", "t")
        with here.started(*args, at=theirs) as process:
            shown = until(ours, "It is 3.")
            assert "\x1b[36m" not in shown
            assert "\x1b[1;36m" not in shown
            assert process.wait() == 0


@pytest.mark.parametrize(
    "args", [["--help"], ["timeline", "--help"], ["timeline", "list", "--help"]]
)
def test_help_imports_no_store(args: list[str]) -> None:
    program = (
        "import sys, atexit\n"
        "heavy = {'sqlite3', 'psycopg', 'callblocks.timeline.recorder', 'rich'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules))))\n"
        f"sys.argv = ['callblocks', *{args!r}]\n"
        "from callblocks.cli.main import main\n"
        "main()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert result.stdout.endswith("\n[]\n")


def read_line(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())
