"""A turn: the model is asked, its calls run, and it is told what they gave, until it answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from callblocks.core.calls import Call
from callblocks.core.errors import CallerError
from callblocks.core.events import (
    CallEnded,
    CallTold,
    Malformed,
    Problem,
    Reasoning,
    RoundBegan,
    Text,
)
from callblocks.models.model import Request, Thinking
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.model_choice import Attachment
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Context
from support.played_turns import BAD, GOOD, calls, play
from support.scripted_sessions import (
    TAUGHT,
    Replies,
    blocks_of,
    of_type,
    run_turn,
    some_host,
    texts,
    write,
)


@pytest.mark.parametrize("dialect", TAUGHT)
def test_a_turn_of_two_rounds_with_a_good_and_a_failing_call(tmp_path: Path, dialect: str) -> None:
    said = calls(dialect, "I look twice.\n", GOOD, BAD)
    played = play(tmp_path, said, "A garden, and no more.", dialect=dialect)
    assert played.end.status == "answered"
    assert sorted(played.codes) == ["", "path_not_found"]
    first, second = played.requests
    assert (first.round, second.round, first.prompt) == (1, 2, "Look around.")
    ((said_by, asked),) = texts(first.messages)
    assert (said_by, asked.partition("\n")[2]) == ("user", "[User say]: Look around.\n")
    assert second.messages[1:2] == first.messages[1:]
    # A model of an unknown family is taught the dialect in which its first calls came.
    assert (second.messages[0] == first.messages[0]) == (dialect != "auto")
    (_, (mine, own), (yours, given)) = texts(second.messages)
    assert (mine, yours) == ("assistant", "user")
    # The calls have ids of the timeline, where the dialect has none.
    assert own.replace("\n", "") == said.replace("\n", "")
    assert "a garden" in given
    assert given.count("path_not_found") == 1
    assert given.count("nothing is there; look elsewhere") == 1
    assert sorted(dict(second.results).values()) == [
        "a garden",
        "path_not_found: 'nowhere': nothing is there; look elsewhere",
    ]


def test_results_stand_in_the_order_of_the_calls(tmp_path: Path) -> None:
    @tool(read_only=True)
    async def rest(turns: int) -> int:
        """Rest for some turns of the loop."""
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    own = Registry([rest])
    resting = [Call(id=f"c{turns}", name="rest", input={"turns": turns}) for turns in (90, 1, 40)]
    model = Replies(write("tool-fence", *resting, tools=own.tools), "Done.")
    with some_host(tmp_path, model, tools=own) as host:
        events = asyncio.run(run_turn(host.session("talk"), "Rest."))
    assert [one.outcome.id for one in of_type(events, CallEnded)] == ["c1", "c40", "c90"]
    assert model.requests[1].results == (("c90", "90"), ("c1", "1"), ("c40", "40"))


def test_nothing_at_all_is_no_prompt(tmp_path: Path) -> None:
    model = Replies("Yes.", "Yes.")
    with some_host(tmp_path, model) as host:
        session = host.session("talk")
        for prompt in ("", " \n"):
            with pytest.raises(CallerError, match="the prompt is empty"):
                asyncio.run(run_turn(session, prompt))
        assert blocks_of(session) == []
        asyncio.run(run_turn(session, "", Attachment("a.txt", b"hello")))
    assert len(model.requests) == 1


def test_results_are_written_in_the_models_own_dialect(tmp_path: Path) -> None:
    played = play(tmp_path, calls("tool-fence", GOOD), "Done.")
    assert played.sent(1)[1:] == [
        ("assistant", "```tool look c1\ninput:\n  place: garden\n```\n"),
        (
            "user",
            "```tool look c1\ninput:\n  place: garden\noutput: |\n  a garden\n```\n\n",
        ),
    ]


def test_an_error_is_told_once_with_its_code(tmp_path: Path) -> None:
    played = play(tmp_path, calls("tool-fence", BAD), "Done.")
    *_, (_, given) = played.sent(1)
    assert given == (
        "```tool look c2\ninput:\n  place: nowhere\n"
        "errorText: \"path_not_found: 'nowhere': nothing is there; look elsewhere\"\n```\n\n"
    )


def test_results_that_a_dialect_numbers_go_on_counting(tmp_path: Path) -> None:
    said = calls("emoji-bracket", GOOD, BAD)
    played = play(tmp_path, said, "Done.", dialect="emoji-bracket")
    *_, (_, given) = played.sent(1)
    assert "🛠️[/result 1" in given
    assert "🛠️[/result 2" in given


def test_what_a_dialect_cannot_say_stands_as_in_the_view(tmp_path: Path) -> None:
    said = calls("scissors-cat", GOOD)
    played = play(tmp_path, said, "Done.", dialect="scissors-cat")
    *_, (_, given) = played.sent(1)
    assert given == (
        "[TOOL RESULT c1].result look\npath: tc:turn_1.c1.result\ncontent:\na garden\n"
    )


@pytest.mark.parametrize("dialect", ["auto", "emoji-bracket"])
def test_calls_quoted_beside_other_text_are_none(tmp_path: Path, dialect: str) -> None:
    quoted = f"Write it so:\n\n````markdown\nLike this:\n{calls('emoji-bracket', GOOD)}\n````\n"
    assert play(tmp_path, quoted, dialect=dialect).codes == []


@pytest.mark.parametrize("dialect", ["auto", "emoji-bracket"])
def test_a_code_fence_that_is_all_call_runs(tmp_path: Path, dialect: str) -> None:
    fenced = f"````\n{calls('emoji-bracket', GOOD)}\n````\n"
    assert play(tmp_path, fenced, "Done.", dialect=dialect).codes == [""]


def test_an_unknown_tool_a_wrong_input_and_a_no_are_told(tmp_path: Path) -> None:
    said = calls(
        "tool-fence",
        Call(id="c1", name="loook", input={"place": "x"}),
        Call(id="c2", name="look", input={"place": 7, "deep": True}),
        Call(id="c3", name="look", input={"place": "cellar"}),
    )
    rules = Policy((Rule(decide="deny", tool=("look",)),), autoexec=True)
    played = play(tmp_path, said, "Done.", host={"policy": rules})
    assert sorted(played.codes) == ["invalid_input", "policy_denied", "unknown_tool"]
    *_, (_, given) = played.sent(1)
    assert "unknown_tool: no tool is called 'loook'; did you mean look?" in given
    assert "invalid_input: look: " in given
    assert "policy_denied: look did not run: " in given


def test_what_is_written_before_calls_and_after_them_is_kept(tmp_path: Path) -> None:
    text = f"First.\n{calls('tool-fence', GOOD)}\nThen.\n{calls('tool-fence', BAD)}\nLast."
    played = play(tmp_path, text, "Done.")
    assert played.texts("react.notes", "assistant.completion") == [
        "First.",
        "Then.",
        "Last.",
        "Done.",
    ]
    assert [block.type for block in played.blocks if block.author == "assistant"] == [
        *("react.notes", "react.tool.call", "react.notes", "react.tool.call", "react.notes"),
        "assistant.completion",
    ]
    rounds = [one.meta["round"] for one in played.blocks if one.type == "react.tool.call"]
    assert rounds == [1, 1]


def test_a_call_that_cannot_be_read_is_told_and_asked_for_again(tmp_path: Path) -> None:
    broken = "I look.\n\n```tool look c1\ninput: [\n```\n"
    played = play(tmp_path, broken, calls("tool-fence", GOOD), "Done.")
    assert played.end.status == "answered"
    assert len(of_type(played.events, Malformed)) == 1
    assert [one.number for one in of_type(played.events, RoundBegan)] == [1, 2, 3]
    _, (_, own), (_, given) = played.sent(1)
    assert "tool look c1" in own
    assert "protocol_violation.broken_call" in given
    assert "tool-fence.yaml" in given


def test_calls_that_cannot_be_read_again_and_again_end_the_turn(tmp_path: Path) -> None:
    broken = "```tool look c1\ninput: [\n```\n"
    good = calls("tool-fence", GOOD)
    played = play(tmp_path, broken, broken, good, *[broken] * 5)
    assert played.ended == ("failed", "broken_calls")
    assert len(played.requests) == 6


UNREAD = '<tol>{"name": "look", "arguments": {"place": "garden"}}</tool_call>'


def test_a_call_that_nobody_read_is_told_to_the_person_and_the_model(tmp_path: Path) -> None:
    played = play(tmp_path, f"I look. {UNREAD}", calls("tool-fence", GOOD), "Done.")
    assert played.end.status == "answered"
    (hint,) = of_type(played.events, Problem)
    assert hint.code == "unread-call"
    assert hint.detail.startswith("look stands here in the form of a call")
    _, (_, own), (_, given) = played.sent(1)
    assert own.count(UNREAD) == 1
    assert "nothing ran; write the call as you were told" in given
    assert [one.output for one in played.outcomes] == ["a garden"]


def test_a_call_that_nobody_read_is_asked_for_once_in_a_turn(tmp_path: Path) -> None:
    played = play(tmp_path, UNREAD, UNREAD)
    assert played.end.status == "answered"
    assert len(played.requests) == 2
    assert len(of_type(played.events, Problem)) == 2


def test_a_call_that_nobody_read_beside_one_that_runs_is_told_with_its_result(
    tmp_path: Path,
) -> None:
    played = play(tmp_path, f"{UNREAD}\n{calls('tool-fence', GOOD)}", "Done.")
    assert played.end.status == "answered"
    *_, (_, given) = played.sent(1)
    assert "nothing ran; write the call as you were told" in given
    assert "a garden" in given


def test_a_result_that_the_model_made_up_is_not_used(tmp_path: Path) -> None:
    said = "```tool look c1\ninput:\n  place: garden\noutput: a castle\n```\n"
    played = play(tmp_path, f"{said}{said.replace('c1', 'c2')}", "Done.")
    assert [one.output for one in played.outcomes] == ["a garden", "a garden"]
    assert [role for role, _ in played.sent(1)] == ["user", "assistant", "user"]
    *_, (_, given) = played.sent(1)
    assert given.count("protocol_violation.written_result") == 2
    assert "a castle" in given


def test_a_model_of_scripts_carries_its_results(tmp_path: Path) -> None:
    said = (
        "So:\n```tool look c1\noutput: a castle\n```\nAnd:\n```tool look c2\nerror: too far\n```\n"
        "That is all."
    )
    played = play(tmp_path, said, writes_results=True)
    assert (played.end.status, len(played.requests)) == ("answered", 1)
    assert [one.written for one in of_type(played.events, CallEnded)] == [True, True]
    assert [(one.output, one.error and one.error.message) for one in played.outcomes] == [
        ("a castle", None),
        (None, "too far"),
    ]
    written = [block for block in played.blocks if block.type == "react.tool.call"]
    assert [block.meta["written"] for block in written] == [True, True]
    assert played.texts("react.notes", "assistant.completion") == ["So:", "And:", "That is all."]


def test_of_two_results_for_one_call_the_first_counts(tmp_path: Path) -> None:
    one = "🛠️[look garden]\n🛠️[/end]🛠️[/result 1]\n{}🛠️[/end]"
    said = one.format("a castle") + "🛠️[/result 1]\na hut🛠️[/end] So it is."
    played = play(tmp_path, said, dialect="emoji-bracket", writes_results=True)
    assert [one.output for one in played.outcomes] == ["a castle"]


def test_what_a_model_thinks_stands_beside_what_it_then_says(tmp_path: Path) -> None:
    first = [Thinking("Where? "), Thinking("There."), calls("tool-fence", GOOD)]
    played = play(
        tmp_path, first, [Thinking("Broken."), "```tool\n[\n```"], [Thinking("So."), "Yes."]
    )
    assert (
        "".join(one.text for one in of_type(played.events, Reasoning)) == "Where? There.Broken.So."
    )
    thoughts = {one.type: one.meta["reasoning"] for one in played.blocks if "reasoning" in one.meta}
    assert thoughts == {
        "react.tool.call": "Where? There.",
        "react.notes": "Broken.",
        "assistant.completion": "So.",
    }


def test_what_a_tool_shows_is_told_until_it_ends(tmp_path: Path) -> None:
    @tool(read_only=True)
    def talk(context: Context) -> str:
        """Talk."""
        context.report("one")
        context.report("two")
        return "three"

    said = calls("tool-fence", Call(id="c1", name="talk"))
    played = play(tmp_path, said, "Yes.", host={"tools": Registry([talk])})
    assert [one.text for one in of_type(played.events, CallTold)] == ["one", "two"]


def test_an_id_that_came_before_is_another_one_on_the_timeline(tmp_path: Path) -> None:
    played = play(tmp_path, calls("tool-fence", GOOD), calls("tool-fence", GOOD), "Yes.")
    first, second = (one.id for one in played.outcomes)
    assert first == "c1"
    assert second.startswith("tc_")
    assert [block.call_id for block in played.blocks if block.type == "react.tool.call"] == [
        first,
        second,
    ]


def test_the_system_prompt_teaches_every_tool_and_says_what_is_added(tmp_path: Path) -> None:
    played = play(tmp_path, "Yes.", limits={"system": "You are kind."})
    (system, *_) = played.requests[0].messages
    (part,) = system.parts
    text: str = getattr(part, "text", "")
    assert text.startswith("You are kind.")
    assert all(name in text for name in ("look", "file_read", "react.write", "react.read"))


def test_a_request_carries_the_limit_and_the_grammar(tmp_path: Path) -> None:
    played = play(tmp_path, "Yes.", limits={"max_tokens": 7, "grammar": True})
    request: Request = played.requests[0]
    assert (request.max_tokens, request.chat) == (7, "talk")
    assert request.grammar.lstrip().startswith("root")


def test_prose_is_told_as_it_comes(tmp_path: Path) -> None:
    played = play(tmp_path, "One two three four.", size=3)
    assert len(of_type(played.events, Text)) > 3
    assert "".join(one.text for one in of_type(played.events, Text)) == "One two three four."
