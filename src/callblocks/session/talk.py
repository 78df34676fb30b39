"""The requests of one turn, round by round, from the current timeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.calls import Call
from callblocks.model.outcomes import Outcome
from callblocks.models.model import Request
from callblocks.parsing.dialect import Dialect
from callblocks.session.dialogue import Dialogue
from callblocks.session.settings import SessionSettings
from callblocks.timeline.plain_json import json_text
from callblocks.timeline.timeline import Timeline
from callblocks.views.model_view.view import ModelView

__all__ = ("Talk",)


class Talk:
    """The talk of one turn; `before` is the last number of the timeline before it.

    `views` gives what a model is shown by the dialect that it speaks. `round` counts the replies
    and `calls` the calls in them. A turn that goes on after a crash goes on counting.
    """

    def __init__(
        self,
        timeline: Timeline,
        views: Callable[[Dialect | None], ModelView],
        spoken: Dialect | None,
        turn: str,
        before: int,
    ) -> None:
        self.turn = turn
        self.round = self.calls = 0
        self.prompt = ""
        self._timeline = timeline
        self._views = views
        self._view = views(spoken)
        self._results: dict[str, str | None] = {}
        self._last: dict[str, str | None] = {}
        self._catch_up()
        for entry in timeline.entries(after=before):
            if entry.block.turn_id == turn:
                self._look_back(entry.block)

    def shows(self, seq: int) -> bool:
        """Return whether the model sees a block; it will see new blocks."""
        return seq > self._view.last or self._view.shows(seq)

    def called(self, calls: Iterable[Call]) -> None:
        """Take the calls of a round: their results stand in this order, however they end."""
        self._results |= dict.fromkeys(call.id for call in calls)

    def came(self, outcomes: Iterable[Outcome]) -> None:
        """Keep more results of a round for the next request."""
        self._results |= {outcome.id: _text(outcome) for outcome in outcomes}

    def begin_round(self) -> None:
        """Count a round; `request` gives what the model is asked in it."""
        self._catch_up()
        self.round += 1
        self._last, self._results = self._results, {}

    def request(self, dialogue: Dialogue, settings: SessionSettings, grammar: str = "") -> Request:
        """Return what the model is asked in this round, in the form that `dialogue` writes."""
        self._view = self._views(dialogue.spoken)
        self._catch_up()
        return Request(
            messages=dialogue.messages(self._view),
            prompt=self.prompt,
            round=self.round,
            results=tuple((id, text) for id, text in self._last.items() if text is not None),
            chat=self._timeline.name,
            max_tokens=settings.max_tokens,
            grammar=grammar,
            tools=dialogue.tools,
        )

    def _catch_up(self) -> None:
        self._view.feed(self._timeline.entries(after=self._view.last))

    def _look_back(self, block: Block) -> None:
        """Take what an earlier process did in this turn."""
        # A result may bring a block of another round before the model again.
        number = block.meta.get("round") if block.author == "assistant" else None
        if isinstance(number, int) and number > self.round:
            self.round, self._results = number, {}
        match block.type:
            case "user.prompt":
                self.prompt = block.text or ""
            case "react.tool.call":
                self.calls += not block.meta.get("written")
                self._results.setdefault(block.call_id)
            case "react.tool.result" if block.path == f"tc:{self.turn}.{block.call_id}.result":
                # An error in the digest goes before an output beside it.
                self._results[block.call_id] = self._results.get(block.call_id) or _said(block)
            case _:
                pass


def _text(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"{outcome.error.code}: {outcome.error.message}"
    return outcome.output if isinstance(outcome.output, str) else json_text(outcome.output)


def _said(block: Block) -> str:
    """Return the content of a result, or the error in its digest."""
    if block.meta.get("role") != "digest":
        return block.text or ""
    try:
        said = msgspec.json.decode(block.text or "{}", type=_Digest)
    except msgspec.MsgspecError:
        return ""
    return f"{said.error.get('code', '')}: {said.error.get('message', '')}" if said.error else ""


class _Digest(msgspec.Struct):
    error: dict[str, Any] = {}
