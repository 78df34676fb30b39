from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import Unwritable
from callblocks.dialects import dialects
from callblocks.parser import convert, parse
from callblocks.views.text.rewrite import rewrite
from support.soup import soup

FENCE = "```tool save c1\ninput:\n  path: a.txt\n  text: |\n    one\n    two\n```\n"
OPEN = "A 🛠[ls src]\n🛠[/end] B 🛠[save a.txt]\nhalf"


@given(soup("auto"), st.sampled_from(tuple(dialects)))
def test_any_text_is_rewritten_or_says_why_not(text: str, into: str) -> None:
    written = rewrite(text, "auto", into)
    read = parse(text)
    assert written.text or written.left_out or not (read.text.strip() or read.calls)
    if not written.left_out and not written.needs:
        assert len(parse(written.text, into).calls) == len(read.calls)


@given(soup("auto"), st.sampled_from(tuple(dialects)))
def test_what_can_be_converted_is_converted_alike(text: str, into: str) -> None:
    try:
        whole = convert(text, target=into)
    except Unwritable:
        return
    assert rewrite(text, "auto", into).text == whole


def test_what_a_dialect_cannot_say_is_left_out_and_named() -> None:
    written = rewrite(OPEN, "auto", "tool-fence")
    assert [call.name for call in parse(written.text, "tool-fence").calls] == ["ls"]
    assert written.left_out == ("the call 'tool-call-2' of 'save', which did not end",)


def test_a_thought_is_rewritten_as_one_or_left_out_and_named() -> None:
    thought = "<think>The plan.</think>Hello."
    assert rewrite(thought, "auto", "hermes").text == thought
    written = rewrite(thought, "auto", "tool-fence")
    assert written.text == "Hello."
    assert written.left_out == ("the thought 'The plan.': it has no form for one",)


def test_a_dialect_that_must_know_the_tools_learns_them_from_the_calls() -> None:
    written = rewrite(FENCE, "auto", "emoji-bracket")
    assert written.left_out == ()
    assert "[save a.txt]\none\ntwo\n" in written.text
    assert rewrite(FENCE, "auto", "scissors-cat").needs == ("save",)


def test_prose_that_would_be_read_as_a_call_is_refused_with_its_reason() -> None:
    written = rewrite("```\n🛠[ls src]\n🛠[/end]\n```\n", "auto", "emoji-bracket")
    assert written.text == ""
    assert "prose that reads as a call" in written.left_out[0]


def test_malformed_text_stays_as_it_was_and_is_named() -> None:
    written = rewrite("```tool write c1\n- a\n```\n", "auto", "chat-blocks")
    assert written.text == "```tool write c1\n- a\n```\n"
    assert written.kept_as_text == ("tool-fence.yaml",)
