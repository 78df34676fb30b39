"""A team: several members answer one prompt, and a consensus makes one answer of theirs.

    chat              the prompt, each member's answer as a file, the consensus answer
    chat.researcher   the researcher's own turn, with its own tools
    chat.critic       the critic's own turn, at the same time

Events of a member carry its name; events of the consensus carry none. A member that fails or is
stopped says so in its file; the turn fails if no member answers. The limits of a turn hold for each
member and for the consensus separately.

Resume: the team's turn is on its timeline before any member is asked, and a member's turn is named
after it. So the timelines alone tell who has answered, and an interrupted turn continues without
asking those members again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile

import msgspec
from msgspec.structs import replace

from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Answer, Asker, BookAsker, Question
from callblocks.core.blocks import Block, Entry
from callblocks.core.calls import Call
from callblocks.core.errors import (
    CallblocksError,
    CallerError,
    TimelineError,
    ToolError,
    TurnRunning,
)
from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallEnded,
    CallGranted,
    CallInput,
    CallReady,
    CallStarted,
    CallTold,
    Event,
    Malformed,
    ModelWrote,
    Status,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.paths import FilePath, Message, MessagePath, file_path, parse_path
from callblocks.models.model import Model, Usage
from callblocks.policy.policy import Policy
from callblocks.session.event_gate import INTERRUPTED, STOPPED, Ending
from callblocks.session.model_choice import NO_CHOICE, Attachment, Choice, SessionSettings
from callblocks.session.session import Session, Tell
from callblocks.session.team_file import FOLDER, Member, TeamSettings
from callblocks.session.turn_factory import RuntimeDeps
from callblocks.session.turn_lock import open_turn, this_owner
from callblocks.timeline.branches import Branch
from callblocks.timeline.recall.lookup import file_content
from callblocks.timeline.recorder import GivenFile, Recorder
from callblocks.timeline.timeline import State
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool
from callblocks.views.replay import Replay, replayed

__all__ = (
    "Heard",
    "MemberSeat",
    "Panel",
    "Seat",
    "Team",
    "TeamReplay",
    "replay_of",
    "seat_team",
)

# --- One member of a team: a session that is asked what the team is asked ---
#
# Its turn for `turn_5` of the team is `team_turn_5` of its own timeline, which no session takes for
# itself. So the timelines alone say who was asked, who answered, and who is still to.


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """The result of asking a member; `text` is its answer, or the part of it that came."""

    name: str
    status: Status
    code: str = ""
    message: str = ""
    text: str = ""

    @property
    def is_answer(self) -> bool:
        """Return whether the consensus can use it; a text that a limit cut counts."""
        return self.status == "answered" or (self.status == "limited" and bool(self.text))

    def attachment(self) -> Attachment:
        """The answer as the one who speaks for the team is given it."""
        words = self._words().encode(errors="replace")
        return Attachment(f"{FOLDER}/{self.name}.md", words, self.name)

    def _words(self) -> str:
        if self.status == "answered":
            return self.text or f"{self.name} is done, and said nothing.\n"
        why = f"{self.name} gave no whole answer: {self.message or self.code or self.status}.\n"
        return f"{why}\nThis much it said:\n\n{self.text}" if self.text else why


class Seat:
    """Asks one member, and goes on where a program before was interrupted."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.name = session.member
        self._recorder = session.recorder

    async def answer(
        self, team_turn: str, prompt: str, files: Sequence[Attachment], tell: Tell
    ) -> Heard:
        """Return the member's answer to the prompt of that turn; ask only if it has none yet."""
        turn = f"team_{team_turn}"
        try:
            ended = self._ended(team_turn) or await self._ask(turn, prompt, files, tell)
            return self._heard(turn, ended)
        except (TimelineError, ToolError) as error:
            return self.failed(error.code, error.message)
        except CallblocksError as error:
            return self.failed("failed", str(error))

    def failed(self, code: str, message: str, status: Status = "failed") -> Heard:
        """A member that could not be asked."""
        return Heard(name=self.name, status=status, code=code, message=message)

    def replayed(self, team_turn: str) -> Iterator[TurnEvent]:
        """Yield the member's events for a turn of the team, as its timeline has them."""
        turn = f"team_{team_turn}"
        entries = self._recorder.timeline.entries()
        for event in replayed(entry for entry in entries if entry.block.turn_id == turn):
            yield msgspec.structs.replace(event, member=self.name)

    async def _ask(
        self, turn: str, prompt: str, files: Sequence[Attachment], tell: Tell
    ) -> TurnEnded | None:
        if not self._recorder.state.has(_path(turn, "user.prompt")):
            self._begin(turn, prompt, files)
        if next(reversed(self._recorder.state.owners), "") != turn:
            return None
        return await self.session.resume(tell=tell)

    def _begin(self, turn: str, prompt: str, files: Iterable[Attachment]) -> None:
        self.session.settle()
        given = [GivenFile(file.name, file.content) for file in files]
        owner, check = this_owner(), self._check_free
        self._recorder.begin_turn(prompt, given, turn=turn, owner=owner, check=check)

    def _check_free(self, state: State) -> None:
        if running := open_turn(state):
            raise TurnRunning(f"{running} of {self.session.name} runs elsewhere")

    def _ended(self, team_turn: str) -> TurnEnded | None:
        """Return how the turn ended, if it is over for good: a whole answer always is."""
        turn = f"team_{team_turn}"
        if self._has_answered(turn):
            self._recorder.end_turn(turn, status="answered")
            return TurnEnded(turn=turn, status="answered")
        if self._recorder.state.ended.get(turn, "interrupted") == "interrupted":
            return None
        return next(one for one in self.replayed(team_turn) if isinstance(one, TurnEnded))

    def _has_answered(self, turn: str) -> bool:
        said = self._recorder.state.at(_path(turn, "assistant.completion"))
        return bool(said) and not said[-1].block.meta.get("is_partial")

    def _heard(self, turn: str, ended: TurnEnded | None) -> Heard:
        if ended is None:
            return self.failed("interrupted", "it was interrupted", "interrupted")
        said = self._recorder.state.at(_path(turn, "assistant.completion"))
        return Heard(
            name=self.name,
            status=ended.status,
            code=ended.code,
            message=ended.message,
            text=(said[-1].block.text or "") if said else "",
        )


def _path(turn: str, message: Message) -> str:
    return str(MessagePath(turn, message))


# --- The members of a team, asked concurrently ---


class Panel:
    """A group of members, of which at most `at_once` answer at the same time.

    Each member is a session with its own timeline and `member` name, used by one panel only.
    """

    def __init__(self, members: Sequence[Session], at_once: int = 4) -> None:
        self.members = tuple(members)
        self.is_stopped = False
        self._seats = [Seat(member) for member in members]
        self._at_once = at_once

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the members."""
        return tuple(seat.name for seat in self._seats)

    def stop(self) -> None:
        """Stop the members that answer; no other member begins."""
        self.is_stopped = True
        for member in self.members:
            member.stop()

    def settle(self) -> None:
        """Mark turns of dead processes as interrupted."""
        for member in self.members:
            member.settle()

    async def ask(
        self, turn: str, prompt: str, files: Sequence[Attachment], tell: Tell
    ) -> list[Heard]:
        """Ask every member; return the results when all are done."""
        self.is_stopped = False
        slots = asyncio.Semaphore(self._at_once)

        async def ask(at: int, seat: Seat) -> Heard:
            async with slots:
                if self.is_stopped:
                    return seat.failed("stopped", "it was not asked", "stopped")
                return await seat.answer(turn, prompt, files, self.telling(at, tell))

        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(at, one)) for at, one in enumerate(self._seats, 1)]
        return [one.result() for one in asked]

    def replayed(self, turn: str) -> Iterator[TurnEvent]:
        """Yield the events of each member for a turn, one member after the other."""
        for at, seat in enumerate(self._seats, 1):
            yield from map(self._place(at).mark, seat.replayed(turn))

    def telling(self, at: int, tell: Tell) -> Tell:
        """Return a callback that marks the events of one place; place 0 is the consensus."""
        place = self._place(at)
        return lambda event: tell(place.mark(event))

    def _place(self, at: int) -> MemberSeat:
        return MemberSeat(at, len(self._seats) + 1)


# --- A team: several members answer one prompt, and a consensus makes one answer of theirs ---

_ANSWER = f"{FOLDER}/answer.md"


class Team(Session):
    """A session in which the members of a panel answer first.

    All but the panel is of the one who speaks for them.
    """

    def __init__(
        self,
        recorder: Recorder,
        model: Model,
        panel: Panel,
        *,
        tools: Registry | Iterable[Tool] = (),
        policy: Policy | None = None,
        dialect: str = "",
        settings: SessionSettings | None = None,
        desk: RuntimeDeps | None = None,
    ) -> None:
        super().__init__(
            recorder,
            model,
            tools=tools,
            policy=policy,
            dialect=dialect,
            settings=settings,
            desk=desk,
        )
        self.panel = panel

    @property
    def members(self) -> tuple[Session, ...]:
        """The sessions of the members."""
        return self.panel.members

    def stop(self) -> None:
        """End the turn that runs, for everybody."""
        self.panel.stop()
        super().stop()

    def check(self, choice: Choice) -> None:
        """Raise `CallerError` for any choice: each of a team has a model of its own."""
        if choice != NO_CHOICE:
            words = "leave model, dialect and scenario out"
            raise CallerError(f"a team answers here, and its file says who speaks how: {words}")

    async def run(
        self,
        prompt: str,
        attachments: Sequence[Attachment] = (),
        choice: Choice = NO_CHOICE,
        *,
        tell: Tell,
        branch: Branch | None = None,
        calls: Sequence[Call] = (),
    ) -> TurnEnded:
        """One turn to its end; a file in the folder of the members is a `CallerError`.

        So is a branch: what members said of other turns stays with them.
        """
        if branch is not None:
            raise CallerError(
                "a team answers here, and remembers all turns: say it as a new message"
            )
        for file in attachments:
            if _folder(file_path("turn", file.name)) == FOLDER:
                words = f"{file.name}: what members say is in {FOLDER}/; give it another name"
                raise CallerError(words)
        return await super().run(prompt, attachments, choice, tell=tell, calls=calls)

    def settle(self, ending: Ending = INTERRUPTED) -> TurnEnded | None:
        """End a turn whose program died; those of the members are interrupted."""
        if not self.is_running:
            self.panel.settle()
        return super().settle(ending)

    def replayed(self, turn: str) -> Iterator[TurnEvent]:
        """Yield the members' events of a turn for a client that connects later."""
        return self.panel.replayed(turn)

    async def _perform(
        self, turn: str, before: int, tell: Tell, left: Sequence[Call] = ()
    ) -> TurnEnded:
        for member in self.members:
            member.user = self.user
        ending: Ending | None = INTERRUPTED
        try:
            ending = await self._hear(turn, tell)
        finally:
            ended = None if ending is None else self._close(turn, ending, Usage())
        own = self.panel.telling(0, tell)
        return ended or await super()._perform(turn, before, own, left)

    async def _hear(self, turn: str, tell: Tell) -> Ending | None:
        """Let all members answer and attach their answers; return an ending if the turn ends."""
        state = self.recorder.state
        missing = [name for name in self.panel.names if not state.has(_said_path(turn, name))]
        prompt = state.at(str(MessagePath(turn, "user.prompt")))
        if not missing or not prompt:
            return None
        files = [*self._given(turn), *self._answered(turn)]
        heard = await self.panel.ask(turn, prompt[-1].block.text or "", files, tell)
        if self.panel.is_stopped:
            return STOPPED
        if not any(one.is_answer for one in heard):
            return _failed(heard)
        return self._attach(turn, [one.attachment() for one in heard if one.name in missing])

    def _given(self, turn: str) -> Iterator[Attachment]:
        """Yield the files that the person attached to the prompt."""
        newest = takewhile(lambda one: one.block.turn_id == turn, self.recorder.state.backwards())
        for entry in reversed(list(newest)):
            path = _attached(entry.block)
            recorder = self.recorder
            content = path and file_content(path, recorder.state, recorder.holdings)
            if path and content is not None and _folder(path) != FOLDER:
                yield Attachment(path.name, content)

    def _answered(self, turn: str) -> Iterator[Attachment]:
        """Yield the last answer that the person saw: the prompt may refer to it."""
        for entry in self.recorder.state.backwards():
            block = entry.block
            if block.type == "assistant.completion" and block.turn_id != turn:
                yield Attachment(_ANSWER, (block.text or "").encode(errors="replace"))
                return


def seat_team(
    team: TeamSettings,
    name: str,
    record: Callable[[str], Recorder],
    *,
    registry: Registry,
    policy: Policy | None,
    settings: SessionSettings,
    desk: RuntimeDeps,
) -> Team:
    """Return the team of a chat; `record` opens the recorder of a timeline by name."""
    own = msgspec.structs.replace(desk, asker=desk.asker and _one_at_a_time(desk.asker, desk.book))

    def told(words: str) -> SessionSettings:
        both = f"{settings.system}\n\n{words}".strip()
        return msgspec.structs.replace(settings, system=both)

    def seated(member: Member) -> Session:
        return Session(
            record(f"{name}.{member.name}"),
            member.model,
            tools=member.chosen(registry),
            policy=policy,
            dialect=member.dialect,
            settings=told(team.told(member)),
            desk=own,
            member=member.name,
        )

    return Team(
        record(name),
        team.consensus.model,
        Panel([seated(member) for member in team.members], team.at_once),
        tools=team.consensus.chosen(registry),
        policy=policy,
        dialect=team.consensus.dialect,
        settings=told(team.told(team.consensus)),
        desk=desk,
    )


def _one_at_a_time(asker: Asker, book: ApprovalBook | None) -> Asker:
    """Return an asker that asks one question at a time; a book may answer in any order."""
    if isinstance(asker, BookAsker):
        return asker
    lock, answered = asyncio.Lock(), set[str]()

    async def ask(question: Question) -> Answer | None:
        id = question.approval_id
        async with lock:
            now = book and book.get(id)
            # The same question of another member may have been answered meanwhile.
            if id in answered or (now is not None and now.state != "pending"):
                return None
            answer = await asker(question)
            if answer is not None:
                answered.add(id)
            return answer

    return ask


def _said_path(turn: str, name: str) -> str:
    return str(file_path(turn, f"{FOLDER}/{name}.md", "attachments"))


def _folder(path: FilePath) -> str:
    return path.name.partition("/")[0]


def _attached(block: Block) -> FilePath | None:
    is_file = block.type == "user.attachment" and block.meta.get("role") == "digest"
    path = parse_path(block.path) if is_file else None
    return path if isinstance(path, FilePath) else None


def _failed(heard: Sequence[Heard]) -> Ending:
    """No member answered: the first fault's code, and why it was each."""
    first = next((one for one in heard if one.status == "failed"), heard[0])
    why = "; ".join(f"{one.name}: {one.message or one.code or one.status}" for one in heard)
    return Ending("failed", first.code or first.status, f"no member of the team answered: {why}")


# --- Distinct indexes and ids for the events of team members that speak at the same time ---
#
#     researcher   index 1, id c1      index 4, id researcher/c1
#     critic       index 1, id c1      index 5, id critic/c1
#     consensus    index 1, id c1      index 3, id c1
#
# On its own timeline each call has the id without the name. No id there has a slash, so no two
# calls of a turn have the same one here.


class MemberSeat:
    """The place of one who speaks, from 0, among so many; its events are made its own."""

    def __init__(self, at: int, among: int) -> None:
        self._at = at
        self._among = among

    def mark(self, event: TurnEvent) -> TurnEvent:
        """The event with an index and an id that nobody else of the team has."""
        match event:
            case ModelWrote():
                return replace(event, event=self._mark(event.event, event.member))
            case CallEnded(outcome=outcome):
                own = replace(outcome, id=_id(event.member, outcome.id))
                return replace(event, outcome=own)
            case (
                CallAsked(id=id)
                | CallAnswered(id=id)
                | CallGranted(id=id)
                | CallBegan(id=id)
                | CallTold(id=id)
            ):
                return replace(event, id=_id(event.member, id))
            case _:
                return event

    def _mark(self, event: Event, member: str) -> Event:
        match event:
            case CallReady(index=index, call=call):
                own = replace(call, id=_id(member, call.id))
                return replace(event, index=self._index(index), call=own)
            case CallStarted(index=index, id=id):
                own = None if id is None else _id(member, id)
                return replace(event, index=self._index(index), id=own)
            case CallInput(index=int(index)) | Malformed(index=int(index)):
                return replace(event, index=self._index(index))
            case _:
                return event

    def _index(self, index: int) -> int:
        return index * self._among + self._at


def _id(member: str, id: str) -> str:
    return f"{member}/{id}" if member and id else id


# --- The replay of a team's turns as events: its members first, then its answer ---
#
#     replay = replay_of(team, "trip", store.entries)
#     for event in replay(entries): ...
#
# `entries` are of the chat's own timeline. What a member did comes right after the turn began, one
# member after the other, though they spoke side by side.


def replay_of(
    team: TeamSettings | None, chat: str, read: Callable[[str], Iterable[Entry]]
) -> Replay:
    """Return the replay of a chat's turns; `read` yields the blocks of a timeline by name."""
    return replayed if team is None else TeamReplay(team, chat, read)


class TeamReplay:
    """Replays turns of one chat, and reads the timelines of its members once."""

    def __init__(
        self, team: TeamSettings, chat: str, read: Callable[[str], Iterable[Entry]]
    ) -> None:
        self._names = team.names
        self._chat = chat
        self._read = read

    def __call__(self, entries: Iterable[Entry]) -> Iterator[TurnEvent]:
        """The events of the turns in these entries."""
        for event in replayed(entries):
            yield event
            if isinstance(event, TurnBegan):
                yield from self._members(f"team_{event.turn}")

    def _members(self, turn: str) -> Iterator[TurnEvent]:
        for at, name in enumerate(self._names, 1):
            place = MemberSeat(at, len(self._names) + 1)
            for event in replayed(self._turns[name].get(turn, ())):
                yield place.mark(replace(event, member=name))

    @cached_property
    def _turns(self) -> Mapping[str, Mapping[str, Sequence[Entry]]]:
        """By member and turn."""
        found: dict[str, dict[str, list[Entry]]] = {name: {} for name in self._names}
        for name, turns in found.items():
            for entry in self._read(f"{self._chat}.{name}"):
                turns.setdefault(entry.block.turn_id, []).append(entry)
        return found
