"""One real turn with a model and a tiny tool: does it call, natively or as text, in which dialect?

The turn is a session's, with the model opened as a chat opens it. What is found out is read from
the events of the turn, so a chat with the same options does the same.
"""

from __future__ import annotations

import time
from tempfile import TemporaryDirectory

import msgspec

from callblocks.core.events import (
    CallEnded,
    CallReady,
    Malformed,
    ModelWrote,
    Problem,
    RoundBegan,
    Text,
    TurnEnded,
    TurnEvent,
)
from callblocks.models.model import mode_of
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.model_choice import Offered, SessionSettings
from callblocks.session.session import Session
from callblocks.toolkits.turn_files import open_recorder
from callblocks.tools.declare import tool

__all__ = ("Trial", "try_model")

_PROMPT = "Add 19 and 23 with the tool add_numbers. Then say the sum in one short sentence."
_SUM = "42"
_ROUNDS = 3


class Trial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a trial.

    `mode` is the mode in which the model is called, once `auto` is resolved. `dialect` is that
    of the first call, `native` for one in the API's own form and "" where none came. `ran` says
    whether a call ran, `used` whether the answer has its result. `first_seconds` is the time to the
    first call or word, `seconds` to the end. `broken` are the codes of calls that could not be
    read.
    """

    model: str
    mode: str = ""
    dialect: str = ""
    ran: bool = False
    used: bool = False
    first_seconds: float = 0.0
    seconds: float = 0.0
    status: str = ""
    code: str = ""
    message: str = ""
    said: str = ""
    broken: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if a call ran and the turn was answered."""
        return self.ran and self.status == "answered"


@tool(read_only=True)
def add_numbers(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


async def try_model(offered: Offered, settings: SessionSettings) -> Trial:
    """Have the model call the tool, in a session that is gone afterwards."""
    events: list[TurnEvent] = []
    began = time.monotonic()
    first = 0.0

    def tell(event: TurnEvent) -> None:
        nonlocal first
        if not first and _is_said(event):
            first = time.monotonic() - began
        events.append(event)

    rule = Rule(decide="allow", tool=(add_numbers.name,), because="it only adds")
    policy = Policy((rule,), name="trial", autoexec=True)
    own = msgspec.structs.replace(settings, rounds=_ROUNDS, system=offered.system or "")
    with (
        TemporaryDirectory(prefix="callblocks-trial-") as folder,
        open_recorder(folder, "trial") as recorder,
    ):
        session = Session(
            recorder,
            offered.model,
            tools=[add_numbers],
            policy=policy,
            dialect=offered.dialect,
            settings=own,
        )
        ended = await session.run(_PROMPT, tell=tell)
    return _trial(offered, events, ended, first, time.monotonic() - began)


def _trial(
    offered: Offered, events: list[TurnEvent], ended: TurnEnded, first: float, seconds: float
) -> Trial:
    written = [event.event for event in events if isinstance(event, ModelWrote)]
    calls = [event.call for event in written if isinstance(event, CallReady)]
    outcomes = [event.outcome for event in events if isinstance(event, CallEnded)]
    starts = [at for at, event in enumerate(events) if isinstance(event, RoundBegan)]
    answer = _said(events[starts[-1] :] if starts else events)
    return Trial(
        model=offered.name,
        mode=mode_of(offered.model),
        dialect=(calls[0].dialect or "text") if calls else "",
        ran=any(outcome.ok for outcome in outcomes),
        used=_SUM in answer,
        first_seconds=round(first, 3),
        seconds=round(seconds, 3),
        status=ended.status,
        code=ended.code or "",
        message=ended.message or "",
        said=_said(events).strip(),
        broken=tuple(event.code for event in written if isinstance(event, Malformed | Problem)),
    )


def _said(events: list[TurnEvent]) -> str:
    written = [event.event for event in events if isinstance(event, ModelWrote)]
    return "".join(event.text for event in written if isinstance(event, Text))


def _is_said(event: TurnEvent) -> bool:
    return isinstance(event, ModelWrote) and isinstance(event.event, Text | CallReady)
