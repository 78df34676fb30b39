"""Writing a run down on a timeline: what was asked, each call before it runs, what came of it.

    callblocks run chat.md --ask --timeline notes --prompt "Add them up." --attach numbers.csv

A run is one turn: `turn_1`, `turn_2`, … It is taken on the timeline itself, once the text is read
and there is something to write, so that two runs never share one. The files of turns are in the
state folder (see `callblocks.timeline.layout`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from callblocks.cli.asked import Asked, asked
from callblocks.cli.exits import Fault, say
from callblocks.cli.state import state_folder
from callblocks.cli.timeline_store import shown_store, store_option, without_password

if TYPE_CHECKING:
    from callblocks.cli.transcript import Prose
    from callblocks.model.calls import Call, CheckedCall
    from callblocks.model.outcomes import Outcome
    from callblocks.runtime.asking import Grant, Question
    from callblocks.runtime.files.root import Root
    from callblocks.timeline.reading.skills import Skills
    from callblocks.timeline.recorder import Recorder
    from callblocks.tools.registry import Registry

__all__ = (
    "Recording",
    "RecordingOptions",
    "given_skills",
    "open_recording",
    "recording_options",
)

F = TypeVar("F", bound=Callable[..., Any])


class RecordingOptions(TypedDict):
    """What `recording_options` give to a command."""

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

    def __init__(self, recorder: Recorder, given: Asked, place: str, root: Root | None) -> None:
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
        """Where it is written, in words."""
        return f"{self._recorder.timeline.name}, {self.turn} ({self._place})"

    @property
    def is_asked(self) -> bool:
        """Whether there is something of the person to write down."""
        return bool(self._asked.prompt or self._asked.files)

    def tainted(self, registry: Registry) -> tuple[str, ...]:
        """Return why the run is tainted before it begins: by its timeline, and by what is attached.

        The reasons are those that a session on the same timeline has.
        """
        from callblocks.session.tainting import Taints

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
        from callblocks.session.answers import write_answer

        write_answer(self._recorder, self.turn, question, approved, words, grant)

    def let_through(self, call: Call, grant: Grant) -> None:
        """Write down which grant lets a call run without a question."""
        from callblocks.session.answers import write_grant

        write_grant(self._recorder, self.turn, call, grant)

    def end(self, call: Call, outcome: Outcome, tainted: Sequence[str] = ()) -> None:
        """Write down what came of a call; one that was stopped before it began, too.

        `tainted` says where text of others came from since the call before.
        """
        from callblocks.session.tainting import taint_meta

        if call.id not in self._begun:
            self.begin(call, None)
        self._recorder.ended(self.turn, call, outcome, origins=taint_meta(tainted))

    def conclude(self, prose: Prose, tainted: Sequence[str] = ()) -> None:
        """Write down what the model said last; `tainted` is as for `end`."""
        from callblocks.session.tainting import taint_meta

        if prose.after:
            meta = {key: reasons for key, reasons in taint_meta(tainted).items() if reasons}
            self._recorder.completion(self.turn, prose.after, **meta)

    def _ask(self) -> None:
        from callblocks.model.errors import ToolError

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
        from callblocks.toolkits.turn_tools import turn_tools

        return turn_tools(recorder, self.turn, root=self._root)


@contextmanager
def open_recording(
    options: RecordingOptions, root: Root | None = None
) -> Generator[Recording | None]:
    """What writes a run down; nothing where no timeline is named. `root` is the workspace.

    Nothing is written before `open_turn`: where nothing runs, only the tools are wanted.
    """
    if (name := options["timeline"]) is None:
        for option in ("prompt", "attach", "skills"):
            if options[option]:
                raise click.UsageError(f"--{option} goes with --timeline")
        yield None
        return
    from callblocks.toolkits.recording import open_recorder

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
    from callblocks.timeline.reading.skills import Skills

    skills = Skills.from_folder(folder)
    for broken in skills.broken:
        say(f"--skills: {broken.file} is no skill: {broken.problem}")
    return skills
