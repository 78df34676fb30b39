from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallEnded,
    CallTold,
    RoundBegan,
    TurnEvent,
)
from callblocks.core.outcomes import Outcome
from callblocks.session.team import MemberSeat
from support.model_events import (
    call_broken,
    call_opened,
    call_writing,
    call_written,
    inner,
    model_said,
)

MEMBERS = ("", "one", "two", "three")


def _events(key: int, id: str, member: str) -> list[TurnEvent]:
    """Every event that names a call."""
    outcome = Outcome(id=id, name="act", output="yes")
    return [
        call_opened(key=key, name="act", id=id, member=member),
        call_writing(key=key, text="a", member=member),
        call_written(key=key, call=Call(id=id, name="act", input={}), member=member),
        call_broken(code="x", text="", key=key, member=member),
        CallAsked(id=id, approval="p", reason="", member=member),
        CallAnswered(id=id, approval="p", approved=True, member=member),
        CallBegan(id=id, member=member),
        CallTold(id=id, text="", member=member),
        CallEnded(outcome=outcome, member=member),
    ]


def _names(event: TurnEvent) -> tuple[object, object]:
    """The index and the id that an event has, wherever they stand."""
    fields = msgspec.to_builtins(inner(event))
    within = {**fields.get("call", {}), **fields.get("outcome", {})}
    return fields.get("index"), fields.get("id") or within.get("id")


@given(
    st.lists(st.integers(1, 50), min_size=2, max_size=4, unique=True), st.text("ab.:~-", min_size=1)
)
def test_no_two_who_speak_share_a_key_or_an_id(keys: list[int], id: str) -> None:
    told: dict[object, set[str]] = {}
    for at, member in enumerate(MEMBERS):
        place = MemberSeat(at, len(MEMBERS))
        for key in keys:
            for event in _events(key, id, member):
                for name in filter(None, _names(place.mark(event))):
                    told.setdefault(name, set()).add(f"{member}:{key if name != id else id}")
    numbers = {name: who for name, who in told.items() if isinstance(name, int)}
    assert len(numbers) == len(keys) * len(MEMBERS)
    assert all(len(who) == 1 for who in numbers.values())
    ids = [name for name in told if isinstance(name, str)]
    assert len(ids) == len(MEMBERS)


def test_all_events_of_one_call_keep_one_key_and_one_id() -> None:
    marked = [_names(MemberSeat(2, 3).mark(event)) for event in _events(7, "c1", "two")]
    assert {key for key, _ in marked} == {None, 23}
    assert {id for _, id in marked} == {None, "two/c1"}


def test_what_names_no_call_is_told_as_it_is() -> None:
    place = MemberSeat(1, 2)
    events: list[TurnEvent] = [
        model_said(text="a", member="one"),
        RoundBegan(number=1, member="one"),
        call_broken(code="x", text="y", member="one"),
    ]
    assert [place.mark(event) for event in events] == events
    opened = call_opened(key=1, name="act", member="one")
    assert place.mark(opened) == call_opened(key=3, name="act", id="", member="one")
