"""What members of a team do at the same time, told apart.

    researcher   key 1, id c1      key 4, id researcher/c1
    critic       key 1, id c1      key 5, id critic/c1
    consensus    key 1, id c1      key 3, id c1

On its own timeline each call has the id without the name. No id there has a slash, so no two calls
of a turn have the same one here.
"""

from __future__ import annotations

from msgspec.structs import replace

from callblocks.model.turn_events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallBroken,
    CallEnded,
    CallGranted,
    CallOpened,
    CallTold,
    CallWriting,
    CallWritten,
    TurnEvent,
)

__all__ = ("Place",)


class Place:
    """The place of one who speaks, from 0, among so many; its events are made its own."""

    def __init__(self, at: int, among: int) -> None:
        self._at = at
        self._among = among

    def mark(self, event: TurnEvent) -> TurnEvent:
        """The event with a key and an id that nobody else of the team has."""
        match event:
            case CallWritten(key=key, call=call):
                own = replace(call, id=_id(event.member, call.id))
                return replace(event, key=self._key(key), call=own)
            case CallEnded(outcome=outcome):
                own = replace(outcome, id=_id(event.member, outcome.id))
                return replace(event, outcome=own)
            case CallOpened(key=key, id=id):
                return replace(event, key=self._key(key), id=_id(event.member, id))
            case CallWriting(key=int(key)) | CallBroken(key=int(key)):
                return replace(event, key=self._key(key))
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

    def _key(self, key: int) -> int:
        return key * self._among + self._at


def _id(member: str, id: str) -> str:
    return f"{member}/{id}" if member and id else id
