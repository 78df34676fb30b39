from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.blocks import TYPES, Block
from callblocks.core.calls import Call, CheckedCall
from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallEnded,
    CallReady,
    Reasoning,
    RoundBegan,
    Text,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.outcomes import Failure, Notice, Outcome
from callblocks.views.replay import replayed
from callblocks.views.ui.ai_sdk.stream import UiStream
from callblocks.views.ui.ai_sdk.tool_parts import VERSIONS
from support.model_events import (
    call_broken,
    inner,
    model_said,
    model_thought,
    read_events,
    unplaced,
)
from support.recorded_sessions import Session, a_session
from support.sample_timelines import TS, a_talk, called, entries, failed, gave, said
from support.scripted_sessions import of_type
from support.ui_check import check


def events_of(session: Session) -> list[TurnEvent]:
    return list(replayed(session.timeline.entries()))


def outcomes(events: list[TurnEvent]) -> dict[str, Outcome]:
    return {one.outcome.id: one.outcome for one in events if isinstance(one, CallEnded)}


def names(events: list[TurnEvent]) -> list[str]:
    return [type(inner(event)).__name__ for event in events]


def record(session: Session, turn: str, call: Call, outcome: Outcome, **meta: Any) -> None:
    session.recorder.started(turn, call, **meta)
    session.recorder.ended(turn, call, outcome)


def test_a_talk_is_what_a_client_would_have_been_told() -> None:
    events = list(replayed(entries(a_talk())))
    assert names(events) == [
        *("TurnBegan", "RoundBegan", "Text"),
        *("CallStarted", "CallReady", "CallStarted", "CallReady"),
        *("CallBegan", "CallEnded", "CallBegan", "CallEnded"),
        *("RoundBegan", "Text", "CallStarted", "CallReady", "CallBegan", "CallEnded"),
        *("RoundBegan", "Text", "TurnEnded"),
    ]
    assert events[-1] == TurnEnded(turn="turn_1", status="answered")


@pytest.mark.parametrize(
    "output", [None, False, 0, "", "text", "# A\n\n- list", [1, None], {"a": {"b": 1.5}}]
)
def test_an_output_comes_back_as_it_was(tmp_path: Path, output: Any) -> None:
    with a_session(tmp_path) as session:
        call = Call(id="c1", name="add", input={"a": 1, "b": ["x"]})
        record(session, "turn_1", call, Outcome(id="c1", name="add", output=output))
        events = events_of(session)
    assert outcomes(events)["c1"] == Outcome(id="c1", name="add", output=output)
    (written,) = (event for event in read_events(events, CallReady))
    assert written.call == call


def test_a_failure_comes_back_with_its_code(tmp_path: Path) -> None:
    error = Failure(code="no_tea", message="there is none", where="pot", details={"left": 0})
    with a_session(tmp_path) as session:
        call = Call(id="c1", name="brew")
        record(session, "turn_1", call, Outcome(id="c1", name="brew", error=error))
        given = outcomes(events_of(session))["c1"]
    assert (given.error, given.output, given.notices) == (error, None, ())


def test_a_call_that_never_ran_does_not_begin(tmp_path: Path) -> None:
    error = Failure(code="policy_denied", message="no")
    with a_session(tmp_path) as session:
        call = Call(id="c1", name="brew")
        record(session, "turn_1", call, Outcome(id="c1", name="brew", error=error))
        assert not [event for event in events_of(session) if isinstance(event, CallBegan)]


def test_what_a_person_answered_comes_back_before_the_result(tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        turn, call = session.recorder.new_turn(), Call(id="c1", name="note")
        session.recorder.started(turn, call)
        said = {"approval": "a1", "approved": True, "reason": "rule 2", "answer": "go on"}
        session.recorder.answered(turn, "c1", "note", **said, tainted=["mail of others"])
        session.recorder.ended(turn, call, Outcome(id="c1", name="note", output="done"))
        # What comes too late, or is about no call that is known, is no question.
        session.recorder.answered(turn, "c1", "note", **said)
        session.recorder.answered(turn, "c2", "note", **said)
        events = events_of(session)
    assert names(events)[-5:] == [
        *("CallReady", "CallAsked", "CallAnswered", "CallBegan", "CallEnded"),
    ]
    assert events[-4:-2] == [
        CallAsked(id="c1", approval="a1", reason="rule 2", tainted=("mail of others",)),
        CallAnswered(id="c1", approval="a1", approved=True, reason="go on"),
    ]


def test_a_result_that_the_text_carried_is_marked(tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        call, outcome = Call(id="c1", name="t"), Outcome(id="c1", name="t", output=1)
        record(session, "turn_1", call, outcome, round=1, written=True)
        session.recorder.completion("turn_1", "Done.")
        events = events_of(session)
    assert names(events)[3:] == ["CallReady", "CallEnded", "Text", "TurnEnded"]
    (ended,) = (event for event in events if isinstance(event, CallEnded))
    assert ended.written


def test_rounds_and_thinking_come_back(tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        for number, id in enumerate(("c1", "c2"), 1):
            call = Call(id=id, name="t")
            session.recorder.notes("turn_1", call, f"Round {number}.")
            session.recorder.started("turn_1", call, round=number, reasoning=f"Hm {number}.")
            session.recorder.ended("turn_1", call, Outcome(id=id, name="t"))
        session.recorder.completion("turn_1", "Done.", reasoning="Well.")
        events = events_of(session)
    told = [
        one for one in unplaced(events) if isinstance(inner(one), RoundBegan | Reasoning | Text)
    ]
    assert told == [
        *(RoundBegan(number=1), model_thought(text="Hm 1."), model_said(text="Round 1.")),
        *(RoundBegan(number=2), model_thought(text="Hm 2."), model_said(text="Round 2.")),
        *(RoundBegan(number=3), model_thought(text="Well."), model_said(text="Done.")),
    ]


def test_a_broken_call_is_a_problem_and_ends_the_round(tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        notice = Notice(
            code="protocol_violation.broken_call", message="no YAML", details={"problem": "x.yaml"}
        )
        session.recorder.notes("turn_1", "n1", "```tool\n[")
        session.recorder.tell("turn_1", "n2", notice)
        session.recorder.completion("turn_1", "Sorry.")
        events = events_of(session)
    assert names(events)[2:] == ["Text", "Malformed", "RoundBegan", "Text", "TurnEnded"]
    assert unplaced(events)[3] == call_broken(code="x.yaml", text="", detail="no YAML")


def test_files_are_artifacts_with_the_digest_they_are_kept_under(tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        session.put("turn_1/files/a.md", "# A\n")
        call = Call(id="c1", name="react.write", input={"path": "a.md", "content": "# A\n"})
        record(session, "turn_1", call, Outcome(id="c1", name="react.write", output={"ok": 1}))
        given = outcomes(events_of(session))["c1"]
        (artifact,) = given.artifacts
        assert session.artifacts.read(artifact.digest) == b"# A\n"
    assert (artifact.path, artifact.mime, artifact.size) == (
        "fi:turn_1.files/a.md",
        "text/markdown",
        4,
    )
    assert given.output["artifact_path"] == artifact.path


def test_the_report_of_code_tells_of_its_error(tmp_path: Path) -> None:
    name = "exec_tools.execute_code_python"
    error = Failure(code="execution_failed", message="it broke")
    with a_session(tmp_path) as session:
        for id, given in (("c1", error), ("c2", None)):
            call = Call(id=id, name=name, input={"code": "print(1)\n" * 30})
            output = {"stdout": "1"} if given is None else None
            record(session, "turn_1", call, Outcome(id=id, name=name, output=output, error=given))
        events = events_of(session)
    assert outcomes(events)["c1"].error == error
    assert outcomes(events)["c2"] == Outcome(id="c2", name=name, output={"stdout": "1"})
    written = [event.call.input["code"] for event in read_events(events, CallReady)]
    assert written == ["print(1)\n" * 30] * 2


def test_the_parameters_of_a_call_that_stands_for_another_come_back_whole(tmp_path: Path) -> None:
    name, inner = "exec_tools.execute_code_python", {"code": "print(1)\n" * 30}
    call = Call(id="c1", name="custom", input={"name": name, "parameters": inner, "code": "own"})
    with a_session(tmp_path) as session:
        session.recorder.started("turn_1", call, CheckedCall(name=name, input=inner, result="exec"))
        (written,) = read_events(events_of(session), CallReady)
    assert written.call.input == call.input


def test_a_turn_that_is_not_over_has_no_end(tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        turn = session.recorder.new_turn("one program")
        session.recorder.prompt(turn, "Hi.")
        session.recorder.started(turn, Call(id="c1", name="t"), round=1)
        assert names(events_of(session))[-1] == "CallReady"
        session.recorder.end_turn(turn, status="interrupted", code="interrupted", message="died")
        assert events_of(session)[-1] == TurnEnded(
            turn=turn, status="interrupted", code="interrupted", message="died"
        )
        session.recorder.take_over(turn, "another program")
        assert names(events_of(session))[-1] == "CallReady"


def test_the_record_of_a_turn_says_how_it_ended(tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        turn = session.recorder.new_turn()
        session.recorder.completion(turn, "It is", is_partial=True)
        assert names(events_of(session))[-1] == "Text"
        session.recorder.end_turn(turn, status="stopped", tokens_in=3, tokens_out=4)
        (*_, ended) = events_of(session)
    assert ended == TurnEnded(turn=turn, status="stopped", tokens_in=3, tokens_out=4)


def test_turns_come_one_after_the_other() -> None:
    blocks = [
        called("c1"),
        said("assistant.completion", "Two.", turn="turn_2"),
        *gave("c1", "x"),
        said("assistant.completion", "One."),
    ]
    told = of_type([*replayed(entries(blocks))], Text, TurnEnded)
    assert [getattr(event, "text", "end") for event in told] == ["One.", "end", "Two.", "end"]


def test_a_result_whose_call_is_elsewhere_comes_alone() -> None:
    events = list(replayed(entries([*gave("c1", "x"), *failed("c2", "no")])))
    assert set(outcomes(events)) == {"c1", "c2"}
    assert outcomes(events)["c2"].error == Failure(code="no_tea", message="no")


BLOCKS = st.builds(
    Block,
    type=st.sampled_from([*TYPES, "unknown"]),
    author=st.just("tool"),
    turn_id=st.sampled_from(["turn_1", "turn_2"]),
    ts=st.just(TS),
    mime=st.sampled_from(["application/json", "text/plain"]),
    path=st.sampled_from(["", "tc:turn_1.c.result", "fi:turn_1.files/a"]),
    call_id=st.sampled_from(["c", "d"]),
    text=st.none()
    | st.text(max_size=10)
    | st.sampled_from(
        [
            '{"artifact_path":"fi:a","error":{}}',
            '{"artifact_path":1}',
            "[" * 5000,
            "Runtime error: ",
        ]
    ),
    meta=st.sampled_from(
        [
            *({}, {"role": "digest"}, {"role": "report"}, {"role": 3, "round": "x"}),
            *({"round": 2}, {"status": "no"}, {"status": []}),
            *({"approval": "a1", "approved": True}, {"approval": 3, "tainted": [1, "x"]}),
            {"reasoning": "hm", "member": "Ann"},
        ]
    ),
)


@given(st.lists(BLOCKS, max_size=12))
def test_any_blocks_give_a_stream_that_clients_take(blocks: list[Block]) -> None:
    for version in VERSIONS:
        for turn in ("turn_1", "turn_2"):
            stream = UiStream(version, message_id=turn)
            of_turn = [entry for entry in entries(blocks) if entry.block.turn_id == turn]
            events = list(replayed(of_turn))
            chunks = [chunk for event in events for chunk in stream.feed(event)]
            check([*chunks, *stream.close()], version)
