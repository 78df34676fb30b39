from __future__ import annotations

import re

from hypothesis import given

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallEnded,
    CallReady,
    ModelWrote,
    RoundBegan,
    TurnEvent,
)
from callblocks.core.outcomes import Outcome
from callblocks.parser import parse
from callblocks.views.chat.tool_blocks import ChatText
from support.model_events import call_broken, call_written, model_said, read_events
from support.turns import called, ended, joined, played, turns


def text_of(*events: TurnEvent) -> str:
    chat = ChatText()
    for event in events:
        chat.feed(event)
    return chat.text


def shell(id: str, *args: str) -> ModelWrote:
    call = Call(id=id, name="run_shell_command", input={"args": list(args)})
    return call_written(key=1, call=call)


def test_a_call_is_pending_and_then_has_its_result() -> None:
    chat = ChatText()
    chat.feed(shell("c1", "pwd"))
    pending = '\n\n<tool id="c1">run_shell_command(args=[&quot;pwd&quot;])</tool>\n'
    assert chat.text == pending
    chat.feed(ended("c1", "/app", name="run_shell_command"))
    assert chat.text == pending.replace("</tool>", "\n/app</tool>")
    assert [entry.type for entry in chat.trace.entries] == [
        "tool_call_started",
        "tool_call_completed",
    ]


def test_an_empty_result_completes_a_call() -> None:
    assert text_of(shell("c1"), ended("c1", "")).endswith("\n</tool>\n")


def test_calls_of_one_tool_side_by_side_keep_their_results() -> None:
    text = text_of(shell("c1", "a"), shell("c2", "b"), ended("c2", "B"), ended("c1", "A"))
    assert re.findall(r'id="(c.)">.*\n(.)</tool>', text) == [("c1", "A"), ("c2", "B")]


def test_a_failure_is_marked_and_a_carried_one_stays_in_its_words() -> None:
    assert "❌ no_tea: it did not work" in text_of(shell("c1"), ended("c1", code="no_tea"))
    failed = ended("c1", code="tool_error")
    carried = CallEnded(outcome=failed.outcome, written=True)
    assert "❌ it did not work" in text_of(shell("c1"), carried)


def test_a_tag_of_the_model_is_prose_also_in_pieces() -> None:
    text = text_of(
        model_said(text="a <to"),
        model_said(text="ol>x</tool>"),
        call_broken(code="x", text="<tool>"),
    )
    assert text == "a &lt;tool>x&lt;/tool>&lt;tool>"


def test_what_is_said_in_another_round_is_another_paragraph() -> None:
    rounds = [
        model_said(text="I wait."),
        RoundBegan(number=2),
        model_said(text="It "),
        model_said(text="is done."),
    ]
    assert text_of(RoundBegan(number=1), *rounds) == "I wait.\n\nIt is done."
    assert text_of(shell("c1"), ended("c1", ""), *rounds[1:]).endswith("</tool>\nIt is done.")


def test_a_result_without_its_call_has_a_block_of_its_own() -> None:
    assert text_of(ended("c9", "x")) == '\n\n<tool id="c9">add()\nx</tool>\n'


def test_a_call_that_waits_for_ever_gets_an_end() -> None:
    chat = ChatText()
    chat.feed(shell("c1"))
    chat.close()
    chat.close()
    assert chat.text.count("❌ cancelled") == 1


def test_each_member_of_a_team_has_a_text_of_its_own() -> None:
    chat = ChatText()
    call = Call(id="c1", name="look")
    chat.feed(model_said(text="I look.", member="Ann"))
    chat.feed(call_written(key=1, call=call, member="Ann"))
    chat.feed(model_said(text="I wait.", member="Bob"))
    chat.feed(model_said(text="Both agree."))
    chat.feed(CallEnded(outcome=Outcome(id="c1", name="look", output="ok"), member="Ann"))
    assert chat.text == "Both agree."
    assert chat.members == {
        "Ann": 'I look.\n\n<tool id="c1">look()\nok</tool>\n',
        "Bob": "I wait.",
    }


def test_a_transcript_can_be_read_back() -> None:
    events = played("Well.\n```tool t c1\ninput: {a: 1}\noutput: done\n```\nBye.\n")
    parsed = parse(text_of(*events), "chat-blocks")
    assert [(call.name, call.id) for call in parsed.calls] == [("t", "c1")]
    assert [result.output for result in parsed.results] == ["done"]


@given(turns(("", "Ann")))
def test_every_call_has_one_block_however_the_text_was_cut(events: list[TurnEvent]) -> None:
    texts: list[tuple[str, dict[str, str]]] = []
    for given_events in (events, joined(events)):
        chat = ChatText()
        for event in given_events:
            chat.feed(event)
        chat.close()
        texts.append((chat.text, chat.members))
    assert texts[0] == texts[1]
    text = chat.text + "".join(chat.members.values())
    written = [event.call.id for event in read_events(events, CallReady)]
    assert sorted(re.findall(r'<tool id="(\w+)">[^<]*\n[^<]*</tool>', text)) == sorted(written)


def test_called_events_are_shown_by_name() -> None:
    assert "add(a=1)" in text_of(*called(1, "c1", a=1))
