"""Writing a run down on a timeline: what was asked, each call before it runs, what came of it.

    callblocks run chat.md --ask --timeline notes --prompt "Add them up." --attach numbers.csv

A run is one turn: `turn_1`, `turn_2`, … It is taken on the timeline itself, once the text is read
and there is something to write, so that two runs never share one. The files of turns are in the
state folder (see `callblocks.timeline.timeline`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click
import msgspec

from callblocks.cli.exits import Fault, say
from callblocks.cli.options.chat_options import PromptInput, asked
from callblocks.cli.options.state_folder import (
    shown_store,
    state_folder,
    store_option,
    without_password,
)
from callblocks.core.calls import Call, Item, Result
from callblocks.core.events import CallReady, CallResult, Event, Malformed, Problem, Text
from callblocks.core.outcomes import Outcome
from callblocks.parsing.dialect import Parsed

if TYPE_CHECKING:
    from callblocks.approvals.question import Grant, Question
    from callblocks.core.calls import CheckedCall
    from callblocks.guard.files.root import Root
    from callblocks.timeline.recall.skills import Skills
    from callblocks.timeline.recorder import Recorder
    from callblocks.tools.registry import Registry

__all__ = (
    "Prose",
    "Recording",
    "RecordingOptions",
    "Transcript",
    "given_skills",
    "open_recording",
    "recording_options",
)

F = TypeVar("F", bound=Callable[..., Any])


class RecordingOptions(TypedDict):
    """Values that `recording_options` pass to a command."""

    timeline: str | None
    store: str | None
    prompt: str | None
    attach: tuple[str, ...]
    skills: str | None


def recording_options(command: F) -> F:
    """Add `--timeline` and `--store`, and what goes with them."""
    about = "Write it down on this timeline, with react.write, react.read and react.hide as tools."
    for option in (
        click.option(
            "--skills",
            type=click.Path(exists=True, file_okay=False),
            metavar="FOLDER",
            help="Skills that react.read finds as sk:…: Markdown files.",
        ),
        click.option(
            "--attach",
            type=click.Path(exists=True, dir_okay=False, readable=True),
            multiple=True,
            metavar="FILE",
            help="Write down a file that the person gave; may be given again.",
        ),
        click.option("--prompt", metavar="TEXT", help="Write down what the person asked."),
        store_option,
        click.option("--timeline", metavar="NAME", help=about),
    ):
        command = option(command)
    return command


class Recording:
    """One run, written down as a turn; `tools` are those that work on the timeline."""

    def __init__(
        self, recorder: Recorder, given: PromptInput, place: str, root: Root | None
    ) -> None:
        self.turn = recorder.coming_turn
        self._root = root
        self.written = False
        self.tools = self._make_tools(recorder)
        self._recorder = recorder
        self._asked = given
        self._place = place
        self._notes: dict[str, str] = {}
        self._begun: set[str] = set()

    @property
    def place(self) -> str:
        """The timeline, turn and store of the recording, in words."""
        return f"{self._recorder.timeline.name}, {self.turn} ({self._place})"

    @property
    def is_asked(self) -> bool:
        """True if there is a prompt or a file of the person to record."""
        return bool(self._asked.prompt or self._asked.files)

    def tainted(self, registry: Registry) -> tuple[str, ...]:
        """Return why the run is tainted before it begins: by its timeline, and by what is attached.

        The reasons are those that a session on the same timeline has.
        """
        from callblocks.session.taint import Taints

        taints = Taints()
        taints.feed(self._recorder.timeline.entries(), registry)
        return (*taints.reasons, *(f"attachment: {file.name}" for file in self._asked.files))

    def open_turn(self, prose: Prose, registry: Registry) -> Registry:
        """Take the turn, and write down what was asked; the tools then work in that turn."""
        self._notes = dict(prose.before)
        expected, self.turn = self.turn, self._recorder.new_turn()
        self.written = True
        self._ask()
        return registry if self.turn == expected else self._moved(registry)

    def begin(self, call: Call, checked: CheckedCall | None) -> None:
        """Write down a call that is about to run, and what was said before it.

        `checked` is the call as its tool gets it; `None` where it cannot run.
        """
        self._begun.add(call.id)
        if notes := self._notes.pop(call.id, ""):
            self._recorder.notes(self.turn, call, notes)
        self._recorder.started(self.turn, call, checked)

    def settled(self, question: Question, approved: bool, words: str, grant: Grant | None) -> None:
        """Write down what the person answered about a call."""
        from callblocks.session.turn import write_answer

        write_answer(self._recorder, self.turn, question, approved, words, grant)

    def let_through(self, call: Call, grant: Grant) -> None:
        """Write down which grant lets a call run without a question."""
        from callblocks.session.turn import write_grant

        write_grant(self._recorder, self.turn, call, grant)

    def end(self, call: Call, outcome: Outcome, tainted: Sequence[str] = ()) -> None:
        """Write down what came of a call; one that was stopped before it began, too.

        `tainted` says where text of others came from since the call before.
        """
        from callblocks.session.taint import taint_meta

        if call.id not in self._begun:
            self.begin(call, None)
        self._recorder.ended(self.turn, call, outcome, origins=taint_meta(tainted))

    def conclude(self, prose: Prose, tainted: Sequence[str] = ()) -> None:
        """Write down what the model said last; `tainted` is as for `end`."""
        from callblocks.session.taint import taint_meta

        if prose.after:
            meta = {key: reasons for key, reasons in taint_meta(tainted).items() if reasons}
            self._recorder.completion(self.turn, prose.after, **meta)

    def _ask(self) -> None:
        from callblocks.core.errors import ToolError

        if self._asked.prompt:
            self._recorder.prompt(self.turn, self._asked.prompt)
        for file in self._asked.files:
            try:
                self._recorder.attach(self.turn, file.name, file.content)
            except ToolError as error:
                raise Fault(f"--attach {file.name}: {error.message}") from error

    def _moved(self, registry: Registry) -> Registry:
        """The tools in the turn that was free, where another run took the one we looked for."""
        old, self.tools = self.tools, self._make_tools(self._recorder)
        # One of -T that has the same name stays.
        moved = [name for name in old.names if registry.get(name) is old.get(name)]
        return registry.without(moved) | self.tools.choose(moved)

    def _make_tools(self, recorder: Recorder) -> Registry:
        from callblocks.toolkits.react_tools import turn_tools

        return turn_tools(recorder, self.turn, root=self._root)


@contextmanager
def open_recording(
    options: RecordingOptions, root: Root | None = None
) -> Generator[Recording | None]:
    """Open the recording of a run; None if no timeline is named. `root` is the workspace.

    Nothing is written before `open_turn`: a run without calls only needs the recording's tools.
    """
    if (name := options["timeline"]) is None:
        for option in ("prompt", "attach", "skills"):
            if options[option]:
                raise click.UsageError(f"--{option} goes with --timeline")
        yield None
        return
    from callblocks.toolkits.turn_files import open_recorder

    given, skills = asked(options["prompt"], options["attach"]), given_skills(options["skills"])
    store = options["store"]
    with (
        without_password(store),
        open_recorder(state_folder(), name, store=store, skills=skills) as recorder,
    ):
        yield Recording(recorder, given, shown_store(store), root)


def given_skills(folder: str | None) -> Skills | None:
    """The skills of a folder; files that give none are named."""
    if folder is None:
        return None
    from callblocks.timeline.recall.skills import Skills

    skills = Skills.from_folder(folder)
    for broken in skills.broken:
        say(f"--skills: {broken.file} is no skill: {broken.problem}")
    return skills


# --- A text that was read, and what came of its calls when they were run ---
#
# A call whose result says that it waits for an approval has no result yet: the reply of one run
# can be run again, once it was approved.


class Prose(msgspec.Struct, frozen=True):
    """Prose of the model `before` each call without a result, by its id, and `after` them.

    Prose before a call that has a result is added to that of the next call without one.
    """

    before: dict[str, str]
    after: str


class Transcript:
    """Collects events. `waiting` are the calls without a result."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._calls: dict[int, Call] = {}
        self._waiting: dict[int, Call] = {}
        self._results: dict[str, Result] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Take more events."""
        for event in events:
            self._events.append(event)
            if isinstance(event, CallReady):
                self._calls[event.index] = self._waiting[event.index] = event.call
            elif isinstance(event, CallResult) and not _unapproved(event.result):
                self._waiting.pop(event.index, None)

    @property
    def waiting(self) -> list[Call]:
        """The calls that have no result in the text."""
        return list(self._waiting.values())

    @property
    def answered(self) -> list[Call]:
        """The calls that have a result in the text."""
        return [call for index, call in self._calls.items() if index not in self._waiting]

    @property
    def broken(self) -> list[Malformed | Problem]:
        """Return the malformed calls, and the problems of unread calls."""
        found = (event for event in self._events if isinstance(event, Malformed | Problem))
        return [one for one in found if isinstance(one, Malformed) or one.code == "unread-call"]

    def settle(self, outcome: Outcome) -> list[Event]:
        """Note what came of a call: the event that says so."""
        result = outcome.result()
        self._results[outcome.id] = result
        end = self._events[-1].span[1] if self._events else 0
        return [
            CallResult(index, outcome.id, result, (end, end))
            for index, call in self._waiting.items()
            if call.id == outcome.id
        ]

    def prose(self) -> Prose:
        """Return the prose around the calls that have no result, without reasoning."""
        before: dict[str, str] = {}
        parts: list[str] = []
        said: list[str] = []
        for event in self._events:
            if isinstance(event, Text | Malformed):
                said.append(event.text)
            elif isinstance(event, CallReady):
                parts.append("".join(said).strip())
                said.clear()
                if event.index in self._waiting:
                    if words := _paragraphs(parts):
                        before[event.call.id] = words
                    parts.clear()
        return Prose(before, _paragraphs([*parts, "".join(said).strip()]))

    def items(self) -> list[Item]:
        """The text with each new result right behind its call."""
        found: list[Item] = []
        for item in Parsed(self._events).items:
            if isinstance(item, Result) and item.id in self._results:
                continue
            found.append(item)
            if isinstance(item, Call) and item.id in self._results:
                found.append(self._results[item.id])
        return found


def _paragraphs(parts: list[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _unapproved(result: Result) -> bool:
    return (result.error or "").startswith("approval_required: ")
