"""One checked input: whoever looks at a call after the gate sees what its tool gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, StringConstraints

from callblocks.approvals.book import ApprovalBook
from callblocks.core.blocks import Block
from callblocks.core.calls import Call, CheckedCall
from callblocks.core.outcomes import Outcome
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.gate import Approving
from callblocks.runtime.journal import Journal
from callblocks.runtime.judgement import Judged, Judgement, check_call
from callblocks.runtime.runtime import Runtime
from callblocks.session.turn import TurnWriting
from callblocks.session.turn_lock import LeftCalls, turn_key
from callblocks.timeline.codec.call_blocks import is_whole, params_of
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.custom_tools import custom_tools
from callblocks.toolkits.react_tools import react_tools
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool
from support.approvers import YES, Person
from support.recorded_sessions import Session, a_session, said
from support.tool_runtime import call, run, run_one

Code = Annotated[str, Field(min_length=1)]
Stripped = Annotated[
    str, StringConstraints(strip_whitespace=True), Field(json_schema_extra={"format": "path"})
]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with a_session(tmp_path) as session:
        yield session


def tools_of(session: Session) -> tuple[Tool, ...]:
    @tool(name="exec_tools.execute_code_python", kind="exec", needs_approval=True)
    def execute(code: Code, contract: list[dict[str, str]], timeout: float = 60) -> dict[str, Any]:
        """Run code: here, each file of the contract holds it."""
        for one in contract:
            session.put(f"turn_1/files/{one['filename']}", code.encode())
        return {"exit_code": 0, "produced": [f"turn_1/files/{one['filename']}" for one in contract]}

    return (*custom_tools(), *react_tools(session.recorder, "turn_1"), execute)


def play(session: Session, tool: str, id: str, /, **input: Any) -> list[Block]:
    policy = Policy((Rule(decide="allow", tool=("exec_tools.execute_code_python", "*")),))
    one = Call(id=id, name=tool, input=input)
    return session.play(tools_of(session), one, policy=policy)


def digests(blocks: list[Block]) -> list[dict[str, Any]]:
    return [said(block) for block in blocks if block.meta.get("role") == "digest"]


CONTRACT = [{"filename": "a.txt", "description": "the code"}]


@pytest.mark.parametrize("contract", [CONTRACT, json.dumps(CONTRACT)])
def test_a_contract_given_as_text_brings_its_files(session: Session, contract: Any) -> None:
    blocks = play(
        session, "exec_tools.execute_code_python", "c1", code="print(1)", contract=contract
    )
    report = next(block for block in blocks if block.meta.get("role") == "report")
    assert report.text == "Runtime error: none\nSucceeded:\n- turn_1/files/a.txt"
    (digest,) = digests(blocks)
    assert digest["artifact_path"] == "fi:turn_1.files/a.txt"
    assert digest["description"] == "the code"


def test_a_number_as_the_path_of_a_file_is_its_name(session: Session) -> None:
    blocks = play(session, "react.write", "c1", path=2026, content="some text")
    assert [block.type for block in blocks] == [
        *("react.tool.call", "react.tool.result", "react.tool.result"),
    ]
    (digest,) = digests(blocks)
    assert digest["artifact_path"] == "fi:turn_1.files/2026"
    assert "error" not in digest
    assert blocks[-1].text == "some text"


def test_the_call_says_what_the_model_wrote_and_where_the_content_is(session: Session) -> None:
    checked = check_call(
        call("react.write", path=2026, content="x", kind="FILE"), Registry(tools_of(session))
    )
    assert checked == CheckedCall(
        name="react.write",
        input={"path": "2026", "content": "x", "kind": "file", "channel": "canvas"},
        result="write",
    )
    written = call("react.write", path=2026, content="x", kind="FILE")
    entries = session.recorder.started("turn_1", written, checked)
    params = params_of(entries[-1].block)
    assert params == {"path": 2026, "content": "x... [see fi:turn_1.files/2026]", "kind": "FILE"}


@pytest.mark.parametrize(
    ("kind", "taken"), [("FILE", "file"), ("File", "file"), ("Display", "display")]
)
def test_a_choice_is_recorded_as_it_was_taken(session: Session, kind: str, taken: str) -> None:
    blocks = play(session, "react.write", "c1", path="a.md", content="# A", kind=kind)
    assert digests(blocks)[0]["kind"] == taken


def test_a_refused_call_is_recorded_as_it_was_taken(session: Session) -> None:
    one = call("react.write", path="a.md", content="# A", kind="FILE", channel="Internal")
    outcome = session.run(tools_of(session), one, turn="turn_1", policy=Policy())
    checked = check_call(one, Registry(tools_of(session)))
    entries = session.recorder.ended("turn_1", one, outcome, checked)
    digest = said(entries[-1].block)
    assert (digest["kind"], digest["visibility"]) == ("file", "internal")
    assert digest["error"]["code"] == "policy_off"


def test_custom_keeps_the_results_of_the_tool_that_it_names(session: Session) -> None:
    own = play(session, "react.write", "c1", path="a.md", content="# A")
    given = {"path": "a.md", "content": "# A"}
    through = play(session, "custom", "c2", name="react.write", parameters=given)
    assert [block.type for block in through] == [block.type for block in own]
    assert [block.path for block in through[1:]] == [
        "tc:turn_1.c2.result",
        "fi:turn_1.files/a.md",
    ]
    assert {block.tool_id for block in through} == {"custom"}
    assert params_of(through[0]) == {"name": "react.write", "parameters": given}
    assert is_whole(through[0])


def test_custom_brings_what_the_reader_that_it_names_brings(session: Session) -> None:
    play(session, "react.write", "c1", path="a.md", content="# A")
    session.play(tools_of(session), call("react.hide", "c2", path="fi:turn_1.files/a.md"))
    blocks = play(
        session, "custom", "c3", name="react.read", parameters={"paths": "fi:turn_1.files/a.md"}
    )
    assert blocks[1].meta["role"] == "status"
    assert {block.call_id for block in blocks} == {"c3"}
    assert blocks[-1].text == "# A"


def test_the_code_of_a_call_through_custom_stands_before_it(session: Session) -> None:
    given = {"code": "print(1)", "contract": json.dumps(CONTRACT)}
    named = {"name": "exec_tools.execute_code_python", "parameters": given}
    one = Call(id="c1", name="custom", input=named)
    checked = check_call(one, Registry(tools_of(session)))
    entries = session.recorder.started("turn_1", one, checked)
    code, written = (entry.block for entry in entries[-2:])
    assert (code.type, code.text, code.mime) == ("react.tool.code", "print(1)", "text/x-python")
    assert written.meta["runs"] == "exec_tools.execute_code_python"
    assert written.meta["result"] == "exec"


def test_a_tool_of_the_callers_says_what_its_results_are(session: Session) -> None:
    @tool(result="search", read_only=True)
    def find(words: str) -> list[dict[str, str]]:
        """Find pages."""
        return [{"title": words, "url": "https://example.org"}]

    blocks = session.play((find,), call("find", words="rain"))
    assert blocks[-1].path == "so:sources_pool[1]"


def test_a_tool_that_says_nothing_of_its_results_goes_by_its_name(session: Session) -> None:
    @tool(name="web_tools.web_search", read_only=True)
    def find(words: str) -> list[dict[str, str]]:
        """Find pages."""
        return [{"title": words, "url": "https://example.org"}]

    blocks = session.play((find,), call("web_tools.web_search", words="rain"))
    assert blocks[-1].path == "so:sources_pool[1]"


@pytest.mark.parametrize("through", [False, True], ids=["itself", "custom"])
def test_a_call_that_a_program_left_is_settled_as_it_ran(session: Session, through: bool) -> None:
    @tool(result="write", destructive=False)
    def put(path: str, content: str, kind: Literal["display", "file"] = "file") -> str:
        """Put a file."""
        session.put(f"turn_1/files/{path}", content.encode())
        return "put"

    journal = Journal(session.folder.parent / "journal")
    given = {"path": 2026, "content": "# A"}
    one = Call(id="c1", name="put", input=given)
    if through:
        one = Call(id="c1", name="custom", input={"name": "put", "parameters": given})
    recorder, tools = session.recorder, (*custom_tools(), put)
    turn = recorder.new_turn()
    recorder.started(turn, one, check_call(one, Registry(tools)))
    session.run(tools, one, turn=turn_key(recorder, turn), journal=journal)
    # The program died here; the next one has the journal and the timeline, and no tools.
    (settled,), runnable = LeftCalls(recorder, journal, turn).settle()
    journal.close()
    assert (settled.output, runnable) == ("put", [])
    blocks = [block for block in session.blocks() if block.type == "react.tool.result"]
    digest = digests(blocks)[0]
    assert (digest["artifact_path"], digest["kind"]) == ("fi:turn_1.files/2026", "file")
    assert blocks[-1].text == "# A"


def test_what_ran_is_no_part_of_the_value_of_an_outcome() -> None:
    @tool(read_only=True)
    def look(password: str) -> str:
        """Look."""
        return "seen"

    one = call("look", password="hunter2")
    outcome = run_one((look,), one)
    assert outcome == Outcome(id="c1", name="look", output="seen", seconds=outcome.seconds)
    assert "hunter2" not in f"{outcome}{msgspec.json.encode(outcome)}"
    assert not hasattr(outcome, "__dict__")
    checked = CheckedCall(name="look", input={"password": "hunter2"})
    assert Runtime((look,)).check(one) == checked
    assert Runtime((look,)).check(call("sing")) is None


def write(session: Session, id: str = "c1") -> tuple[Call, Outcome, CheckedCall]:
    """A file whose name the model wrote as a number, and what came of it, copied and encoded."""
    one = call("react.write", id, path=2026, content="some text", kind="FILE")
    tools = tools_of(session)
    outcome = session.run(tools, one, turn="turn_1")
    outcome = msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome)
    checked = check_call(one, Registry(tools))
    assert checked is not None
    return one, msgspec.structs.replace(outcome, notices=()), checked


@pytest.mark.parametrize("when", ["started", "ended"])
def test_a_copy_of_an_outcome_is_recorded_as_its_call_ran(session: Session, when: str) -> None:
    one, outcome, checked = write(session)
    recorder = session.recorder
    recorder.started("turn_1", one, checked if when == "started" else None)
    told = () if when == "started" else (checked,)
    digest = said(recorder.ended("turn_1", one, outcome, *told)[-2].block)
    assert (digest["artifact_path"], digest["kind"]) == ("fi:turn_1.files/2026", "file")
    assert "error" not in digest


def test_what_was_told_of_a_call_is_not_told_of_the_next_with_its_id(session: Session) -> None:
    one, outcome, checked = write(session)
    session.recorder.started("turn_1", one, checked)
    session.recorder.ended("turn_1", one, outcome)
    other = msgspec.structs.replace(one, input={"path": "b.md", "content": "some text"})
    session.put("turn_1/files/b.md", "some text")
    digest = said(session.recorder.ended("turn_1", other, outcome)[-2].block)
    assert digest["artifact_path"] == "fi:turn_1.files/b.md"


@pytest.mark.parametrize("through", [False, True], ids=["itself", "custom"])
def test_a_recorder_made_anew_knows_the_kind_of_a_call_by_its_block(
    session: Session, through: bool
) -> None:
    given = {"words": "rain"}
    one = call("find", **given)
    if through:
        one = Call(id="c1", name="custom", input={"name": "find", "parameters": given})
    checked = CheckedCall(name="find", input=given, result="search")
    session.recorder.started("turn_1", one, checked)
    again = Recorder(session.timeline, session.files, session.artifacts)
    rows = [{"title": "rain", "url": "https://example.org"}]
    outcome = Outcome(id=one.id, name=one.name, output=rows)
    # Of a call that stands for another, it would have to be told the input, too.
    told = (checked,) if through else ()
    assert again.ended("turn_1", one, outcome, *told)[-1].block.path == "so:sources_pool[1]"


def test_a_call_that_runs_after_a_restart_is_recorded_as_it_was_taken(session: Session) -> None:
    one, outcome, _ = write(session)
    session.recorder.started("turn_1", one)
    again = Recorder(session.timeline, session.files, session.artifacts)
    writing = TurnWriting(again, "turn_1", lambda event: None, Runtime(tools_of(session)).check)
    writing.end(one, outcome)
    (digest,) = digests(session.blocks())
    assert digest["artifact_path"] == "fi:turn_1.files/2026"


def test_a_type_that_changes_what_it_takes_is_judged_by_what_it_gives() -> None:
    got: list[str] = []

    @tool
    def remove(path: Stripped) -> None:
        """Remove a file."""
        got.append(path)

    remove_all = Rule(decide="allow", tool=("remove",))
    keep = Rule(decide="deny", argument={"path": ("keys/*",)})
    policy = Policy((keep, remove_all))
    refused = run_one((remove,), call("remove", path="  keys/a"), policy=policy)
    assert refused.error is not None
    assert refused.error.code == "policy_denied"
    assert run_one((remove,), call("remove", path=" b "), policy=policy).ok
    assert got == ["b"]


@tool(origin="external", read_only=True)
def ask() -> dict[str, Any]:
    """Ask another tool, which fails."""
    inner = {"code": "far", "message": "no", "managed": True}
    error = {"code": "near", "message": "no", "managed": True, "details": {"causes": [inner]}}
    return {"ok": False, "error": error, "ret": None}


def test_who_managed_a_fault_is_in_no_block_of_a_timeline(session: Session) -> None:
    blocks = session.play((ask,), call("ask"))
    assert said(blocks[-1])["error"]["details"] == {"causes": [{"code": "far", "message": "no"}]}
    assert not [block for block in blocks if "managed" in (block.text or "")]


# The law: for any tool and any input that its check takes, all see one value.

Level = Literal["low", "HIGH"]


@tool(preview=lambda **values: json.dumps(values, default=str), idempotent=True)
def act(  # noqa: PLR0913, PLR0917 one of each type
    path: str,
    count: int,
    share: float,
    level: Level,
    force: bool,
    names: list[str],
    rows: list[dict[str, int]],
    options: dict[str, Any],
    mode: Level = "low",
    more: list[str] = [],  # noqa: B006 nothing changes it
) -> None:
    """Act."""
    GOT.append(
        {
            "path": path,
            "count": count,
            "share": share,
            "level": level,
            "force": force,
            "names": names,
            "rows": rows,
            "options": options,
            "mode": mode,
            "more": more,
        }
    )


GOT: list[dict[str, Any]] = []


def keep(_name: str, given: dict[str, Any]) -> dict[str, Any]:
    GOT.append(json.loads(json.dumps(given)))
    # What a tool does to its input is seen by nobody else.
    given["names"].append("more")
    return {"ok": True, "error": None, "ret": None}


FOREIGN = Registry.from_json([{"name": "act", "parameters": act.spec.parameters}], keep).tools[0]
IDS = count()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Journal, ApprovalBook]]:
    home = tmp_path_factory.mktemp("checked")
    journal = Journal(home / "journal")
    with ApprovalBook(home / "approvals") as book:
        yield journal, book
    journal.close()


words = st.text("abcXYZ 0-", max_size=6)
numbers = st.integers(-9, 9)


def texts_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value as it is, or as the JSON text that models write instead."""
    return values | values.map(json.dumps)


inputs = st.fixed_dictionaries(
    {
        "path": words | numbers,
        "count": numbers | numbers.map(str) | numbers.map(float),
        "share": numbers | st.sampled_from(["0.5", 0.25, "3"]),
        "level": st.sampled_from(["low", "LOW", "Low", "high", "HIGH"]),
        "force": st.sampled_from([True, False, "true", "False"]),
        "names": texts_of(st.lists(words, max_size=2)) | st.sampled_from(["INBOX", "one"]),
        "rows": texts_of(st.lists(st.dictionaries(words, numbers, max_size=2), max_size=2)),
        "options": texts_of(st.dictionaries(words, words | numbers, max_size=2)),
    },
    optional={"mode": st.sampled_from(["low", "High"]), "more": st.just("x")},
)


@pytest.mark.parametrize("acting", [act, FOREIGN], ids=["declared", "foreign"])
@pytest.mark.parametrize("through", [False, True], ids=["itself", "custom"])
@settings(max_examples=15)
@given(input=inputs)
def test_policy_person_tool_journal_and_recorder_get_one_value(
    acting: Tool, through: bool, kept: tuple[Journal, ApprovalBook], input: dict[str, Any]
) -> None:
    GOT.clear()
    journal, book = kept
    tools = (*custom_tools(), acting)
    written = {"name": "act", "parameters": input} if through else input
    one = Call(id=f"c{next(IDS)}", name="custom" if through else "act", input=written)
    before = json.dumps(one.input)
    person, heard = Person(YES), list[Judged]()
    (outcome,) = run(
        tools,
        one,
        policy=Policy((Rule(decide="ask", tool=("act",)),)),
        approving=Approving(book, person),
        journal=journal,
        judged=heard.append,
    )
    (entry,) = journal.entries(1)
    assert outcome.ok
    checked = check_call(one, Registry(tools))
    assert checked is not None
    (judged,) = [one.verdict for one in heard]
    assert isinstance(judged, Judgement)
    (question,) = person.questions
    assert judged.facts.input == checked.input
    assert entry.intent.input == checked.input
    assert acting.with_defaults(question.call.input) == checked.input
    # A foreign tool has its own defaults, and is given what was said.
    assert [checked.input if acting is act else question.call.input] == GOT
    assert judged.checked == checked
    # What was taken gives the same again.
    assert check_call(Call(id="c2", name="act", input=checked.input), Registry(tools)) == checked
    assert json.dumps(one.input) == before
