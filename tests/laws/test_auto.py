"""`auto` finds the dialect by itself, and no call where there is none."""

from __future__ import annotations

import msgspec
import pytest

from callblocks import ToolSpec, dialects, parse
from callblocks.core.events import CallReady, Event, Malformed, Problem, join
from callblocks.parser import AUTO
from support.corpus import Case, all_cases, options
from support.mentions import mentions
from support.paragraphs import paragraphs
from support.sampling import share
from support.text_pieces import read

LEAST_NAMED = 0.98
MOST_REPORTED = 0.01
# What named dialects share with prose, or with each other: bare code, JSON and elements.
MOST_SHARED = 0.02
PARAGRAPHS = share(10_000, of=2)
MENTIONS = share(2_000, of=2)
NAMES = ("get_weather", "search", "read_file", "write_file", "run_command", "send_mail", "now")
SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "days": {"type": "integer"}},
}
TOOLS = [ToolSpec(name, "", SCHEMA) for name in NAMES]
# An extension is off unless it is named; what two others write is read as theirs.
NEVER_GUESSED = "emoji-bracket+"
READ_AS_OTHERS = ("morph_xml", "poolside_v1")
NAMED_CASES = [case for case in all_cases() if case.dialect not in (AUTO, NEVER_GUESSED)]


def unnamed(events: list[Event]) -> list[Event]:
    """What was read, whoever read it: no dialect in calls and in codes.

    What is reported as unread depends on what is a quotation, not on the dialect.
    """
    read = (event for event in events if not is_unread(event))
    return [_unnamed(event) for event in join(list(read))]


def is_unread(event: Event) -> bool:
    return isinstance(event, Problem) and event.code == "unread-call"


def _unnamed(event: Event) -> Event:
    replace = msgspec.structs.replace
    if isinstance(event, CallReady):
        return replace(event, call=replace(event.call, dialect=""))
    if isinstance(event, Malformed | Problem):
        return replace(event, code=event.code.rpartition(".")[2])
    return event


def owners(events: list[Event]) -> set[str]:
    """The dialects of the calls."""
    return {event.call.dialect for event in events if isinstance(event, CallReady)}


def calls(events: list[Event]) -> list[tuple[str, object]]:
    """The names and inputs of the calls."""
    return [(event.call.name, event.call.input) for event in events if isinstance(event, CallReady)]


def is_named(case: Case) -> bool:
    """Whether `auto` takes the text for what it is, or for what reads exactly the same.

    A text in the spelling of another version is that version's, and what is read as another
    dialect's is that one's: there only the calls count. A damaged call need not be read where a
    problem reports it.
    """
    text, name = case.text, case.dialect
    given = {"in_code_fences": True} | options(case)
    known, guessed = read(name, [text], **given), read(AUTO, [text], **given)
    is_other = not owners(known) and "another dialect" in case.title
    if "another version" in case.title or (name in READ_AS_OTHERS and calls(known)):
        return calls(known) == calls(guessed)
    if case.title.endswith((" is told", " are told")) and any(map(is_unread, guessed)):
        return True
    return is_other or owners(guessed) == owners(known) or unnamed(known) == unnamed(guessed)


def test_all_but_a_few_dialects_are_guessed() -> None:
    others = {name for name in dialects if not dialects[name].in_auto}
    assert others == {NEVER_GUESSED, *READ_AS_OTHERS}


def test_auto_names_the_dialect_of_nearly_every_text() -> None:
    missed = [str(case) for case in NAMED_CASES if not is_named(case)]
    assert len(missed) <= (1 - LEAST_NAMED) * len(NAMED_CASES), "\n".join(missed)


def test_auto_with_declared_tools_reads_the_calls_of_nearly_every_text() -> None:
    texts = 0
    lost: list[str] = []
    for case in NAMED_CASES:
        text, name, given = case.text, case.dialect, options(case)
        names = dict.fromkeys(call.name for call in parse(text, name, **given).calls)
        declared = {"tools": [ToolSpec(one) for one in names], "in_code_fences": True} | given
        known, guessed = (calls(read(one, [text], **declared)) for one in (name, AUTO))
        texts += bool(names)
        if names and known != guessed:
            lost.append(str(case))
    assert len(lost) <= MOST_SHARED * texts, "\n".join(lost)


@pytest.mark.parametrize("tools", [(), TOOLS], ids=["without tools", "with tools"])
@pytest.mark.no_cover
def test_auto_finds_no_call_in_prose_code_and_answers(tools: list[ToolSpec]) -> None:
    texts = paragraphs(PARAGRAPHS)
    assert len(set(texts)) > PARAGRAPHS // 2
    assert len(texts) == PARAGRAPHS
    read = {text: parse(text, tools=tools) for text in texts}
    assert [text for text in texts if read[text].calls] == []
    # Only a whole element that has the name of a tool looks like a call of it.
    told = [text for text in texts if read[text].problems]
    assert [text for text in told if not any(f"</{name}>" in text for name in NAMES)] == []


@pytest.mark.parametrize("tools", [(), TOOLS], ids=["without tools", "with tools"])
@pytest.mark.no_cover
def test_auto_finds_no_call_in_text_about_calls(tools: list[ToolSpec]) -> None:
    texts = mentions(MENTIONS)
    assert len(set(texts)) == MENTIONS
    read = {text: parse(text, tools=tools) for text in texts}
    assert {text: one.calls for text, one in read.items() if one.calls} == {}
    told = [text for text in texts if any(map(is_unread, read[text].events))]
    assert len(told) <= MENTIONS * MOST_REPORTED
