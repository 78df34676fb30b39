"""A session with real tools, runtime and recorder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from callblocks.core.blocks import Block
from callblocks.core.calls import Call
from callblocks.core.outcomes import Outcome
from callblocks.core.paths import parse_physical
from callblocks.runtime.checked_call import check_call
from callblocks.runtime.turn_scope import Turn
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.codec.call_stamp import Stamp
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import Timeline
from callblocks.toolkits.turn_files import FolderFiles
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool
from support.tool_runtime import run

NOON = 1_896_091_200.0
"""2030-01-31T12:00:00Z"""
TS = "2030-01-31T12:00:00.000Z"


class Session:
    """One turn after another on one timeline; `folder` has the files of turns."""

    def __init__(self, timeline: Timeline, home: Path, **settings: Any) -> None:
        self.folder = home / "turns"
        self.files = FolderFiles(self.folder)
        self.artifacts = Artifacts(home / "artifacts")
        self.timeline = timeline
        self.recorder = Recorder(
            timeline, self.files, self.artifacts, clock=lambda: NOON, **settings
        )

    def play(
        self,
        tools: Iterable[Tool],
        call: Call,
        *,
        turn: str = "turn_1",
        notes: str = "",
        **parts: Any,
    ) -> list[Block]:
        """The blocks of one call, run as a session would."""
        before = self.timeline.head().count
        if notes:
            self.recorder.notes(turn, call, notes)
        tools = tuple(tools)
        self.recorder.started(turn, call, check_call(call, Registry(tools)))
        outcome = self.run(tools, call, turn=turn, **parts)
        self.recorder.ended(turn, call, outcome)
        return [block for block in self.blocks(before) if block.type != "timeline.settings"]

    def run(self, tools: Iterable[Tool], call: Call, *, turn: str, **parts: Any) -> Outcome:
        (outcome,) = run(tools, call, turn=Turn(turn), keep=self.artifacts, **parts)
        return outcome

    def blocks(self, after: int = 0) -> list[Block]:
        return [entry.block for entry in self.timeline.entries(after=after)]

    def put(self, physical: str, content: bytes | str) -> None:
        """Write a file as a tool does, which works in the folder of its turn."""
        place = self.folder / physical
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)

    def give(self, physical: str, content: bytes | str) -> None:
        """A file of an earlier turn: it is on disk, and a digest names it."""
        self.put(physical, content)
        path = parse_physical(physical)
        digest = json.dumps({"artifact_path": str(path)})
        stamp = Stamp(path.turn, "given", "", TS)
        self.timeline.append([stamp.result("digest", digest, path=str(path))])


@contextmanager
def a_session(home: Path, name: str = "talk", **settings: Any) -> Iterator[Session]:
    with Timeline.open(home / "timeline.sqlite", name) as timeline:
        session = Session(timeline, home, **settings)
        try:
            yield session
        finally:
            session.files.close()


def sequence(blocks: Iterable[Block]) -> list[tuple[str, str]]:
    """Type and path of each block."""
    return [(block.type, block.path) for block in blocks]


def said(block: Block) -> Any:
    """The JSON that a block says."""
    assert block.text is not None
    assert block.mime == "application/json"
    return json.loads(block.text)
