"""Distinct indexes and ids for the events of team members that speak at the same time.

    researcher   index 1, id c1      index 4, id researcher/c1
    critic       index 1, id c1      index 5, id critic/c1
    consensus    index 1, id c1      index 3, id c1

On its own timeline each call has the id without the name. No id there has a slash, so no two calls
of a turn have the same one here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from callblocks.core.blocks import Entry
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
    TurnBegan,
    TurnEvent,
)
from callblocks.session.team_file import TeamSettings
from callblocks.views.replay import Replay, replayed

__all__ = (
    "MemberSeat",
    "TeamReplay",
    "replay_of",
)


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
