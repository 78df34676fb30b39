"""A team on a terminal: members speak side by side, and are shown one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hypothesis import given

from callblocks.core.events import (
    CallAsked,
    CallEnded,
    CallResult,
    Event,
    ModelWrote,
    RoundBegan,
    Text,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.views.chat.chat import Chat, Shown, Speaker, TurnChat
from callblocks.views.rows import plain
from callblocks.views.terminal.terminal import Terminal
from support.model_events import call_broken, call_opened, inner, model_said
from support.turns import team_turns

END = TurnEnded(turn="turn_1", status="answered")


def say(member: str, text: str) -> ModelWrote:
    return model_said(text=text, member=member)


def done(member: str) -> TurnEnded:
    return TurnEnded(turn="team_turn_1", status="answered", member=member)


def drawn(events: Iterable[TurnEvent]) -> str:
    turn, chat = TurnChat(), Chat()
    for event in events:
        chat.feed(turn.feed(event))
    rows = Terminal(expanded=True, width=60).draw(chat.close())
    return "\n".join(map(plain, rows))


def test_what_members_say_side_by_side_stands_below_their_names() -> None:
    events = [
        TurnBegan(turn="turn_1"),
        say("one", "I se"),
        say("two", "I do"),
        say("one", "e it.\n"),
        say("two", " not.\n"),
        done("one"),
        say("two", "Sorry."),
        done("two"),
        RoundBegan(number=1),
        say("", "It is there."),
        END,
    ]
    assert drawn(events) == (
        "▌ one\nI see it.\n\n▌ two\nI do not.\nSorry.\n\n▌ consensus\nIt is there."
    )


def test_the_first_who_speaks_is_shown_at_once_and_the_next_when_that_one_is_done() -> None:
    turn = TurnChat()
    assert texts(turn.feed(say("one", "a"))) == ["<one>", "a"]
    assert turn.feed(say("two", "b")) == []
    assert turn.feed(done("two")) == []
    assert texts(turn.feed(say("one", "c"))) == ["c"]
    assert texts(turn.feed(done("one"))) == ["<two>", "b"]
    assert texts(turn.feed(say("", "d"))) == ["<>", "d"]
    assert texts(turn.feed(say("", "e"))) == ["e"]


def test_whoever_asks_the_person_is_shown_with_what_they_said_before() -> None:
    turn = TurnChat()
    turn.feed(say("one", "a"))
    turn.feed(say("two", "May I?"))
    asked = turn.feed(CallAsked(id="two/c1", approval="ap", reason="why", member="two"))
    assert texts(asked) == ["<two>", "May I?"]
    assert turn.feed(say("one", "b")) == []
    assert texts(turn.feed(done("two"))) == ["<one>", "b"]


def test_one_who_alone_speaks_has_no_heading() -> None:
    events = [TurnBegan(turn="turn_1"), RoundBegan(number=1), say("", "Hello."), END]
    assert drawn([*events[:3], RoundBegan(number=2), say("", "Again."), END]) == "Hello.\nAgain."


def test_why_a_member_did_not_answer_is_said() -> None:
    events = [
        say("one", "Well,"),
        TurnEnded(
            turn="t", member="one", status="failed", code="model_unreachable", message="gone"
        ),
        TurnEnded(turn="t", member="two", status="stopped"),
        say("", "Nobody knows."),
        END,
    ]
    assert drawn(events) == (
        "▌ one\nWell,\n\n▌ one failed: gone\n\n▌ two stopped\n\n▌ consensus\nNobody knows."
    )


def test_a_code_fence_that_one_leaves_open_is_not_the_next_ones() -> None:
    chat = Chat()
    chat.feed([Text("```\ncode\n", (0, 0)), Speaker("two"), Text("**bold**", (0, 0))])
    *_, last = Terminal(expanded=True, width=60).draw(chat.close())
    assert last == (("strong", "**bold**"),)


def test_a_call_that_breaks_leaves_what_others_said_meanwhile() -> None:
    events = [
        call_opened(key=4, name="t", id="one/c1", member="one"),
        say("two", "Two speaks.\n"),
        CallAsked(id="two/c1", approval="ap", reason="why", member="two"),
        call_opened(key=5, name="t", id="two/c2", member="two"),
        call_broken(code="x", text="none", key=4, member="one"),
        call_broken(code="x", text="none", key=5, member="two"),
        END,
    ]
    assert "Two speaks." in drawn(events)


def test_a_member_that_begins_again_is_not_done() -> None:
    turn = TurnChat()
    turn.feed(say("one", "a"))
    turn.feed(done("one"))
    turn.feed(TurnBegan(turn="team_turn_1", member="one"))
    assert texts(turn.feed(say("one", "b"))) == ["b"]
    assert turn.feed(say("two", "c")) == []


@given(team_turns())
def test_all_is_shown_once_below_the_name_of_its_member(events: list[TurnEvent]) -> None:
    turn = TurnChat()
    shown = [one for event in (*events, END) for one in turn.feed(event)]
    for member in ("Ann", "Bob"):
        own = [event for event in events if event.member == member]
        carried = [one for one in map(inner, own) if isinstance(one, Event | CallEnded)]
        assert _without_breaks(_below(shown, member)) == _without_breaks(carried)


def _below(shown: list[Shown], member: str) -> list[Shown]:
    found: list[Shown] = []
    name = ""
    for one in shown:
        if isinstance(one, Speaker):
            name = one.name
        elif name == member:
            found.append(one)
    return found


def _without_breaks(shown: Sequence[Shown]) -> list[Shown]:
    return [one for one in shown if not isinstance(one, str)]


def texts(shown: Iterable[Shown]) -> list[str]:
    found: list[str] = []
    for one in shown:
        assert not isinstance(one, CallResult)
        found.append(f"<{one.name}>" if isinstance(one, Speaker) else getattr(one, "text", ""))
    return found
