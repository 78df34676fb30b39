"""Writing a run down on a timeline: what the model said, each call before it runs, what came of it.

    callblocks run chat.md --ask --timeline notes

A run is one turn: `turn_1`, `turn_2`, … The files of turns are in the state folder, below
`timelines/NAME`; making the folder of a turn is what gives its number to one run alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from callblocks.cli.exits import Fault
from callblocks.cli.state import ARTIFACTS, TURNS, state_folder
from callblocks.cli.timeline_store import open_timelines, shown_store, store_option

if TYPE_CHECKING:
    from callblocks.cli.transcript import Prose
    from callblocks.model.blocks import Entry
    from callblocks.model.calls import Call
    from callblocks.model.outcomes import Outcome
    from callblocks.timeline.recorder import Recorder
    from callblocks.toolkits.turn_files import FolderFiles
    from callblocks.tools.tool import Tool

__all__ = ("Recording", "RecordingOptions", "open_recording", "recording_options")

F = TypeVar("F", bound=Callable[..., Any])

_TURN = re.compile(r"turn_([1-9][0-9]{0,8})")


class RecordingOptions(TypedDict):
    """What `recording_options` give to a command."""

    timeline: str | None
    store: str | None


def recording_options(command: F) -> F:
    """Add `--timeline` and `--store`."""
    about = "Write it down on this timeline, with react.write, react.read and react.hide as tools."
    return click.option("--timeline", metavar="NAME", help=about)(store_option(command))


class Recording:
    """One run, written down as a turn; `tools` are those that work on the timeline."""

    def __init__(self, recorder: Recorder, turn: str, place: str) -> None:
        self.turn = turn
        self.written = False
        self._recorder = recorder
        self._place = place
        self._notes: dict[str, str] = {}
        self._begun: set[str] = set()

    @property
    def tools(self) -> Iterable[Tool]:
        """The tools that work on the timeline."""
        from callblocks.toolkits.react import react_tools

        return react_tools(self._recorder, self.turn)

    @property
    def place(self) -> str:
        """Where it is written, in words."""
        return f"{self._recorder.timeline.name}, {self.turn} ({self._place})"

    def expect(self, prose: Prose) -> None:
        """Take what the model said before each call."""
        self._notes = dict(prose.before)

    def begin(self, call: Call) -> None:
        """Write down a call that is about to run, and what was said before it."""
        self._begun.add(call.id)
        self.written = True
        if notes := self._notes.pop(call.id, ""):
            self._recorder.notes(self.turn, call.id, notes)
        self._recorder.started(self.turn, call)

    def end(self, call: Call, outcome: Outcome) -> None:
        """Write down what came of a call."""
        if call.id not in self._begun:
            self.begin(call)
        self._recorder.ended(self.turn, call, outcome)

    def conclude(self, prose: Prose) -> None:
        """Write down what the model said last."""
        if prose.after:
            self.written = True
            self._recorder.completion(self.turn, prose.after)


@contextmanager
def open_recording(options: RecordingOptions, *, runs: bool) -> Generator[Recording | None]:
    """What writes a run down; nothing where no timeline is named.

    Where nothing `runs`, nothing is written: only the tools are wanted.
    """
    if (name := options["timeline"]) is None:
        yield None
        return
    from callblocks.timeline.keeping.artifacts import Artifacts
    from callblocks.timeline.recorder import Recorder
    from callblocks.timeline.timeline import Timeline

    with ExitStack() as stack:
        store = stack.enter_context(open_timelines(options["store"], make=True))
        timeline = Timeline(store, name)
        folder = state_folder() / TURNS / timeline.name
        files = stack.enter_context(_files(folder))
        recorder = Recorder(timeline, files, Artifacts(state_folder() / ARTIFACTS))
        number = _next(timeline.entries())
        turn = _taken(folder, number) if runs else f"turn_{number}"
        recording = Recording(recorder, turn, shown_store(options["store"]))
        try:
            yield recording
        finally:
            if runs and not recording.written:
                with suppress(OSError):
                    os.rmdir(folder / turn)


def _files(folder: Path) -> FolderFiles:
    from callblocks.toolkits.turn_files import FolderFiles

    try:
        return FolderFiles(folder)
    except OSError as error:
        raise Fault(f"{folder}: {error.strerror}") from error


def _next(entries: Iterable[Entry]) -> int:
    """The number after the highest that the timeline has."""
    numbers = (_TURN.fullmatch(entry.block.turn_id) for entry in entries)
    return 1 + max((int(number[1]) for number in numbers if number), default=0)


def _taken(folder: Path, number: int) -> str:
    """A turn that no other run has, from a number on."""
    while True:
        turn = f"turn_{number}"
        try:
            os.mkdir(folder / turn, 0o700)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise Fault(f"{folder / turn}: {error.strerror}") from error
        else:
            return turn
