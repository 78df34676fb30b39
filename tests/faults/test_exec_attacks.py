"""Hostile code with a contract: a code for each end, within the limits, and what was made is kept.

The bombs come after the limits were seen to hold on something small.
"""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest

from callblocks.core.outcomes import Outcome
from callblocks.guard.sandbox.sandbox import MIB
from callblocks.toolkits.exec.exec_tools import ExecLimits
from support.exec_runs import ALLOW_CODE, PYTHON, SHELL, code_tools, contract, execute
from support.recorded_sessions import Session, a_session
from support.sandboxes import groups, strangers
from support.tool_runtime import call

SMALL = ExecLimits(memory=64 * MIB, processes=16, files=8 * MIB)
FIRST = "import os, sys\nopen('files/first.txt', 'w').write('kept')\n"


@pytest.fixture(scope="module", autouse=True)
def _bounded() -> Generator[None, None, None]:
    """Whatever gets through, this process does not take the machine's memory."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (4096 * MIB, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with a_session(tmp_path) as session:
        yield session


def attack(session: Session, code: str, *names: str, tool: str = PYTHON, seconds: float = 5.0):
    """Run code with a contract for `first.txt`, which it may make, and for others."""
    tools = code_tools(session, limits=SMALL)
    given = call(tool, code=code, contract=contract("first.txt", *names), timeout=seconds)
    outcome = session.run(tools, given, turn="turn_1", policy=ALLOW_CODE)
    assert not strangers()
    assert not groups()
    return outcome


def code_of(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else ""


@cache
def _limits_hold(folder: Path) -> None:
    """On something small: a bit more memory, a few more processes, a file a bit too large."""
    with a_session(folder) as session:
        assert code_of(attack(session, "x = b'x' * (80 << 20)")) == "out_of_memory"
        forks = (
            "import os, time\nfor n in range(24):\n    os.fork() or time.sleep(9) or os._exit(0)"
        )
        assert code_of(attack(session, forks)) == "out_of_processes"
        large = "open('files/x', 'wb').write(b'x' * (10 << 20))"
        assert code_of(attack(session, large)) == "out_of_disk"


@pytest.fixture
def seen(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The limits were seen to hold, once in a process."""
    _limits_hold(tmp_path_factory.getbasetemp() / "limits")


BOMBS = {
    "writes 10 GB": (
        "piece = b'x' * (1 << 20)\nwith open('files/big', 'wb') as file:\n"
        "    for _ in range(10 << 10):\n        file.write(piece)",
        "out_of_disk",
    ),
    "a sparse file of 10 GB": ("open('files/big', 'wb').truncate(10 << 30)", "out_of_disk"),
    "fills the other disks": (
        "piece = b'x' * (1 << 20)\nwith open('/dev/shm/big', 'wb') as file:\n"
        "    for _ in range(10 << 10):\n        file.write(piece)",
        "out_of_disk",
    ),
    "takes all memory": (
        "held = []\nwhile True:\n    held.append(b'x' * (8 << 20))",
        "out_of_memory",
    ),
    "forks for ever": (
        "import time\nwhile True:\n    try:\n        os.fork()\n"
        "    except OSError:\n        time.sleep(0.1)",
        "out_of_processes",
    ),
    "never ends": ("while True:\n    pass", "timeout"),
    "does not listen": (
        "import signal\nsignal.signal(15, signal.SIG_IGN)\nwhile True:\n    signal.pause()",
        "timeout",
    ),
    "prints for ever": ("while True:\n    sys.stdout.write('y' * 4096 + '\\n')", "timeout"),
    "kills its clock": ("os.kill(os.getppid(), 9)\n0 / 0", "execution_failed"),
}


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize(("program", "code"), BOMBS.values(), ids=BOMBS)
def test_what_was_made_before_is_kept(session: Session, program: str, code: str):
    ends = code not in ("timeout", "out_of_processes")  # by itself, also on a busy machine
    outcome = attack(session, FIRST + program, seconds=30.0 if ends else 1.0)
    assert code_of(outcome) == code
    assert outcome.output["produced"] == ["turn_1/files/first.txt"]
    assert (session.folder / "turn_1/files/first.txt").read_text() == "kept"
    assert len(json.dumps(outcome.output)) < 30_000


def test_code_that_kills_everything_says_so(session: Session):
    outcome = attack(session, f"{FIRST}os.kill(-1, 9)")
    assert outcome.error is not None
    assert outcome.error.code == "execution_failed"
    assert "changes were dropped" in outcome.error.message
    assert outcome.output["produced"] == []


def test_binary_output_is_text_that_steers_no_terminal(session: Session):
    program = f"{FIRST}sys.stdout.buffer.write(bytes(range(256)) * 100 + b'\\x1b]0;owned\\x07')"
    outcome = attack(session, program)
    printed = outcome.output["stdout"]
    assert outcome.ok
    assert len(printed) <= 8_100
    steering = {chr(at) for at in (*range(32), *range(127, 160))} - {"\t", "\n"}
    assert not steering & set(printed)


def test_links_devices_and_other_files_never_leave(session: Session):
    program = """
    echo kept > files/first.txt
    ln -s /etc/passwd files/link.txt
    ln files/first.txt files/same.txt
    mkdir files/folder.txt
    mkfifo files/pipe.txt
    mknod files/device.txt c 1 5 || true
    echo more > files/more.txt; echo more > outside.txt; echo more > ../outside.txt
    ln -s / files/root
    mkdir -p attachments; echo more > attachments/more.txt
    """
    names = ("link.txt", "folder.txt", "pipe.txt", "device.txt", "root/etc/passwd")
    outcome = attack(session, program, *names, "same.txt", tool=SHELL)
    assert outcome.output["produced"] == ["turn_1/files/first.txt", "turn_1/files/same.txt"]
    found = {str(path.relative_to(session.folder)) for path in session.folder.rglob("*")}
    assert found == {
        *("turn_1", "turn_1/files", "turn_1/files/first.txt", "turn_1/files/same.txt"),
    }


def test_a_folder_of_files_that_became_a_link_gives_nothing(session: Session):
    outcome = attack(session, "rm -r files; ln -s /etc files", "passwd", tool=SHELL)
    assert outcome.output["produced"] == []
    assert not list((session.folder / "turn_1/files").iterdir())


def test_files_of_earlier_turns_stay_what_they_are(session: Session):
    session.give("turn_0/files/a.txt", "old")
    program = """
    chmod -R u+w ../turn_0 && echo new > ../turn_0/files/a.txt && echo new > ../turn_0/files/b.txt
    rm -rf turn_0 ../turn_0/files/a.txt
    echo kept > files/first.txt
    """
    outcome = attack(session, program, tool=SHELL)
    assert outcome.output["produced"] == ["turn_1/files/first.txt"]
    assert [path.name for path in (session.folder / "turn_0/files").iterdir()] == ["a.txt"]
    assert (session.folder / "turn_0/files/a.txt").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("../x.txt", "unsafe_path"),
        ("a/../../x.txt", "unsafe_path"),
        ("/etc/passwd", "unsafe_path"),
        ("~/x.txt", "unsafe_path"),
        ("C:\\x.txt", "unsafe_path"),
        ("files/", "unsafe_path"),
        ("so:sources_pool[1]", "unsafe_path"),
        ("./first.txt", "invalid_input"),
        ("fi:turn_0.files/first.txt", "invalid_input"),
    ],
)
def test_a_contract_that_leads_elsewhere_runs_nothing(session: Session, name: str, code: str):
    session.put("turn_1/files/first.txt", "from before")
    tools = code_tools(session, find=_nowhere)
    given = call(PYTHON, code="1", contract=contract("first.txt", name))
    blocks = session.play(tools, given, policy=ALLOW_CODE)
    (report,) = [block.text or "" for block in blocks if block.mime == "text/markdown"]
    assert report.startswith(f"Runtime error: {code} — ")
    assert "- turn_1/files/first.txt: file not produced" in report
    assert "Succeeded" not in report


async def _nowhere() -> object:
    raise AssertionError("nothing may run")


def test_a_protected_name_is_refused_and_the_rest_is_kept(session: Session):
    program = "mkdir -p files/.git/hooks; echo x > files/.git/hooks/pre-commit; echo a > files/a"
    blocks = execute(session, program, ".git/hooks/pre-commit", "a", tool=SHELL)
    lines = (blocks[2].text or "").split("\n")
    assert lines[2].startswith("- turn_1/files/.git/hooks/pre-commit: protected_path: ")
    assert lines[3:] == ["Succeeded:", "- turn_1/files/a"]


def test_there_is_no_network(session: Session):
    program = "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)"
    outcome = attack(session, FIRST + program)
    assert code_of(outcome) == "execution_failed"
    assert outcome.output["produced"] == ["turn_1/files/first.txt"]


def test_a_run_that_is_stopped_leaves_nothing(session: Session):
    from callblocks.runtime.runtime import Runtime
    from callblocks.runtime.turn_scope import Turn
    from callblocks.tools.registry import Registry

    turn = Turn("turn_1")
    code = f"{FIRST}import time\nprint('go', flush=True)\ntime.sleep(60)"
    given = call(PYTHON, code=code, contract=contract("first.txt"))
    runtime = Runtime(Registry(code_tools(session)), ALLOW_CODE)

    async def go() -> list[Outcome]:
        def listen(said: object) -> None:
            if "go" in getattr(said, "text", ""):
                turn.stop()

        return [outcome async for outcome in runtime.run([given], turn, listen)]

    (outcome,) = asyncio.run(go())
    assert code_of(outcome) == "cancelled"
    assert not list((session.folder / "turn_1/files").iterdir())
    assert not strangers()
    assert not groups()
