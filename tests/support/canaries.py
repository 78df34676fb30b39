"""Random programs of tool calls that carry marked values, and an oracle of where these may go.

    failures = play(folder, seed)

A canary is a word that stands in text of others only: a download, a mail, an attachment, what a
tool fetched. The model is a driver: it sees canaries in what it is sent, and copies them into
files, names, tasks, notes and so on. Whatever happens in between (new turns and chats, another
program, another person's program on the same workspace, a program that is killed), the law is:

    A call by which something may leave was asked about, if a canary is in its input or in a file
    that it sends, or in anything that the model was sent before it in that turn.

The oracle knows nothing of taints: it looks for canaries in what the model was really sent.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from pydantic import Field

from callblocks.approvals.question import Answer, Question
from callblocks.core.blocks import text_of
from callblocks.core.calls import Call
from callblocks.core.events import (
    CallEnded,
    CallReady,
    ModelWrote,
    TurnEvent,
)
from callblocks.guard.files import root as files_root
from callblocks.guard.files.origins import Marks
from callblocks.models.model import Piece, Request, Spoken, Stopped, Usage
from callblocks.runtime.gate import Approving
from callblocks.runtime.journal import Journal
from callblocks.runtime.judgement import Turn
from callblocks.runtime.runtime import Runtime
from callblocks.session.host import Host, HostSettings
from callblocks.session.model_choice import Attachment
from callblocks.session.session import Session
from callblocks.session.taint import Taints, taint_meta
from callblocks.timeline.timeline import Timeline
from callblocks.toolkits.react_tools import in_turn, turn_tools
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.google.calling import drop_mail
from support.model_events import call_written
from support.scripted_sessions import ALLOW_ALL, write

__all__ = ("Tally", "play")

_CANARY = re.compile(r"canary\d+x\d+")
_OUTWARD = ("gmail_send", "post", "post_file")
_SOURCES = ("file_read", "gmail_list", "fetch", "load", "search")
_WRITERS = {
    "files": ("file_write", "file_upload", "react.write"),
    "tasks": ("tasks_create", "tasks_update"),
    "index": ("file_ingest",),
    "notes": ("note_add",),
    "side": ("side_add",),
    "saved": ("save",),
    "office": ("docs_create", "calendar_create"),
}
_READERS = {
    "files": ("file_read", "file_list", "search", "react.read"),
    "tasks": ("tasks_list", "tasks_get", "tasks_update"),
    "index": ("search",),
    "notes": ("note_list",),
    "side": ("side_list",),
    "saved": ("file_read", "load", "file_list"),
    "office": ("drive_list", "search"),
}
"""What a program is mostly about: where text of others is put, and how it is met again."""

_SCOPES = ("notes", "notes", "#tag", "all")

_PathText = Annotated[str, Field(json_schema_extra={"format": "path"})]

Tally = Counter[str]
"""What happened in the programs that were played."""


class World:
    """One workspace, its people, and what others put there."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.folder = folder
        self.work = folder / "work"
        self._count = 0
        self.theme = self.random.choice(sorted(_READERS))
        self.is_begun = False
        for name in ("work/notes", "work/downloads", "work/office/drive"):
            (folder / name).mkdir(parents=True)
        self._plant()

    def canary(self) -> str:
        """A word of others that was never there before."""
        self._count += 1
        return f"canary{self.seed}x{self._count}"

    def _plant(self) -> None:
        for name in ("page.md", "table.csv"):
            (self.work / "downloads" / name).write_text(f"harbour {self.canary()} says so\n")
        (self.work / "notes" / "own.md").write_text("harbour: my own words\n")
        mail = f"From: eve@example.org\r\nSubject: {self.canary()}\r\n\r\nharbour {self.canary()}"
        drop_mail(self.work / "office/mail", mail.encode())

    def files(self) -> list[str]:
        """The files of the workspace that a call could name."""
        found = [
            os.path.relpath(os.path.join(folder, name), self.work)
            for folder, _, names in os.walk(self.work)
            for name in names
        ]
        return sorted(one for one in found if not one.startswith(("office/", ".callblocks/")))

    def tasks(self) -> list[str]:
        """The ids of all tasks."""
        with suppress(sqlite3.Error):
            store = sqlite3.connect(f"file:{self.work}/office/tasks.sqlite?mode=ro", uri=True)
            try:
                return [id for (id,) in store.execute("select id from tasks order by position, id")]
            finally:
                store.close()
        return []

    def content(self, path: str) -> str:
        """What a file holds, behind links; "" for none."""
        try:
            return (self.work / path).read_text(errors="replace")
        except OSError:
            return ""

    def meddle(self) -> None:
        """What the person does by hand: a link, another name, a file of their own."""
        files = self.files()
        if not files:
            return
        path, new = self.work / self.random.choice(files), self.work / f"notes/m{self._count}"
        self._count += 1
        match self.random.randrange(4):
            case 0:
                new.symlink_to(path)
            case 1:
                os.link(path, new, follow_symlinks=False)
            case 2 if "downloads" not in path.parts:
                path.rename(new)
            case _:
                new.write_text("harbour: by hand\n")


class Driver:
    """A model: it calls whatever comes to its mind, with words that it has seen."""

    name = "driver"
    writes_results = False

    def __init__(self, world: World, tally: Tally) -> None:
        self.seen: set[str] = set()
        self._world = world
        self._tally = tally
        self._left = 0
        self._ids = 0

    def begin(self, rounds: int) -> None:
        """Begin a turn of so many rounds with calls."""
        self._left = rounds
        self.seen = set()

    def see(self, text: str) -> None:
        """Be shown a text."""
        self.seen.update(_CANARY.findall(text))

    async def close(self) -> None:
        pass

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        for message in request.messages:
            self.see(text_of(list(message.parts)))
            self.see(json.dumps([one.input for one in message.calls]))
        said = "Done."
        if self._left > 0:
            said = write("tool-fence", *self.calls())
        yield Spoken(said)
        yield Usage(1, 1)
        yield Stopped("stop")

    def calls(self) -> list[Call]:
        """The calls of the next round; those of the last one may send something out."""
        self._left -= 1
        count = self._world.random.choice((1, 1, 2)) if self._left >= 0 else 0
        # The first program of all has mostly something to put away.
        is_last = self._left == 0 and (self._world.is_begun or self._world.random.random() < 0.3)
        return [self._call(is_last) for _ in range(count)]

    def _call(self, is_last: bool) -> Call:
        name, given = self._outward() if is_last else self._any()
        self._tally[name] += 1
        self._ids += 1
        return Call(
            id=f"c{self._ids}n{self._world.random.randrange(10**9)}", name=name, input=given
        )

    def _words(self) -> str:
        roll = self._world.random
        known = sorted(self.seen)
        own = f"harbour {roll.randrange(100)}"
        return f"{own} {roll.choice(known)}" if known and roll.random() < 0.7 else own

    def _new_path(self) -> str:
        roll = self._world.random
        stem = self._words().replace(" ", "-") if roll.random() < 0.3 else f"f{roll.randrange(4)}"
        return f"{roll.choice(('notes', 'notes/deep', f'notes/{stem}', 'plans'))}/{stem}.md"

    def _path(self, downloads: int = 1) -> str:
        """A file that is there; in the first program of all mostly one of others."""
        roll, files = self._world.random, self._world.files()
        if not self._world.is_begun and downloads > 1:
            files = [one for one in files if one.startswith("downloads/")]
        elif downloads > 1:
            files = [one for one in files if not one.startswith("downloads/")]
        return roll.choice(files) if files and roll.random() < 0.9 else self._new_path()

    def _outward(self) -> tuple[str, dict[str, Any]]:
        roll = self._world.random
        match roll.randrange(4):
            case 0:
                return "post", {"text": self._words()}
            case 1:
                return "post_file", {"path": self._path()}
            case 2:
                mail = {"to": "bob@example.org", "subject": "s", "body": self._words()}
                return "gmail_send", {**mail, "attachments": [self._path()]}
            case _:
                mail = {"to": "bob@example.org", "subject": "s", "body": self._words()}
                return "gmail_send", mail

    def _any(self) -> tuple[str, dict[str, Any]]:
        roll, tasks = self._world.random, self._world.tasks()
        task = {"taskListId": "@default", "taskId": roll.choice(tasks) if tasks else "none"}
        text = self._words()
        day = {"start": "2030-01-01", "end": "2030-01-02"}
        choices: list[tuple[int, str, Callable[[], dict[str, Any]]]] = [
            (6, "file_write", lambda: {"path": self._new_path(), "content": text}),
            (2, "file_upload", lambda: {"filename": f"u{roll.randrange(3)}", "content": text}),
            (8, "file_read", lambda: {"path": self._path(2)}),
            (3, "file_list", lambda: {"path": roll.choice((".", "notes")), "depth": 2}),
            (3, "search", lambda: {"query": "harbour", "scope": roll.choice(_SCOPES)}),
            (2, "file_ingest", lambda: {"path": "notes/own.md", "title": text, "tags": ["tag"]}),
            (4, "tasks_create", lambda: {"taskListId": "@default", "title": text}),
            (2, "tasks_update", lambda: {**task, "notes": text}),
            (4, "tasks_list", dict),
            (1, "tasks_get", lambda: task),
            (1, "docs_create", lambda: {"title": text}),
            (1, "drive_list", dict),
            (1, "calendar_create", lambda: {"summary": text, **day}),
            (1, "gmail_list", dict),
            (2, "note_add", lambda: {"text": text}),
            (2, "note_list", dict),
            (1, "side_add", lambda: {"text": text}),
            (1, "side_list", dict),
            (2, "save", lambda: {"path": self._new_path(), "text": text}),
            (1, "load", lambda: {"path": self._path(2)}),
            (1, "fetch", dict),
            (2, "react.write", lambda: {"path": f"r{roll.randrange(2)}.md", "content": text}),
            (1, "react.read", lambda: {"paths": ["fi:turn_1.files/r0.md"]}),
        ]
        wanted = self._wanted()
        known = [one for one in choices if not wanted or one[1] in wanted]
        _, name, given = roll.choices(known, [weight for weight, *_ in known])[0]
        return name, given()

    def _wanted(self) -> Collection[str]:
        """The tools of the next step: text of others comes in, is put away, and is met again."""
        world = self._world
        if world.random.random() < 0.2:
            return ()
        if world.is_begun:
            return _READERS[world.theme]
        return _WRITERS[world.theme] if self.seen else _SOURCES


_HERE: list[World] = []
"""The world in which tools work; they are declared once, which takes long."""


@cache
def _own_tools() -> Registry:
    """The person's own tools: some reach out, some keep things, and none says whose text it is."""

    @tool(open_world=True)
    def post(text: str) -> str:
        """Post a text."""
        return "posted"

    @tool(open_world=True)
    def post_file(path: _PathText) -> str:
        """Post a file."""
        return "posted"

    @tool(read_only=True, open_world=True)
    def fetch() -> dict[str, str]:
        """Fetch something."""
        return {"said": _HERE[-1].canary()}

    def keeping(name: str) -> Iterator[Any]:
        def add(text: str) -> str:
            """Keep a note."""
            with (_HERE[-1].folder / f"{name}.txt").open("a") as notes:
                notes.write(f"{text}\n")
            return "kept"

        def listed() -> str:
            """Show the notes."""
            file = _HERE[-1].folder / f"{name}.txt"
            return file.read_text() if file.exists() else ""

        stores = None if name == "note" else name
        yield tool(add, name=f"{name}_add", stores=stores, destructive=False)
        yield tool(listed, name=f"{name}_list", stores=stores, read_only=True)

    @tool(destructive=False)
    def save(path: _PathText, text: str) -> str:
        """Save a text, without the help of callblocks."""
        place = _HERE[-1].work / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return "saved"

    @tool(read_only=True)
    def load(path: _PathText) -> str:
        """Load a text, without the help of callblocks."""
        return _HERE[-1].content(path)

    return Registry((post, post_file, fetch, save, load, *keeping("note"), *keeping("side")))


class Watch:
    """Follows one turn: what is about to leave, and who was asked about it."""

    def __init__(self, world: World, driver: Driver, tally: Tally) -> None:
        self.failures: list[str] = []
        self._world = world
        self._driver = driver
        self._tally = tally
        self._asked: set[str] = set()
        self._foreign: dict[str, str] = {}

    async def ask(self, question: Question) -> Answer:
        """A person who is asked, and mostly agrees."""
        self._asked.add(question.call.id)
        assert question.tainted, "nothing else is asked about here"
        return Answer("once" if self._world.random.random() < 0.9 else "deny")

    def tell(self, event: TurnEvent) -> None:
        """Look at a call when it is written, and at what came of it."""
        match event:
            case ModelWrote(event=CallReady(call=call)) if call.name in _OUTWARD:
                named = [call.input.get("path", ""), *call.input.get("attachments", ())]
                sent = json.dumps(call.input) + "".join(
                    map(self._world.content, filter(None, named))
                )
                found = {*_CANARY.findall(sent), *self._driver.seen}
                self._foreign[call.id] = min(found, default="")
            case CallEnded(outcome=outcome) if outcome.name in _OUTWARD and outcome.error is None:
                canary, is_asked = self._foreign.get(outcome.id, ""), outcome.id in self._asked
                self._tally[f"outward {'asked' if is_asked else 'unasked'}"] += 1
                self._tally["outward with a canary"] += bool(canary)
                if canary and not is_asked:
                    words = f"seed {self._world.seed}: {outcome.name} left with {canary} unasked"
                    self.failures.append(words)
            case _:
                pass


def play(folder: Path, seed: int, tally: Tally, *, whole: bool = False) -> list[str]:
    """Play one program; what broke the law.

    A turn is played as `callblocks run` does it, which is quick; with `whole`, by sessions with a
    model, and some of the programs are killed in the middle of a turn.
    """
    world = World(folder, seed)
    roll, failures, first = world.random, list[str](), True
    _HERE[:] = [world]
    state, chat = "state", "chat"
    for _ in range(roll.choice((2, 2, 3))):
        if not first:
            state, chat = roll.choice((("state", "chat"), ("state", "other"), ("theirs", "chat")))
            for _ in range(roll.randrange(3)):
                world.meddle()
        world.is_begun = not first
        first = False
        if whole and roll.random() < 0.5:
            failures += _dying_segment(world, state, chat, tally)
        failures += _segment(world, state, chat, tally, whole=whole)
    return failures


def _segment(world: World, state: str, chat: str, tally: Tally, *, whole: bool) -> list[str]:
    """One program: it goes on with what was left, and plays a turn or two."""
    roll, driver = world.random, Driver(world, tally)
    watch = Watch(world, driver, tally)
    settings = HostSettings(
        state=world.folder / state,
        workspace=world.work,
        model=driver,
        policy=ALLOW_ALL,
        tools=_own_tools(),
    )
    tally["processes"] += 1

    async def turns() -> None:
        for _ in range(roll.choice((1, 1, 1, 2))):
            driver.begin(roll.randint(2, 3) if world.is_begun else roll.randint(2, 4))
            attached = [world.canary().encode()] if roll.random() < 0.05 else []
            files = [Attachment("a.txt", one) for one in attached]
            if whole:
                await session.run("Go on.", files, tell=watch.tell)
            else:
                await _plain_turn(host, session, driver, watch, files)
            tally["turns"] += 1

    async def all_turns() -> None:
        driver.begin(roll.randint(1, 3))
        if whole and await session.resume(tell=watch.tell):
            tally["resumed"] += 1
        await turns()

    with Host(settings) as host:
        session = host.session(chat, watch.ask)
        asyncio.run(all_turns())
    return watch.failures


async def _plain_turn(
    host: Host, session: Session, driver: Driver, watch: Watch, files: Sequence[Attachment]
) -> None:
    """A turn without a model's view and dialect: the driver is shown all of the timeline."""
    recorder = session.recorder
    turn = recorder.new_turn()
    for file in files:
        recorder.attach(turn, file.name, file.content)
    tools = in_turn(host.registry, turn_tools(recorder, turn, root=host.root))
    taints = Taints()
    taints.feed(recorder.timeline.entries(), tools)
    current = Turn(f"{session.name}/{turn}", tainted=taints.reasons)
    runtime = Runtime(
        tools,
        ALLOW_ALL,
        approving=Approving(host.book, watch.ask, str(host.root.folder)),
        journal=host.journal,
        keep=host.artifacts,
        resolve=host.root.resolve,
        origins=host.root.origins,
    )
    for entry in recorder.timeline.entries():
        driver.see(entry.block.text or "")
    while calls := driver.calls():
        for call in calls:
            recorder.started(turn, call)
            watch.tell(call_written(key=0, call=call))
        by_id = {call.id: call for call in calls}
        async for outcome in runtime.run(calls, current):
            told = taint_meta(current.take_new_taints())
            for entry in recorder.ended(turn, by_id[outcome.id], outcome, origins=told):
                driver.see(entry.block.text or "")
            driver.see(msgspec.json.encode(outcome).decode())
            watch.tell(CallEnded(outcome=outcome))


def _dying_segment(world: World, state: str, chat: str, tally: Tally) -> list[str]:
    """A program that is killed at some step that leaves something on the disk."""
    at, log = world.random.randint(4, 40), world.folder / "failures"
    child = os.fork()
    if not child:
        try:
            _trap(at)
            log.write_text("\n".join(_segment(world, state, chat, tally, whole=True)))
        finally:
            os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    tally["killed"] += status == -signal.SIGKILL
    world.random.random()
    return log.read_text().split("\n") if status == 0 and log.exists() and log.read_text() else []


def _trap(at: int) -> None:
    """Kill this process before or after the step of this number."""
    left = [at]

    def step() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def trapped(function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            step()
            done = function(*given, **named)
            step()
            return done

        return watched

    Timeline.append = trapped(Timeline.append)
    Journal.begin = trapped(Journal.begin)
    Journal.end = trapped(Journal.end)
    Marks.put = trapped(Marks.put)
    files_root.replace = trapped(files_root.replace)
