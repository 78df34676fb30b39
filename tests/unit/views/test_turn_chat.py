from __future__ import annotations

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallEnded,
    TurnEvent,
)
from callblocks.views.chat.chat import (
    BrokenBlock,
    CallGroup,
    Chat,
    Item,
    ThoughtLine,
    TurnChat,
)
from callblocks.views.rows import plain
from callblocks.views.terminal.terminal import Terminal
from support.model_events import call_written, model_said, model_thought
from support.turns import a_turn, called, ended


def items_of(*events: TurnEvent) -> list[Item]:
    turn, chat = TurnChat(), Chat()
    for event in events:
        chat.feed(turn.feed(event))
    return chat.close()


def groups(items: list[Item]) -> list[list[tuple[str, str | None, bool]]]:
    return [
        [(entry.call, entry.result, entry.failed) for entry in item.entries]
        for item in items
        if isinstance(item, CallGroup)
    ]


def test_a_turn_is_shown_like_a_text() -> None:
    items = items_of(*a_turn())
    failure = "unknown_tool: it did not work"
    assert groups(items) == [
        [("add(a=1)", "", False), ("plot()", '{"n": 1}', False), ("no_such_tool()", failure, True)]
    ]
    assert [item.text for item in items if isinstance(item, ThoughtLine)] == ["Let me see."]
    assert [item.code for item in items if isinstance(item, BrokenBlock)] == [
        "tool-fence.yaml",
        "tool-fence.unclosed",
    ]
    assert items[-1] == "It is 3. 🐱"


def test_a_call_is_shown_while_it_is_written() -> None:
    chat = Chat()
    chat.feed(TurnChat().feed(called(1, "c1", known=False)[0]))
    (group,) = groups(chat.items)
    assert group == [("add(…)", None, False)]


def test_results_find_their_calls_by_id() -> None:
    first, second = (
        call_written(key=key, call=Call(id=f"c{key}", name=f"t{key}")) for key in (1, 2)
    )
    items = items_of(first, second, ended("c2", "two"), ended("c1", "one"))
    assert groups(items) == [[("t1()", "one", False), ("t2()", "two", False)]]


def test_a_result_that_came_late_is_shown_with_its_call() -> None:
    turn, chat = TurnChat(), Chat()
    chat.feed(turn.feed(call_written(key=1, call=Call(id="c1", name="t"))))
    assert groups(chat.give_up()) == [[("t()", None, False)]]
    chat.feed(turn.feed(ended("c1", "late")))
    assert groups(chat.close()) == [[("t()", "late", False)]]


def test_a_carried_failure_stays_in_its_words() -> None:
    written = call_written(key=1, call=Call(id="c1", name="t"))
    carried = CallEnded(outcome=ended("c1", code="tool_error").outcome, written=True)
    assert groups(items_of(written, carried)) == [[("t()", "it did not work", True)]]


def test_a_result_of_an_unknown_call_is_not_shown() -> None:
    assert items_of(ended("c9")) == []


def test_what_is_thought_and_what_is_said_are_paragraphs_of_their_own() -> None:
    thoughts = [model_thought(text="Let"), model_thought(text=" me see.")]
    events = (*thoughts, model_said(text="It is"), model_said(text=" late."))
    turn, chat = TurnChat(), Chat()
    for event in (*events, model_thought(text="Is it?"), model_said(text="Yes."), *called(1, "c1")):
        chat.feed(turn.feed(event))
    rows = Terminal(expanded=False, width=80).draw(chat.close())
    said = ["Let me see.", "", "It is late.", "", "Is it?", "", "Yes.", ""]
    assert list(map(plain, rows))[:8] == said
