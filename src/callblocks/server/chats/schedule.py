"""Turns that are due later: once, at a time, or again and again.

    POST /api/scheduled                 {"chat": "trip", "prompt": "…", "delay": 3600}
    GET  /api/scheduled                 the turns that wait, the next first
    POST /api/scheduled/7/cancel        that one does not run, nor those that would follow it

The table of turns of a cluster keeps them, so they outlive any process. Times are those of the
database's clock. The chat is free until a turn is due; where another turn runs then, it waits. A
turn of a series that was missed runs once, whatever the number of times that it was missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, NamedTuple, Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.server.chats.chat_list import Nothing
from callblocks.server.http.faults import ApiFault, answer_json
from callblocks.server.http.rate_limits import client_name
from callblocks.server.http.request import read_body
from callblocks.server.service import Service, service_of
from callblocks.session.model_choice import Choice
from callblocks.timeline.log.log import check_name

__all__ = (
    "Schedule",
    "ScheduleBody",
    "ScheduleList",
    "ScheduledTurn",
    "Unscheduled",
    "When",
    "cancel_scheduled",
    "list_scheduled",
    "post_scheduled",
)

_HOUR = 3600.0
_YEAR = 366 * 24 * 3600.0


class When(NamedTuple):
    """When a turn is due: in `delay` seconds, or at a time; and again each `every` seconds."""

    delay: float
    at: float | None
    every: float


class ScheduleBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prompt, and when it is due: in `delay` seconds, or `at` a time with a zone.

    With `every` it is due again each so many seconds, from a minute on.
    """

    chat: Annotated[str, msgspec.Meta(max_length=200)]
    prompt: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000_000)]
    delay: Annotated[float, msgspec.Meta(ge=0, le=_YEAR)] | None = None
    at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    every: Annotated[float, msgspec.Meta(ge=60, le=_YEAR)] | None = None
    model: str | None = None
    dialect: str | None = None

    @property
    def when(self) -> When:
        """Return when it is due."""
        if (self.delay is None) == (self.at is None):
            raise ApiFault("invalid_request", "say one of `delay` and `at`")
        if self.at is None:
            return When(self.delay or 0.0, None, self.every or 0.0)
        # The database says what time it is. This clock only tells what cannot be meant.
        seconds = (self.at.astimezone(UTC) - datetime.now(UTC)).total_seconds()
        if not -_HOUR <= seconds <= _YEAR + _HOUR:
            raise ApiFault("invalid_request", "a turn is due from now on, within a year")
        return When(0.0, self.at.timestamp(), self.every or 0.0)


class ScheduledTurn(msgspec.Struct, frozen=True):
    """A turn that is due later, at a time in UTC; `every` is 0 for one that runs once."""

    id: int
    chat: str
    prompt: str
    due: str
    every: float


class ScheduleList(msgspec.Struct, frozen=True):
    """The turns that are due later, the next ones first, at most a thousand."""

    scheduled: Sequence[ScheduledTurn]


class Unscheduled(msgspec.Struct, frozen=True):
    """The turn that does not run any more."""

    id: int


class Schedule(Protocol):
    """The turns that wait until they are due."""

    async def add(self, chat: str, prompt: str, choice: Choice, user: str, when: When) -> int:
        """Take a turn; return its number."""
        ...

    async def waiting(self) -> Sequence[ScheduledTurn]:
        """Return the turns that are due later, the next ones first."""
        ...

    async def cancel(self, id: int) -> bool:
        """End a turn that is due later, and its series; return whether there was one."""
        ...


async def post_scheduled(request: Request) -> Response:
    """Say something in a chat later, once or again and again."""
    service = service_of(request)
    body = await read_body(request, ScheduleBody, service.settings)
    schedule, when = _schedule(service), body.when
    check_name(body.chat)
    choice = Choice(model=body.model or "", dialect=body.dialect or "")
    user = client_name(request.scope)
    id = await schedule.add(body.chat, body.prompt, choice, user, when)
    there = {one.id: one for one in await schedule.waiting()}
    # One that was due at once may run by now.
    due = datetime.now(UTC).isoformat(timespec="seconds")
    default = ScheduledTurn(id, body.chat, body.prompt, due, body.every or 0.0)
    return answer_json(there.get(id, default))


async def list_scheduled(request: Request) -> Response:
    """The turns that are due later, the next ones first."""
    return answer_json(ScheduleList(await _schedule(service_of(request)).waiting()))


async def cancel_scheduled(request: Request) -> Response:
    """Cancel a turn that is due later, and those that would follow it."""
    service, given = service_of(request), request.path_params["number"]
    await read_body(request, Nothing, service.settings)
    schedule = _schedule(service)
    id = int(given) if given.isdecimal() and given.isascii() and len(given) <= _DIGITS else 0
    if not await schedule.cancel(id):
        raise ApiFault("unknown_turn")
    return answer_json(Unscheduled(id))


_DIGITS = 18


def _schedule(service: Service) -> Schedule:
    schedule = service.chats.schedule
    if schedule is None:
        raise ApiFault("no_schedule")
    return schedule
