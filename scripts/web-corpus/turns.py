"""Turns whose streams the page reads: those of the scripts, and some that go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallEnded,
    CallReady,
    CallStarted,
    CallTold,
    Event,
    Malformed,
    ModelWrote,
    RoundBegan,
    Status,
    Text,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.outcomes import Artifact, Failure, Outcome
from callblocks.models.scripted import read_script
from callblocks.parser import parse
from support.model_events import call_opened, call_written, model_said, model_thought
from support.turns import BEGIN, a_turn, asked, called, ended

__all__ = ("turns",)

SCRIPTS = Path(__file__).parents[2] / "src" / "callblocks" / "models" / "scripts"
ANSWERED = TurnEnded(turn="turn_1", status="answered", tokens_in=12, tokens_out=34)
BAD_ENDS: tuple[Status, ...] = ("stopped", "limited", "failed", "interrupted")


def turns() -> Iterator[tuple[str, list[TurnEvent], bool]]:
    """Turns by name, and whether a terminal draws the same batches of them."""
    for path in sorted(SCRIPTS.glob("*.md")):
        yield path.stem, [*_played(path)], True
    yield "a-turn-with-everything", a_turn(), False
    yield "cut-in-the-middle", a_turn()[:16], False
    call = called(1, "c1", "write_file", path="a.txt", content="A\nB")
    question = [*BEGIN, *call, asked("c1", "ap1")]
    yield "asked-and-not-answered", question, False
    yes = CallAnswered(id="c1", approval="ap1", approved=True)
    yield "asked-and-allowed", [*question, yes, CallBegan(id="c1"), ended("c1"), ANSWERED], True
    no = CallAnswered(id="c1", approval="ap1", approved=False, reason="not now")
    yield "asked-and-denied", [*question, no, ended("c1", code="approval_denied"), ANSWERED], True
    yield "asked-about-two", [*BEGIN, *_two_asked(), ANSWERED], True
    for status in BAD_ENDS:
        end = TurnEnded(turn="turn_1", status=status, code=f"why_{status}", message="so it is")
        yield (
            f"turn-{status}",
            [*BEGIN, model_said(text="I look."), *call, CallBegan(id="c1"), end],
            False,
        )
    yield "team", [*_team()], False
    yield "long-output", [*BEGIN, *_long(), ANSWERED], True


def _played(path: Path) -> Iterator[TurnEvent]:
    """A script with tools that give a line of what they were asked; each third one fails."""
    yield TurnBegan(turn="turn_1")
    count = 0
    for number, text in enumerate(read_script(path.stem, path.read_text("utf-8")).replies, 1):
        yield RoundBegan(number=number)
        calls: list[Call] = []
        for event in parse(text, "auto").events:
            if isinstance(event, CallReady):
                calls.append(event.call)
            yield from _told(event, number * 100)
        for call in calls:
            count += 1
            yield from _run(call, count)
    yield ANSWERED


def _told(event: Event, first: int) -> Iterator[TurnEvent]:
    match event:
        case Text(text=said):
            yield from (model_said(text=piece) for piece in _pieces(said))
        case CallStarted() | CallReady() | Malformed(index=int()):
            own = msgspec.structs.replace(event, index=first + (event.index or 0))
            yield ModelWrote(event=own)
        case Malformed():
            yield ModelWrote(event=event)
        case _:
            pass


def _team() -> Iterator[TurnEvent]:
    """Two who speak side by side, and what they come to."""
    yield TurnBegan(turn="turn_1")
    for name in ("Ann", "Bob"):
        yield TurnBegan(turn=f"turn_1.{name}", member=name)
        yield RoundBegan(number=1, member=name)
    for key in range(1, 7):
        name = ("Ann", "Bob")[key % 2]
        if key == 5:
            yield model_said(text="Now the last one.", member=name)
        call = Call(id=f"{name}-{key}", name="look", input={"at": key})
        yield call_opened(key=key, name="look", id=call.id, member=name)
        yield call_written(key=key, call=call, member=name)
        yield CallBegan(id=call.id, member=name)
        yield CallEnded(outcome=Outcome(id=call.id, name="look", output=f"{key}"), member=name)
    bad = TurnEnded(turn="turn_1.Bob", status="failed", code="x", message="no", member="Bob")
    yield TurnEnded(turn="turn_1.Ann", status="answered", member="Ann")
    yield bad
    yield RoundBegan(number=1)
    yield model_said(text="Together: 21.")
    yield ANSWERED


def _run(call: Call, count: int) -> Iterator[TurnEvent]:
    if "write" in call.name:
        yield CallAsked(id=call.id, approval=f"ap{count}", reason="it changes files")
        yield CallAnswered(id=call.id, approval=f"ap{count}", approved=True)
    yield CallBegan(id=call.id)
    yield CallTold(id=call.id, text=f"call {count}")
    error = Failure(code="not_found", message="it is not there") if count % 3 == 0 else None
    output = None if error else "\n".join(f"line {at}" for at in range(count))
    yield CallEnded(outcome=Outcome(id=call.id, name=call.name, output=output, error=error))


def _two_asked() -> Iterator[TurnEvent]:
    """Two calls of one round, each with a question, and a file between them."""
    yield model_thought(text="Two of them.")
    for key in (1, 2):
        yield from called(key, f"c{key}", "write_file", path=f"{key}.txt")
    for key in (1, 2):
        yield asked(f"c{key}", f"ap{key}")
        yield CallAnswered(id=f"c{key}", approval=f"ap{key}", approved=True)
        yield CallBegan(id=f"c{key}")
        made = Artifact(
            path=f"out/{key}.txt", size=key - 1, digest=f"{key}" * 64, mime="text/plain"
        )
        outcome = Outcome(id=f"c{key}", name="write_file", output="ok", artifacts=(made,))
        yield CallEnded(outcome=outcome)


def _long() -> Iterator[TurnEvent]:
    kept = Artifact(path="out/c1.txt", size=40_000, digest="ab" * 32, mime="text/plain")
    text = "line\n" * 200 + "... (39.1KB in all, kept as out/c1.txt)"
    yield from called(1, "c1", "read_file", path="big.txt")
    yield CallEnded(outcome=Outcome(id="c1", name="read_file", output=text, artifacts=(kept,)))


def _pieces(text: str, size: int = 7) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))
