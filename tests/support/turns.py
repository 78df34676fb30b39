"""Turns as events, and random ones that obey their grammar."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallEnded,
    CallReady,
    CallResult,
    CallTold,
    ModelWrote,
    Problem,
    Reasoning,
    RoundBegan,
    Text,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.outcomes import Artifact, Failure, Outcome
from callblocks.parser import parse
from callblocks.session.team import MemberSeat
from support.model_events import (
    call_broken,
    call_opened,
    call_writing,
    call_written,
    model_said,
    model_thought,
)

__all__ = ("BEGIN", "a_turn", "asked", "called", "ended", "joined", "played", "team_turns", "turns")

BEGIN: list[TurnEvent] = [TurnBegan(turn="turn_1"), RoundBegan(number=1)]
ANSWERED = TurnEnded(turn="turn_1", status="answered", tokens_in=12, tokens_out=34)


GATE_CODES = ("approval_denied", "approval_expired")


def called(key: int, id: str, name: str = "add", *, known: bool = True, **input: object):
    """A call that is written."""
    opened = call_opened(key=key, name=name, id=id if known else "")
    return [opened, call_written(key=key, call=Call(id=id, name=name, input=dict(input)))]


def ended(id: str, output: object = "done", code: str = "", name: str = "add") -> CallEnded:
    words = f"{name} did not run: it did not work" if code in GATE_CODES else "it did not work"
    error = Failure(code=code, message=words) if code else None
    given = None if code else output
    return CallEnded(outcome=Outcome(id=id, name=name, output=given, error=error))


def asked(id: str, approval: str) -> CallAsked:
    return CallAsked(id=id, approval=approval, reason="it changes files", preview="- a\n+ b")


def played(markdown: str) -> list[TurnEvent]:
    """A text with tool fences as the scripted model plays it: what it carries are the results."""
    events: list[TurnEvent] = [*BEGIN]
    names: dict[int, str] = {}
    for event in parse(markdown, "tool-fence").events:
        if isinstance(event, CallResult):
            told = event.result.error
            error = None if told is None else Failure(code="tool_error", message=told)
            name, output = names[event.index], event.result.output
            outcome = Outcome(id=event.id, name=name, output=output, error=error)
            events.append(CallEnded(outcome=outcome, written=True))
        elif not isinstance(event, Problem):
            events.append(ModelWrote(event=event))
        if isinstance(event, CallReady):
            names[event.index] = event.call.name
    return [*events, ANSWERED]


def a_turn() -> list[TurnEvent]:
    """A turn with everything but questions."""
    artifact = Artifact(path="4f/a.png", size=7, digest="4f" * 32, mime="image/png")
    made = Outcome(id="c2", name="plot", output={"n": 1}, artifacts=(artifact,))
    return [
        *BEGIN,
        model_thought(text="Let me "),
        model_thought(text="see."),
        *(model_said(text=piece) for piece in ("\n", "I will ", "add them.", "\n\n")),
        call_opened(key=1, name="add", id="c1"),
        call_writing(key=1, text="a: 1"),
        call_written(key=1, call=Call(id="c1", name="add", input={"a": 1})),
        model_said(text="\n"),
        *called(2, "c2", "plot", known=False),
        *called(3, "c3", "no_such_tool"),
        CallBegan(id="c1"),
        CallTold(id="c1", text="working"),
        CallBegan(id="c2"),
        CallEnded(outcome=made),
        ended("c1", None),
        ended("c3", code="unknown_tool", name="no_such_tool"),
        RoundBegan(number=2),
        model_said(text="Once more: "),
        call_opened(key=4, name="add", id="c4"),
        call_broken(code="tool-fence.yaml", text="```tool add c4\n[\n```\n", key=4),
        call_broken(code="tool-fence.unclosed", text="```tool", detail="never closed"),
        RoundBegan(number=3),
        model_said(text="It is "),
        model_said(text="3. 🐱"),
        ANSWERED,
    ]


def joined(events: list[TurnEvent]) -> list[TurnEvent]:
    """Neighbouring pieces of text as one, as a replay has them."""
    found: list[TurnEvent] = []
    for event in events:
        match found[-1] if found else None, event:
            case ModelWrote(event=Text(text=first)) as last, ModelWrote(event=Text(text=more)) if (
                last.member == event.member
            ):
                found[-1] = model_said(text=first + more, member=event.member)
            case (
                ModelWrote(event=Reasoning(text=first)) as last,
                ModelWrote(event=Reasoning(text=more)),
            ) if last.member == event.member:
                found[-1] = model_thought(text=first + more, member=event.member)
            case _:
                found.append(event)
    return found


TEXTS = st.sampled_from(["", " ", "\n", "Hello", " <tool>", "é\ud800", "\n\nDone."])
VALUES = st.sampled_from([None, False, "", "text", {"a": [1, None]}, [], float("nan"), "\udc00"])
CODES = st.sampled_from(["", "", "tool_error", "approval_denied", "approval_expired"])
STATUSES = ("answered", "stopped", "limited", "failed", "interrupted")


@st.composite
def turns(draw: st.DrawFn, members: tuple[str, ...] = ("",)) -> list[TurnEvent]:
    """Any turn that obeys the grammar; it may stop anywhere."""
    events: list[TurnEvent] = [TurnBegan(turn="turn_1")]
    key = 0
    for number in range(1, draw(st.integers(1, 3)) + 1):
        member = draw(st.sampled_from(members))
        events.append(RoundBegan(number=number, member=member))
        waiting: list[Call] = []
        for _ in range(draw(st.integers(0, 5))):
            kind = draw(st.sampled_from(["said", "thought", "call", "carried", "broken", "loose"]))
            key += 1
            match kind:
                case "said":
                    events.append(model_said(text=draw(TEXTS), member=member))
                case "thought":
                    events.append(model_thought(text=draw(TEXTS), member=member))
                case "loose":
                    events.append(call_broken(code="x", text=draw(TEXTS), member=member))
                case _:
                    events.extend(_written(draw, kind, key, member, waiting))
        events.extend(_performed(draw, waiting, member))
    if draw(st.booleans()):
        events = events[: draw(st.integers(1, len(events)))]
    if draw(st.integers(0, 4)):
        status = draw(st.sampled_from(STATUSES))
        events.append(TurnEnded(turn="turn_1", status=status, message="so it is"))
    return events


@st.composite
def team_turns(draw: st.DrawFn) -> list[TurnEvent]:
    """A turn of two who speak side by side, as a team tells of it."""
    lanes: list[list[TurnEvent]] = []
    for at, member in enumerate(("Ann", "Bob"), 1):
        events = [event for event in draw(turns((member,))) if event.member == member]
        own: list[TurnEvent] = [TurnBegan(turn="team_turn_1", member=member), *events]
        if draw(st.booleans()):
            status = draw(st.sampled_from(STATUSES))
            own.append(TurnEnded(turn="team_turn_1", status=status, member=member))
        lanes.append([MemberSeat(at, 3).mark(event) for event in own])
    found: list[TurnEvent] = [TurnBegan(turn="turn_1")]
    while lanes := [lane for lane in lanes if lane]:
        found.append(draw(st.sampled_from(lanes)).pop(0))
    return [*found, ANSWERED] if draw(st.booleans()) else found


def _written(
    draw: st.DrawFn, kind: str, key: int, member: str, waiting: list[Call]
) -> Iterator[TurnEvent]:
    call = Call(id=f"c{key}", name="tool", input={"value": draw(VALUES)})
    known = call.id if draw(st.booleans()) else ""
    yield call_opened(key=key, name="tool", id=known, member=member)
    if kind == "broken":
        yield call_broken(code="x", text=draw(TEXTS), key=key, member=member)
        return
    yield call_written(key=key, call=call, member=member)
    if kind == "carried":
        yield CallEnded(outcome=_outcome(draw, call), written=True, member=member)
    else:
        waiting.append(call)


def _performed(draw: st.DrawFn, calls: list[Call], member: str) -> Iterator[TurnEvent]:
    """Calls run side by side, and questions come one at a time."""
    steps: list[list[TurnEvent]] = []
    for call in calls:
        mine: list[TurnEvent] = []
        if draw(st.booleans()):
            approval = f"ap_{call.id}"
            mine.append(CallAsked(id=call.id, approval=approval, reason="why", member=member))
            approved = draw(st.booleans())
            mine.append(
                CallAnswered(id=call.id, approval=approval, approved=approved, member=member)
            )
        if draw(st.booleans()):
            mine.append(CallBegan(id=call.id, member=member))
            mine.append(CallTold(id=call.id, text="…", member=member))
        steps.append([*mine, CallEnded(outcome=_outcome(draw, call), member=member)])
    while steps:
        of = draw(st.sampled_from(steps))
        yield of.pop(0)
        steps = [one for one in steps if one]


def _outcome(draw: st.DrawFn, call: Call) -> Outcome:
    code = draw(CODES)
    error = Failure(code=code, message="no") if code else None
    artifacts = (Artifact(path="a", size=1, digest="d" * 64),) if draw(st.booleans()) else ()
    output = None if code else draw(VALUES)
    return Outcome(id=call.id, name=call.name, output=output, error=error, artifacts=artifacts)
