"""Teams of scripted models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from callblocks.core.blocks import text_of
from callblocks.core.events import TurnEvent
from callblocks.models.model import Request
from callblocks.session.host import Host
from callblocks.session.team import Team
from callblocks.session.team_file import Member, TeamSettings, Voice
from support.scripted_sessions import Replies, some_host

__all__ = ("calls", "of_member", "seen", "some_team", "team_host")


def team_host(
    folder: Path, consensus: Any, *members: Member, at_once: int = 4, **settings: Any
) -> Host:
    """A host whose chats are a team; by default everything may run."""
    voice = consensus if isinstance(consensus, Voice) else Voice(model=consensus)
    team = TeamSettings(members=members, consensus=voice, at_once=at_once)
    return some_host(folder, Replies(), team=team, **settings)


def some_team(host: Host, name: str = "trip", **asking: Any) -> Team:
    """The team of a chat."""
    team = host.session(name, **asking)
    assert isinstance(team, Team)
    return team


def of_member(events: Sequence[TurnEvent], member: str) -> list[TurnEvent]:
    """What was told of one who speaks."""
    return [event for event in events if event.member == member]


def seen(request: Request) -> str:
    """All that a model was sent."""
    return "\n".join(text_of(list(message.parts)) for message in request.messages)


def calls(name: str, id: str, **input: str) -> str:
    """A call as a tool fence."""
    lines = "".join(f"  {key}: {value}\n" for key, value in input.items())
    return f"```tool {name} {id}\ninput:\n{lines}```\n"
