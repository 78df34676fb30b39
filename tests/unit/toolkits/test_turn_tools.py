"""The tools of a turn take the place of those of the workspace, and of nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.guard.files.root import Root
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import Timeline
from callblocks.toolkits.react_tools import in_turn, turn_tools
from callblocks.toolkits.standard import EXEC_TOOLS, RENDERING_TOOLS, standard_tools
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.memory_artifacts import MemoryArtifacts
from support.memory_files import MemoryFiles
from support.recorded_sessions import a_session

REACT = ("react.write", "react.read", "react.hide")
PYTHON = EXEC_TOOLS[0]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Registry]:
    with a_session(tmp_path) as session:
        yield turn_tools(session.recorder, "turn_1")


def test_tools_of_a_turn_take_the_place_of_those_of_the_workspace(own: Registry, tmp_path: Path):
    with Root(tmp_path) as root:
        known = standard_tools(root)
    both = in_turn(known, own)
    assert set(both.names) == {*known.names, *REACT}
    assert all(both[name] is own[name] for name in (*EXEC_TOOLS, *RENDERING_TOOLS, *REACT))


def test_what_is_not_known_is_not_added(own: Registry, tmp_path: Path):
    with Root(tmp_path) as root:
        known = standard_tools(root).only(("file_read",))
    assert in_turn(known, own).names == ("file_read", *REACT)


def test_tools_of_a_caller_stay_what_they_are(own: Registry):
    @tool(name=PYTHON)
    def code() -> None:
        """Run it elsewhere."""

    @tool(name="react.write")
    def write() -> None:
        """Write it elsewhere."""

    both = in_turn(Registry([code, write]), own)
    assert (both[PYTHON], both["react.write"]) == (code, write)
    assert EXEC_TOOLS[1] not in both


def test_without_a_folder_there_is_no_place_for_code(tmp_path: Path):
    with Timeline.open(tmp_path / "timeline.sqlite", "talk") as timeline:
        recorder = Recorder(timeline, MemoryFiles(), MemoryArtifacts())
        assert turn_tools(recorder, "turn_1").names == (*REACT, *RENDERING_TOOLS)
