"""What the model of one turn is asked, round by round, from the timeline as it then is."""

from __future__ import annotations

import json
from collections.abc import Iterable

from callblocks.model.outcomes import Outcome
from callblocks.models.model import Request
from callblocks.session.dialogue import Dialogue
from callblocks.session.settings import SessionSettings
from callblocks.timeline.timeline import Timeline
from callblocks.views.model_view.view import ModelView

__all__ = ("Talk",)


class Talk:
    """The talk of one turn; `before` is the last number of the timeline before it.

    `round` counts the replies. A turn that goes on after a crash goes on counting.
    """

    def __init__(
        self, timeline: Timeline, view: ModelView, dialogue: Dialogue, turn: str, before: int
    ) -> None:
        self.turn = turn
        self.round = 0
        self.prompt = ""
        self._timeline = timeline
        self._view = view
        self._dialogue = dialogue
        self._before = before
        self._results: dict[str, str] = {}
        self._catch_up()

    def shows(self, seq: int) -> bool:
        """Whether the model sees a block; what is new it will see."""
        return seq > self._view.last or self._view.shows(seq)

    def came(self, outcomes: Iterable[Outcome]) -> None:
        """Keep the results of a round for the next request."""
        self._results = {outcome.id: _text(outcome) for outcome in outcomes}

    def request(self, settings: SessionSettings, grammar: str) -> Request:
        """What the model is asked next."""
        self._catch_up()
        self.round += 1
        return Request(
            messages=self._dialogue.messages(self._view, self._before),
            prompt=self.prompt,
            round=self.round,
            results=tuple(self._results.items()),
            chat=self._timeline.name,
            max_tokens=settings.max_tokens,
            grammar=grammar,
        )

    def _catch_up(self) -> None:
        for entry in self._timeline.entries(after=self._view.last):
            self._view.feed((entry,))
            block = entry.block
            if block.turn_id != self.turn:
                continue
            if block.type == "user.prompt":
                self.prompt = block.text or ""
            number = block.meta.get("round")
            if isinstance(number, int):
                self.round = max(self.round, number)


def _text(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"{outcome.error.code}: {outcome.error.message}"
    if isinstance(outcome.output, str):
        return outcome.output
    return json.dumps(outcome.output, ensure_ascii=False, default=str)
