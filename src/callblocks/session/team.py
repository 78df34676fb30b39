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
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.calls import Call
from callblocks.model.errors import CallerError
from callblocks.model.paths import FilePath, MessagePath, file_path, parse_path
from callblocks.model.turn_events import TurnEnded, TurnEvent
from callblocks.models.model import Model, Usage
from callblocks.runtime.approvals.book import ApprovalBook
from callblocks.runtime.asking import Answer, Asker, Question
from callblocks.runtime.policy.policy import Policy
from callblocks.session.asking import BookAsker
from callblocks.session.choosing import NO_CHOICE, Choice
from callblocks.session.ending import INTERRUPTED, STOPPED, Ending
from callblocks.session.panel import Panel
from callblocks.session.session import Session, Tell
from callblocks.session.settings import Attachment, SessionSettings
from callblocks.session.stage import Desk
from callblocks.session.team_member import Heard
from callblocks.session.team_settings import FOLDER, Member, TeamSettings
from callblocks.timeline.recorder import Recorder
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = ("Team", "seat_team")

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
        desk: Desk | None = None,
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
    ) -> TurnEnded:
        """One turn to its end; a file in the folder of the members is a `CallerError`."""
        for file in attachments:
            if _folder(file_path("turn", file.name)) == FOLDER:
                words = f"{file.name}: what members say is in {FOLDER}/; give it another name"
                raise CallerError(words)
        return await super().run(prompt, attachments, choice, tell=tell)

    def settle(self) -> TurnEnded | None:
        """Mark a turn as interrupted whose program died, also those of the members."""
        if not self.is_running:
            self.panel.settle()
        return super().settle()

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
            content = path and self.recorder.holdings.files.read(path)
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
    desk: Desk,
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
