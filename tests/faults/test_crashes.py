"""The program is killed in the middle of a call; the next one must know what it does not know."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from callblocks.core.outcomes import Outcome
from callblocks.runtime.journal import Journal, JournalEntry
from callblocks.runtime.judgement import Turn
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool
from support.tool_runtime import call, run_one

PROGRAM = """
import os, signal, sys
from callblocks.tools.declare import tool
from callblocks.runtime.journal import Journal
from callblocks.runtime.judgement import Turn
from support.tool_runtime import call, run_one

journal_path, effects, when = sys.argv[1:]


@tool(idempotent={idempotent})
def act(what: str) -> str:
    "Act."
    if when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    with open(effects, "a") as file:
        file.write(what)
    if when == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


journal = Journal(journal_path)
run_one([act], call("act", what="x"), journal=journal, turn=Turn("turn-1"))
os.kill(os.getpid(), signal.SIGKILL)
"""


class Scene:
    """A journal, and a file in which the effects of a tool can be seen."""

    def __init__(self, folder: Path) -> None:
        self.journal, self.effects = folder / "journal", folder / "effects"
        self.effects.touch()

    def crash(self, when: str, *, idempotent: bool = False) -> None:
        """Run the call in a program that is killed: before or after its effect, or at its end."""
        path = os.pathsep.join(filter(None, sys.path))
        ended = subprocess.run(
            [
                *(sys.executable, "-c", PROGRAM.format(idempotent=idempotent)),
                *(self.journal, self.effects, when),
            ],
            env={**os.environ, "PYTHONPATH": path},
            check=False,
            timeout=120,
        )
        assert ended.returncode == -signal.SIGKILL

    def again(self, *, idempotent: bool = False, turn: str = "turn-1") -> Outcome:
        """Run the same call in this program."""
        journal = Journal(self.journal)
        try:
            return run_one(
                [self._tool(idempotent)], call("act", what="x"), journal=journal, turn=Turn(turn)
            )
        finally:
            journal.close()

    def entries(self) -> list[JournalEntry]:
        journal = Journal(self.journal)
        try:
            return journal.entries()
        finally:
            journal.close()

    def _tool(self, idempotent: bool) -> Tool:
        @tool(idempotent=idempotent)
        def act(what: str) -> str:
            """Act."""
            with self.effects.open("a") as file:
                file.write(what)
            return "done"

        return act


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.mark.parametrize(("when", "effects"), [("before", ""), ("after", "x")])
def test_a_call_cut_short_is_indeterminate_and_is_not_repeated(
    scene: Scene, when: str, effects: str
) -> None:
    scene.crash(when)
    assert [one.state for one in scene.entries()] == ["indeterminate"]
    outcome = scene.again()
    assert outcome.error
    assert outcome.error.code == "indeterminate"
    assert scene.effects.read_text() == effects
    assert [one.state for one in scene.entries()] == ["indeterminate"]


def test_an_idempotent_call_cut_short_is_done_again(scene: Scene) -> None:
    scene.crash("after", idempotent=True)
    assert scene.again(idempotent=True).output == "done"
    assert scene.effects.read_text() == "xx"
    assert [one.state for one in scene.entries()] == ["ended"]


def test_a_call_that_ended_is_not_done_twice(scene: Scene) -> None:
    scene.crash("at the end")
    assert [one.state for one in scene.entries()] == ["ended"]
    assert scene.again().output == "done"
    assert scene.effects.read_text() == "x"
    assert scene.again(turn="turn-2").output == "done"
    assert scene.effects.read_text() == "xx"
