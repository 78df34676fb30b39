"""Endings of a turn: status, code and message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from callblocks.model.errors import ModelError, TimelineError, ToolError
from callblocks.model.turn_events import Status, TurnEnded
from callblocks.models.model import Usage
from callblocks.session.tainting import taint_meta

__all__ = ("ANSWERED", "INTERRUPTED", "STOPPED", "TURN_CODES", "Ending")

# Every code of an ended turn beside those of `ModelError` and `TimelineError`.
TURN_CODES = {
    "stopped": "the person stopped the turn",
    "round_limit": "the model was asked as often as it may be",
    "token_limit": "the replies cost as many tokens as they may",
    "time_limit": "the turn took as long as it may",
    "reply_cut": "the model's reply was cut at its largest length",
    "reply_filtered": "the model's server cut the reply by its content filter",
    "empty_reply": "the model said nothing",
    "broken_calls": "the model wrote calls that cannot be read, again and again",
    "interrupted": "the program ended while the turn ran",
}


class Ending(msgspec.Struct, frozen=True):
    """The reason why a turn is over."""

    status: Status
    code: str = ""
    message: str = ""

    @classmethod
    def of(cls, status: Status, code: str) -> Ending:
        """Return one of our own endings, with the message of `TURN_CODES`."""
        return cls(status, code, TURN_CODES[code])

    @classmethod
    def by(cls, error: ModelError | TimelineError | ToolError) -> Ending:
        """Return the ending for a failure."""
        return cls("failed", error.code, error.message)

    def record(self, usage: Usage, tainted: Sequence[str] = ()) -> dict[str, Any]:
        """Return the ending as the timeline records it; `tainted` lists sources of foreign text."""
        said = msgspec.structs.asdict(self)
        return {**said, **msgspec.structs.asdict(usage), **taint_meta(tainted)}

    def event(self, turn: str, usage: Usage, member: str = "") -> TurnEnded:
        """Return the last event of the turn."""
        return TurnEnded(
            turn=turn,
            status=self.status,
            code=self.code,
            message=self.message,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            member=member,
        )


ANSWERED = Ending("answered")
STOPPED = Ending.of("stopped", "stopped")
INTERRUPTED = Ending.of("interrupted", "interrupted")
