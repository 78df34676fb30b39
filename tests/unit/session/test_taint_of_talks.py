"""Text of others that came into a talk stays in it: in later turns, and for a program anew."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callblocks.approvals.question import Answer
from callblocks.core.calls import Call, Result
from callblocks.core.events import CallAsked
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.model_choice import Attachment
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Context
from support.approvers import NO, YES, Person
from support.scripted_sessions import ASK_ALL, Replies, of_type, run_turn, some_host, write


@tool(read_only=True, open_world=True)
def search(query: str) -> str:
    """Search."""
    return query


@tool(read_only=True)
def peek(context: Context) -> str:
    """Look at something that may be of others."""
    context.taint("a note on the door")
    return "a note"


@tool
def act() -> str:
    """Act."""
    return "done"


TOOLS = Registry([search, peek, act])
ACT = write("tool-fence", Call(id="c9", name="act"), tools=TOOLS.tools)


def tainted(
    folder: Path,
    *says: Any,
    files: tuple[Attachment, ...] = (),
    tools: Registry = TOOLS,
    answer: Answer = YES,
    carries: bool = False,
) -> tuple[str, ...]:
    """What a person is told of a call in a turn with these replies."""
    model = Replies(*says, "Yes.", writes_results=carries)
    with some_host(folder, model, tools=tools, policy=ASK_ALL) as host:
        session = host.session("talk", Person(*[answer] * 9))
        events = asyncio.run(run_turn(session, "Go.", *files))
    asked = of_type(events, CallAsked)
    return asked[-1].tainted if asked else ()


def calling(name: str, tools: Registry = TOOLS, /, **given: Any) -> str:
    return write("tool-fence", Call(id="c1", name=name, input=given), tools=tools.tools)


def test_a_talk_without_text_of_others_is_not_tainted(tmp_path: Path) -> None:
    assert tainted(tmp_path, ACT) == ()
    assert tainted(tmp_path, ACT) == ()


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (calling("search", query="x"), "the result of search"),
        (calling("peek"), "a note on the door"),
    ],
)
def test_what_a_call_brought_taints_the_turns_after_it(tmp_path: Path, says: str, why: str) -> None:
    tainted(tmp_path, says)
    assert why in tainted(tmp_path, ACT)
    assert why in tainted(tmp_path, ACT)


def test_a_session_that_goes_on_knows_it_too(tmp_path: Path) -> None:
    model = Replies(calling("peek"), "Yes.", ACT, "Yes.")
    with some_host(tmp_path, model, tools=TOOLS, policy=ASK_ALL) as host:
        session = host.session("talk", Person(YES, YES))
        asyncio.run(run_turn(session, "Go."))
        (asked,) = of_type(asyncio.run(run_turn(session, "On.")), CallAsked)
    assert asked.tainted == ("a note on the door",)


@tool(kind="exec", origin="builtin")
def command(context: Context) -> str:
    """Run a command, as in the sandbox."""
    context.taint("a command that could read files of others")
    return "what a mail says"


@tool(kind="writer", destructive=True, origin="builtin")
def put(text: str) -> str:
    """Put a text into a file of the workspace."""
    return "put"


@pytest.mark.parametrize("anew", [False, True], ids=["same", "anew"])
def test_what_a_command_read_does_not_leave_in_later_turns_either(
    tmp_path: Path, anew: bool
) -> None:
    tools = Registry([command, put, act])
    policy = Policy((Rule(decide="allow", tool=("command", "put", "act")),))
    first = (calling("command", tools), "Yes.")
    then = (calling("put", tools, text="what a mail says"), calling("act", tools), "Yes.")
    person = Person(YES, YES)
    for replies in [first, then] if anew else [first + then]:
        with some_host(tmp_path, Replies(*replies), tools=tools, policy=policy) as host:
            session = host.session("talk", person)
            for _ in range(1 if anew else 2):
                asyncio.run(run_turn(session, "Go."))
    # The file is written unasked; a tool of the caller's may send it anywhere.
    (question,) = person.questions
    assert question.call.name == "act"
    assert "a command that could read files of others" in question.tainted


def test_what_a_person_attaches_taints_the_turn_itself(tmp_path: Path) -> None:
    (why,) = tainted(tmp_path, ACT, files=(Attachment("mail.txt", b"hello"),))
    assert why == "attachment: fi:turn_1.user.attachments/mail.txt"


def test_a_tool_that_is_gone_taints(tmp_path: Path) -> None:
    assert tainted(tmp_path, calling("act")) == ()
    gone = "the result of act, which nobody here knows"
    look = calling("search", query="x")
    assert tainted(tmp_path, look, tools=Registry([search])) == (gone,)


def test_a_call_that_was_refused_brought_nothing(tmp_path: Path) -> None:
    tainted(tmp_path, calling("search", query="x"), answer=NO)
    tainted(tmp_path, calling("search"))
    tainted(tmp_path, calling("search").replace("search", "gone"))
    assert tainted(tmp_path, ACT) == ()


def test_a_result_that_the_text_carries_brought_nothing(tmp_path: Path) -> None:
    look = Call(id="c1", name="search", input={"query": "x"})
    said = write("tool-fence", look, Result(id="c1", output="y"), tools=TOOLS.tools)
    assert tainted(tmp_path, said, carries=True) == ()
    assert tainted(tmp_path, ACT) == ()
