"""A timeline as the events that a client would have got while it was written.

    for event in replayed(timeline.entries()): ...

Text comes joined, and turns one after the other. Of a reply only its prose is on a timeline as the
model wrote it: spans count that, and those of calls are empty. Transient events are missing: pieces
of calls, previews of changes, progress. If the given part of the timeline has a result but not its
call, the result comes without the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, cast, get_args

from callblocks.core.blocks import Block, Entry
from callblocks.core.calls import Call, Span
from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallEnded,
    CallGranted,
    CallReady,
    CallStarted,
    Event,
    Malformed,
    ModelWrote,
    Reasoning,
    RoundBegan,
    Status,
    Text,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.timeline.codec.call_blocks import NOT_RUN, has_code_elsewhere
from callblocks.timeline.codec.outcome_blocks import outcome_of, read_object

__all__ = (
    "Replay",
    "numbered",
    "replayed",
)

# --- A timeline as the events that a client would have got while it was written ---

Replay: TypeAlias = Callable[[Iterable[Entry]], Iterator[TurnEvent]]
"""Gives the events of the turns in these entries, as `replayed` does."""

_BROKEN_CALL = "protocol_violation.broken_call"


def replayed(entries: Iterable[Entry]) -> Iterator[TurnEvent]:
    """The events of the turns in these entries; a turn that is not over has no `TurnEnded`."""
    for _, event in numbered(entries):
        yield event


def numbered(entries: Iterable[Entry]) -> Iterator[tuple[int, TurnEvent]]:
    """The same events, each with the number of the block that it comes from."""
    turns: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.block.type != "timeline.damaged":
            turns.setdefault(entry.block.turn_id, []).append(entry)
    for turn, of_turn in turns.items():
        yield from _Turn(turn, of_turn).events()


class _Turn:
    def __init__(self, turn: str, entries: Sequence[Entry]) -> None:
        self._turn = turn
        self._entries = entries
        blocks = [entry.block for entry in entries]
        self._calls = {one.call_id: one for one in blocks if one.type == "react.tool.call"}
        self._codes = {one.call_id: one for one in blocks if one.type == "react.tool.code"}
        self._results: dict[str, list[Block]] = {}
        for one in blocks:
            if one.type in ("react.notice", "react.tool.result"):
                self._results.setdefault(one.call_id, []).append(one)
        self._index = 0
        self._round = 0
        # How much of the prose of the round was given.
        self._given = 0
        # The model was told something since it was asked, so what it says next is another reply.
        self._is_told = False
        self._thought: set[str] = set()
        self._written: set[str] = set()
        self._ended: set[str] = set()

    def events(self) -> Iterator[tuple[int, TurnEvent]]:
        """All that happened, by block."""
        yield self._entries[0].seq, TurnBegan(turn=self._turn)
        for entry in self._entries:
            for event in self._take(entry.block):
                yield entry.seq, event
        if (ended := _ended(self._turn, self._entries)) is not None:
            yield ended

    def _take(self, block: Block) -> Iterator[TurnEvent]:
        match block.type:
            case "react.notes":
                yield from self._enter(self._calls.get(block.call_id))
                yield self._say(block)
            case "react.tool.call" if block.call_id not in self._written:
                yield from self._enter(block)
                yield from self._call(block)
            case "assistant.completion":
                yield from self._enter(None)
                yield from self._think(block)
                yield self._say(block)
            case "timeline.approval" if self._waits(block.call_id):
                yield from self._question(block)
            case "react.tool.result" if block.call_id not in self._ended:
                yield from self._result(block)
            case "react.notice" if block.call_id not in self._calls:
                yield from self._tell(block)
            case _:
                pass

    def _waits(self, id: str) -> bool:
        return id in self._written and id not in self._ended

    def _enter(self, call: Block | None) -> Iterator[TurnEvent]:
        """Begin the round that what comes now is of, where that is another one."""
        number = call.meta.get("round") if call is not None else None
        if not isinstance(number, int):
            number = self._round + (self._is_told or not self._round)
        if number > self._round:
            self._round, self._given, self._is_told = number, 0, False
            yield RoundBegan(number=number)
        if call is not None:
            yield from self._think(call)

    def _think(self, block: Block) -> Iterator[TurnEvent]:
        reasoning = block.meta.get("reasoning")
        if isinstance(reasoning, str) and reasoning and block.path not in self._thought:
            self._thought.add(block.path)
            yield self._wrote(Reasoning(reasoning, self._here), block)

    @property
    def _here(self) -> Span:
        return (self._given, self._given)

    def _wrote(self, event: Event, block: Block) -> ModelWrote:
        return ModelWrote(event=event, round=self._round, member=_member(block))

    def _say(self, block: Block) -> ModelWrote:
        text, start = block.text or "", self._given
        self._given += len(text)
        return self._wrote(Text(text, (start, self._given)), block)

    def _call(self, block: Block) -> Iterator[TurnEvent]:
        self._index += 1
        self._written.add(block.call_id)
        params, code = _params(block), self._codes.get(block.call_id)
        if code is not None and has_code_elsewhere(block):
            params["code"] = code.text or ""
        name = block.tool_id or "call"
        yield self._wrote(CallStarted(self._index, block.call_id, name, self._here), block)
        call = Call(id=block.call_id, name=name, input=params, span=self._here)
        yield self._wrote(CallReady(self._index, call, self._here), block)

    def _result(self, block: Block) -> Iterator[TurnEvent]:
        id = block.call_id
        self._ended.add(id)
        self._written.add(id)
        outcome = outcome_of(id, block.tool_id or "call", self._results[id])
        call = self._calls.get(id, block)
        written, member = call.meta.get("written") is True, _member(call)
        if not written:
            self._is_told = True
            if outcome.error is None or outcome.error.code not in NOT_RUN:
                yield CallBegan(id=id, member=member)
        yield CallEnded(outcome=outcome, written=written, member=member)

    def _question(self, block: Block) -> Iterator[TurnEvent]:
        """Yield the approval question about a call, and its answer or grant."""
        id, said, member = block.call_id, block.meta, _member(self._calls[block.call_id])
        approval, reason, words = (
            _words(said.get(one)) for one in ("approval", "reason", "answer")
        )
        approved, given = said.get("approved") is True, said.get("tainted")
        minutes, expires = (_number(said.get(one)) for one in ("minutes", "expires"))
        # A question is written with its reason; a grant that was given before asks none.
        if approved and minutes and "reason" not in said:
            yield CallGranted(
                id=id, approval=approval, minutes=int(minutes), expires=expires, member=member
            )
            return
        tainted = cast("list[object]", given) if isinstance(given, list) else []
        yield CallAsked(
            id=id,
            approval=approval,
            reason=reason,
            tainted=tuple(map(_words, tainted)),
            member=member,
        )
        yield CallAnswered(
            id=id,
            approval=approval,
            approved=approved,
            reason=words,
            minutes=int(minutes),
            expires=expires,
            member=member,
        )

    def _tell(self, block: Block) -> Iterator[TurnEvent]:
        """Yield the event of a notice about the model's reply as a whole."""
        said = read_object(block)
        self._is_told = True
        if said.get("code") == _BROKEN_CALL:
            code, detail = str(said.get("problem", "")), str(said.get("message", ""))
            # Its text stayed in the prose.
            yield self._wrote(Malformed(code, "", self._here, detail), block)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _words(value: object) -> str:
    return value if isinstance(value, str) else ""


def _params(block: Block) -> dict[str, Any]:
    params = read_object(block).get("params")
    return cast("dict[str, Any]", params) if isinstance(params, dict) else {}


def _ended(turn: str, entries: Sequence[Entry]) -> tuple[int, TurnEnded] | None:
    """Return the block number and the event of the turn's end; None while the turn runs.

    A program that takes a turn over reopens it.
    """
    ended: tuple[int, TurnEnded] | None = None
    for entry in entries:
        block = entry.block
        if block.type == "timeline.turn":
            ended = entry.seq, _said_end(turn, block.meta)
        elif block.type == "timeline.settings" and "owner" in block.meta:
            ended = None
        elif block.type == "assistant.completion" and not block.meta.get("is_partial"):
            ended = entry.seq, TurnEnded(turn=turn, status="answered")
    return ended


def _said_end(turn: str, meta: dict[str, Any]) -> TurnEnded:
    said: Any = meta.get("status")
    status: Status = said if said in get_args(Status) else "failed"
    return TurnEnded(
        turn=turn,
        status=status,
        code=str(meta.get("code", "")),
        message=str(meta.get("message", "")),
        tokens_in=_count(meta.get("tokens_in")),
        tokens_out=_count(meta.get("tokens_out")),
    )


def _count(value: Any) -> int:
    return value if type(value) is int else 0


def _member(block: Block) -> str:
    member = block.meta.get("member")
    return member if isinstance(member, str) else ""
