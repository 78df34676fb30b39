"""A session takes tools as they come; what has a schema only is known, and is said not to run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from callblocks import Call
from callblocks.core.events import CallEnded
from callblocks.session.session import Session
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import Timeline
from support.memory_artifacts import MemoryArtifacts
from support.memory_files import MemoryFiles
from support.scripted_sessions import ALLOW_ALL, Replies, of_type, run_turn, write


def double(number: int) -> int:
    """Double a number."""
    return number * 2


def test_a_session_runs_functions_and_knows_dicts(tmp_path: Path) -> None:
    far = {"name": "far", "inputSchema": {"type": "object"}}
    calls = Call(id="c1", name="double", input={"number": 4}), Call(id="c2", name="far", input={})
    model = Replies(write("tool-fence", *calls, tools=[double, far]), "Done.")
    with Timeline.open(tmp_path / "timeline.sqlite", "talk") as timeline:
        recorder = Recorder(timeline, MemoryFiles(), MemoryArtifacts())
        session = Session(recorder, model, tools=[double, far], policy=ALLOW_ALL)
        ended = of_type(asyncio.run(run_turn(session, "Go.")), CallEnded)
    outcomes = {one.outcome.name: one.outcome for one in ended}
    assert outcomes["double"].output == 8
    failure = outcomes["far"].error
    assert failure is not None
    assert failure.code == "not_runnable"
