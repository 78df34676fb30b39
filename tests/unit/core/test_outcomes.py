"""What a timeline and a model see of an outcome."""

from __future__ import annotations

from callblocks.core.calls import Result
from callblocks.core.outcomes import Failure, Outcome


def test_a_failure_tells_nothing_empty_and_not_who_managed_it() -> None:
    bare = Failure(code="not_found", message="nothing is there", managed=True)
    assert bare.payload() == {"code": "not_found", "message": "nothing is there"}
    whole = Failure(code="timeout", message="too long", where="tool", details={"seconds": 3})
    assert whole.payload() == {
        "code": "timeout",
        "message": "too long",
        "where": "tool",
        "details": {"seconds": 3},
    }


def test_who_managed_a_fault_is_not_told_however_deep_it_stands() -> None:
    inner = {"error": {"code": "x", "managed": True}, "tried": [{"managed": False, "n": 1}]}
    failure = Failure(code="y", message="z", details={"managed": True, "cause": inner})
    assert failure.payload()["details"] == {
        "cause": {"error": {"code": "x"}, "tried": [{"n": 1}]},
    }


def test_an_outcome_is_written_as_its_output_or_as_code_and_message() -> None:
    done = Outcome(id="a", name="look", output=[1])
    assert (done.ok, done.result()) == (True, Result(id="a", output=[1]))
    failure = Failure(code="timeout", message="too long")
    failed = Outcome(id="a", name="look", error=failure)
    assert (failed.ok, failed.result()) == (False, Result(id="a", error="timeout: too long"))
