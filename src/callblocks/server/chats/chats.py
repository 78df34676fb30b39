"""The turns that run, by the chat they belong to: one at a time in each.

A turn goes on whether anybody follows it or not. What happened in it is in its log until it is
over; from then on the timeline says all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from callblocks.approvals.question import BookAsker
from callblocks.core.calls import Call
from callblocks.core.errors import CallblocksError, CallerError
from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    ModelWrote,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.paths import FilePath, MessagePath, parse_path
from callblocks.core.text import brief
from callblocks.server.chats.known_chats import LastTurn, status_of
from callblocks.server.http.faults import ApiFault
from callblocks.server.http.monitoring import Metrics
from callblocks.server.settings import SdkClient
from callblocks.session.event_gate import Logged, TurnLog
from callblocks.session.host import Host
from callblocks.session.model_choice import NO_CHOICE, Attachment, Choice
from callblocks.session.session import Session
from callblocks.session.team import replay_of
from callblocks.session.traces import begin_turn
from callblocks.timeline.branches import Branch
from callblocks.timeline.codec.call_blocks import is_whole, params_of
from callblocks.timeline.recall.lookup import file_content
from callblocks.timeline.recorder import Recorder
from callblocks.views.replay import Replay

if TYPE_CHECKING:
    from callblocks.server.chats.schedule import Schedule

__all__ = (
    "Chats",
    "EndedTurn",
    "FollowedTurn",
    "RunningTurn",
    "SaidAgain",
    "TurnsHere",
    "call_again",
    "said_again",
)

# --- A turn under way, for all its followers: its log, its number and its questions ---


class FollowedTurn:
    """A turn under way, for all who follow it. `turn` is "" until it has its number.

    `client` is the client that began it; None where none did.
    """

    def __init__(self, log: TurnLog, count: Callable[[TurnEvent], None]) -> None:
        self.log = log
        self.turn = ""
        self.fault: Exception | None = None
        self.client: SdkClient | None = None
        self._replayed = 0
        self._count = count
        self._asked: dict[str, int] = {}
        self._answered: set[str] = set()

    @property
    def first(self) -> int:
        """The number of the turn's first block."""
        raise NotImplementedError

    async def begun(self) -> None:
        """Wait until the turn can be followed; a fault instead is raised."""
        raise NotImplementedError

    async def named(self) -> str:
        """Return the number of the turn, once it has one."""
        return self.turn

    def following(self) -> AbstractContextManager[object]:
        """Enter this while the turn is followed."""
        return nullcontext()

    def note(self, event: TurnEvent) -> None:
        """Take note of an event that is about to be logged."""
        match event:
            case TurnBegan(member="", turn=turn):
                self.turn = turn
            case CallAsked(approval=approval):
                self._asked[approval] = len(self.log.events)
            case CallAnswered(approval=approval):
                self._answered.add(approval)
            case _:
                pass
        self._count(event)

    @property
    def waiting(self) -> list[str]:
        """The questions that no answer came to yet."""
        return [approval for approval in self._asked if approval not in self._answered]

    def asked(self, approval: str) -> bool:
        """Return whether this turn asked that question."""
        return approval in self._asked

    def after(self, approvals: Sequence[str]) -> int:
        """Return the place in the log from which a client that answers these questions reads on."""
        asked = max(self._asked[approval] for approval in approvals) + 1
        return max(asked, self.log.asked_at)


class RunningTurn(FollowedTurn):
    """A turn that runs in this process."""

    def __init__(self, session: Session, count: Callable[[TurnEvent], None], key: str = "") -> None:
        self.session = session
        self.key = key
        self._trace = begin_turn(session.recorder.timeline.name)
        state = session.recorder.state
        super().__init__(TurnLog(lambda: state.last), count)

    def replay(self, told: Iterable[Logged]) -> None:
        """Take what happened in this turn before it was interrupted."""
        for one in told:
            if not isinstance(one.event, TurnEnded) or one.event.member:
                self.log.events.append(one)
        self._replayed = len(self.log.events)

    @property
    def first(self) -> int:
        """The number of the turn's first block."""
        return self.session.recorder.state.turns.get(self.turn, 0)

    async def begun(self) -> None:
        """Wait until the turn has its number; a fault instead is raised."""
        async with aclosing(self.log.read(self._replayed)) as batches:
            await anext(batches, None)
        if self.fault is not None:
            raise self.fault

    def tell(self, event: TurnEvent) -> None:
        """Take what happens."""
        if not isinstance(event, ModelWrote):
            self.note(event)
        self.log.tell(event)
        if self._trace is not None:
            self._trace.tell(event)

    def end(self) -> None:
        """Take note that nothing more happens."""
        self.log.close()
        if self._trace is not None:
            self._trace.close()


class EndedTurn(FollowedTurn):
    """A turn that is over, or was interrupted, as its timeline tells it."""

    def __init__(self, turn: str, log: TurnLog) -> None:
        super().__init__(log, lambda event: None)
        self.turn = turn


class TurnsHere(Protocol):
    """The turns of all chats, as the handlers need them: of this process, or of a cluster."""

    @property
    def schedule(self) -> Schedule | None:
        """The turns that are due later; None where no turn can be."""
        ...

    async def measure(self) -> None:
        """Put into the metrics what is counted only when somebody asks."""
        ...

    async def count(self) -> int:
        """Return how many turns run."""
        ...

    async def find(self, name: str) -> FollowedTurn | None:
        """Return the turn of a chat that runs now."""
        ...

    def questions(self, name: str) -> int | None:
        """Return how many questions of a chat's turn wait; `None` where none runs.

        It may block, and may be called in a thread.
        """
        ...

    def session(self, name: str) -> Session:
        """Return the session of a chat, to read from."""
        ...

    async def ended(self, name: str) -> None:
        """Wait until no turn of a chat runs."""
        ...

    async def cancel(self, name: str, call: str) -> bool:
        """Cancel one call of the turn of a chat; return whether it ran."""
        ...

    async def asking(self, approvals: Sequence[str]) -> Mapping[str, str]:
        """Return the chats whose turns asked these questions, by question."""
        ...

    def wake(self, approval: str) -> None:
        """Let the turn that asked a question know that there is an answer."""
        ...

    async def start(
        self,
        name: str,
        prompt: str,
        attachments: Sequence[Attachment],
        choice: Choice = NO_CHOICE,
        user: str = "",
        branch: Branch | None = None,
        calls: Sequence[Call] = (),
        key: str = "",
    ) -> FollowedTurn:
        """Begin a turn of a user; one that runs is a `turn_running` fault.

        A second start with the same `key` is the turn of the first.
        """
        ...

    async def resume(self, name: str, user: str = "") -> FollowedTurn:
        """Go on with a turn that was interrupted."""
        ...

    async def stop(self, name: str) -> bool:
        """Stop the turn of a chat; whether there was one."""
        ...

    async def close(self, grace: float) -> None:
        """Let turns end for so many seconds, then interrupt them; no new one begins."""
        ...


# --- A message that is said again: another version of it, beside the first ---


class SaidAgain(NamedTuple):
    """Where the turn of a message stands, and the text and the files of its first version."""

    branch: Branch
    text: str
    files: list[Attachment]


def said_again(recorder: Recorder, turn: str, *, again: bool) -> SaidAgain:
    """Return what a turn was asked; `again` says that its prompt stays as it was."""
    with recorder.lock:
        state = recorder.state
        branches = state.branches
        turn = turn or branches.last
        if turn not in branches:
            raise CallerError(f"this chat has no turn {brief(turn)}: load it again")
        (prompt, *_) = state.at(str(MessagePath(turn, "user.prompt")))
        branch = Branch(branches.parent(turn), turn if again else "")
    first = state.turns[turn]
    given = recorder.timeline.entries(after=first - 1, limit=prompt.seq - first)
    paths = {entry.block.path for entry in given if entry.block.type == "user.attachment"}
    files = [one for one in map(parse_path, sorted(paths)) if isinstance(one, FilePath)]
    read = [(one.name, file_content(one, recorder.state, recorder.holdings)) for one in files]
    # A file that is gone is left out: the message can be said without it.
    kept = [Attachment(name, content) for name, content in read if content is not None]
    return SaidAgain(branch, prompt.block.text or "", kept)


def call_again(recorder: Recorder, turn: str, id: str) -> Call:
    """Return a call of a turn as it was written; a call that is not whole is not made again."""
    with recorder.lock:
        blocks = [one.block for one in recorder.state.at(f"tc:{turn}.{id}.call")]
    if not blocks:
        raise CallerError(f"this chat has no call {brief(id)} in {brief(turn)}: load it again")
    if not is_whole(blocks[0]):
        raise CallerError("a part of this call is covered or was left out: ask the model for it")
    return Call(id=id, name=blocks[0].tool_id, input=params_of(blocks[0]))


# --- The turns that run, by the chat they belong to: one at a time in each ---

_LAST_SECONDS = 5.0
"""How long a turn that was interrupted may take to end."""


class Chats:
    """Starts, keeps and stops turns."""

    schedule = None

    def __init__(self, host: Host, metrics: Metrics, limit: int) -> None:
        self.asker = BookAsker(host.book)
        self.is_closing = False
        self._host = host
        self._metrics = metrics
        self._limit = limit
        self._running: dict[str, RunningTurn] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._running)

    async def count(self) -> int:
        """Return how many turns run."""
        return len(self._running)

    async def measure(self) -> None:
        """Leave the metrics as they are: everything was counted when it happened."""

    def get(self, name: str) -> RunningTurn | None:
        """Return the turn of a chat that runs now."""
        return self._running.get(name)

    async def find(self, name: str) -> RunningTurn | None:
        """Return the turn of a chat that runs now."""
        return self._running.get(name)

    def questions(self, name: str) -> int | None:
        """Return how many questions of a chat's turn wait; `None` where none runs."""
        running = self._running.get(name)
        return None if running is None else len(running.waiting)

    async def asking(self, approvals: Sequence[str]) -> Mapping[str, str]:
        """Return the chats whose turns asked these questions, by question."""
        running = self._running.items()
        return {id: name for name, one in running for id in approvals if one.asked(id)}

    def wake(self, approval: str) -> None:
        """Let the turn that asked a question know that there is an answer."""
        self.asker.wake(approval)

    def session(self, name: str) -> Session:
        """The session of a chat; approvals are answered through the book."""
        return self._host.session(name, self.asker)

    async def start(
        self,
        name: str,
        prompt: str,
        attachments: Sequence[Attachment],
        choice: Choice = NO_CHOICE,
        user: str = "",
        branch: Branch | None = None,
        calls: Sequence[Call] = (),
        key: str = "",
    ) -> RunningTurn:
        """Begin a turn of a user; one that runs is a `turn_running` fault."""
        known = self._running.get(name)
        if known is not None and key and known.key == key:
            return known
        self._check_free(name)
        session = self.session(name)
        session.user = user
        running = RunningTurn(session, self._metrics.count, key)
        turn = session.run(
            prompt, attachments, choice, tell=running.tell, branch=branch, calls=calls
        )
        self._begin(name, running, turn)
        return running

    async def resume(self, name: str, user: str = "") -> RunningTurn:
        """Go on with a turn that was interrupted."""
        self._check_free(name)
        session = self.session(name)
        session.user = user
        entries = list(session.recorder.timeline.entries())
        if status_of(entries) != "interrupted":
            raise ApiFault("nothing_to_resume")
        running = RunningTurn(session, self._metrics.count)
        running.replay(LastTurn(entries, self._replay(name)).told())
        self._begin(name, running, session.resume(tell=running.tell))
        return running

    async def ended(self, name: str) -> None:
        """Wait until no turn of a chat runs."""
        running = self._running.get(name)
        if running is not None:
            async with aclosing(running.log.read(len(running.log.events))) as batches:
                async for _ in batches:
                    pass

    async def cancel(self, name: str, call: str) -> bool:
        """Cancel one call of the turn of a chat; return whether it ran."""
        running = self._running.get(name)
        return running is not None and running.session.cancel(call)

    async def stop(self, name: str) -> bool:
        """Stop the turn of a chat; whether there was one."""
        running = self._running.get(name)
        if running is not None:
            running.session.stop()
        return running is not None

    async def close(self, grace: float) -> None:
        """Let turns end for so many seconds, then interrupt them; no new one begins.

        Nobody stopped them, so whoever serves next can go on with them.
        """
        self.is_closing = True
        for seconds in (grace, _LAST_SECONDS):
            if await self._ended(seconds):
                return
            for task in self._tasks:
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _ended(self, seconds: float) -> bool:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        return not self._tasks

    def _replay(self, name: str) -> Replay:
        return replay_of(self._host.settings.team, name, self._host.store.entries)

    def _check_free(self, name: str) -> None:
        if self.is_closing:
            raise ApiFault("shutting_down", headers={"retry-after": "5"})
        running = self._running.get(name)
        if running is None:
            self._check_room()
            return
        words = "a turn of this chat runs: wait until it is over, or stop it"
        if waiting := running.waiting:
            words = f"a turn of this chat waits for the approval {waiting[0]}: answer, or stop it"
        raise ApiFault("turn_running", words)

    def _check_room(self) -> None:
        if len(self._running) >= self._limit:
            words = f"{self._limit} turns run, which is the limit here; try again later"
            raise ApiFault("too_many_turns", words, {"retry-after": "5"})

    def _begin(
        self, name: str, running: RunningTurn, turn: Coroutine[Any, Any, TurnEnded | None]
    ) -> None:
        self._running[name] = running
        # Until the task has its first step, nothing else says that the session is used.
        running.session.is_held = True
        task = asyncio.create_task(self._see_out(name, running, turn))
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        """A mistake of ours is for whoever runs the server; clients saw their stream break off."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            context = {"message": "a turn broke off", "exception": error, "task": task}
            task.get_loop().call_exception_handler(context)

    async def _see_out(
        self, name: str, running: RunningTurn, turn: Coroutine[Any, Any, TurnEnded | None]
    ) -> None:
        with self._metrics.running.track_inprogress():
            try:
                await turn
            except CallblocksError as error:
                # Whoever began it is told; it never was on the timeline.
                running.fault = error
            finally:
                del self._running[name]
                running.session.is_held = False
                running.end()
