from __future__ import annotations

from callblocks.cli.transcript import Transcript
from callblocks.dialects import dialects
from callblocks.model.calls import Call, Result
from callblocks.model.events import CallResult
from callblocks.model.outcomes import Failure, Outcome
from callblocks.parser import parse
from support.home import fence


def transcript(text: str) -> Transcript:
    made = Transcript()
    made.add(parse(text, "tool-fence").events)
    return made


ANSWERED = dialects["tool-fence"].write([Call(id="a", name="ls"), Result(id="a", output="x")])


def test_a_text_without_calls_waits_for_nothing() -> None:
    made = Transcript()
    assert made.waiting == []
    assert made.items() == []
    assert made.settle(Outcome(id="a", name="ls")) == []


def test_only_calls_without_a_result_wait() -> None:
    made = transcript(ANSWERED + "\n" + fence("ls", "b"))
    assert [call.id for call in made.waiting] == ["b"]


def test_a_new_result_is_an_event_at_the_end_and_stands_behind_its_call() -> None:
    made = transcript("One.\n" + fence("ls", "a") + "Two.\n" + fence("ls", "b") + "Three.\n")
    failed = Outcome(id="b", name="ls", error=Failure(code="timeout", message="late"))
    (event,) = made.settle(failed)
    assert isinstance(event, CallResult)
    assert (event.id, event.result.error) == ("b", "timeout: late")
    made.settle(Outcome(id="a", name="ls", output="x"))
    kinds = [
        item if isinstance(item, str) else (type(item).__name__, item.id) for item in made.items()
    ]
    assert [one for one in kinds if not isinstance(one, str)] == [
        ("Call", "a"),
        ("Result", "a"),
        ("Call", "b"),
        ("Result", "b"),
    ]
    assert kinds[0] == "One."
    assert {type(item) for item in made.items()} == {str, Call, Result}
