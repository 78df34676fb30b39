"""One member of a team: a session that is asked what the team is asked.

Its turn for `turn_5` of the team is `team_turn_5` of its own timeline, which no session takes for
itself. So the timelines alone say who was asked, who answered, and who is still to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from callblocks.model.errors import CallblocksError, TimelineError, ToolError, TurnRunning
from callblocks.model.paths import Message, MessagePath
from callblocks.model.turn_events import Status, TurnEnded, TurnEvent
from callblocks.session.interrupted import open_turn, this_owner
from callblocks.session.session import Session, Tell
from callblocks.session.settings import Attachment
from callblocks.session.team_settings import FOLDER
from callblocks.timeline.recorder import GivenFile
from callblocks.timeline.state import State
from callblocks.views.replay import replayed

__all__ = ("Heard", "Seat")


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
