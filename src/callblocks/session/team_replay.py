"""The turns of a team's chat as a client would have got them: its members first, then its answer.

    replay = replay_of(team, "trip", store.entries)
    for event in replay(entries): ...

`entries` are of the chat's own timeline. What a member did comes right after the turn began, one
member after the other, though they spoke side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from callblocks.model.blocks import Entry
from callblocks.model.turn_events import TurnBegan, TurnEvent
from callblocks.session.team_events import Place
from callblocks.session.team_settings import TeamSettings
from callblocks.views.replay import Replay, replayed

__all__ = ("TeamReplay", "replay_of")


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
            place = Place(at, len(self._names) + 1)
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
