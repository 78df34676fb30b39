from __future__ import annotations

from callblocks.cli.chat.recording import Prose, Transcript
from callblocks.core.calls import Call, Result
from callblocks.core.events import CallResult
from callblocks.core.outcomes import Failure, Outcome
from callblocks.dialects import dialects
from callblocks.parser import parse
from support.command_home import fence


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


def test_a_call_whose_approval_was_asked_for_still_waits_and_its_result_is_replaced() -> None:
    written = dialects["tool-fence"].write(
        [
            Call(id="a", name="ls"),
            Result(id="a", error="approval_required: ask"),
            Call(id="b", name="ls"),
            Result(id="b", error="approval_denied: a person said no"),
        ]
    )
    made = transcript(written)
    assert [call.id for call in made.waiting] == ["a"]
    assert [call.id for call in made.answered] == ["b"]
    made.settle(Outcome(id="a", name="ls", output="x"))
    results = [item for item in made.items() if isinstance(item, Result)]
    assert [(one.id, one.output, one.error) for one in results] == [
        ("a", "x", None),
        ("b", None, "approval_denied: a person said no"),
    ]


def test_an_output_that_looks_like_a_refusal_is_a_result() -> None:
    written = dialects["tool-fence"].write(
        [Call(id="a", name="ls"), Result(id="a", output="approval_required: ask")]
    )
    assert transcript(written).waiting == []


def test_what_began_like_a_call_and_is_none_is_broken() -> None:
    assert [event.code for event in transcript("```tool ls\ninput: [\n```\n").broken] == [
        "tool-fence.yaml"
    ]
    assert transcript(ANSWERED).broken == []


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


def test_prose_is_what_was_said_around_the_calls_that_wait() -> None:
    text = (
        "Old.\n🛠️[ls]\n🛠️[/end]\n🛠️[/result 1]\na\n🛠️[/end]\n"
        "New.\n<think>Hm.</think>\n🛠️[ls x]\n🛠️[/end]\n\n🛠️[ls y]\n🛠️[/end]\nDone.\n"
    )
    transcript = Transcript()
    parsed = parse(text, "emoji-bracket", reasoning=[("<think>", "</think>")])
    transcript.add(parsed.events)
    first, _ = transcript.waiting
    assert transcript.prose().before == {first.id: "Old.\n\nNew."}
    assert transcript.prose().after == "Done."


def test_what_was_said_before_calls_with_a_result_is_kept_where_no_call_follows() -> None:
    text = "Old.\n🛠️[ls]\n🛠️[/end]\n🛠️[/result 1]\na\n🛠️[/end]\nDone.\n"
    transcript = Transcript()
    transcript.add(parse(text, "emoji-bracket").events)
    assert transcript.prose() == Prose({}, "Old.\n\nDone.")
