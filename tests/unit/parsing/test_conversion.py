"""What a dialect cannot say is listed, and stays in the text: nothing is dropped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callblocks import Call, ToolSpec, conversion, convert, dialects, parse
from callblocks.core.calls import Item, Thought
from callblocks.core.errors import Unwritable
from callblocks.dialects.hermes import Hermes
from callblocks.parsing.conversion import Conversion, Unsaid
from support.soup import soup

DONE = "```tool search c1\ninput:\n  q: tides\noutput: two\n```\n"
OPEN = "A 🛠️[ls src]\n🛠️[/end] B 🛠️[save a.txt]\nhalf"
THOUGHT = "<think>\nThe plan.\n</think>\n\nHello!\n"
THINKERS = {one.reasoning[0]: name for name, one in dialects.items() if one.reasoning}
"""A dialect for each pair of markers that thoughts stand in."""
APART = "🛠️[a]🛠️[/end] then 🛠️[/result 1]\nout🛠️[/end] and 🛠️[x y]z"


def test_what_can_be_said_has_no_list() -> None:
    made = conversion("🛠️[ls src]\n🛠️[/end]", target="tool-fence")
    assert made.unsaid == ()
    assert made.text == convert("🛠️[ls src]\n🛠️[/end]", target="tool-fence")


def test_a_call_whose_result_cannot_be_said_stays_as_it_was_written() -> None:
    made = conversion(f"Look.\n{DONE}", target="scissors-cat")
    assert made.text is not None
    assert "output: two" in parse(made.text, "scissors-cat").text
    assert [(one.kind, one.span) for one in made.unsaid] == [("call", (5, 5 + len(DONE) + 1))]
    assert "results" in made.unsaid[0].what


def test_blanks_between_two_calls_may_become_what_parts_them_in_the_target() -> None:
    call = '<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>'
    made = conversion(f"Two.\n{call}\n{call}\nDone.", target="llama3_json")
    assert made.unsaid == ()
    assert made.text is not None
    read = parse(made.text, "llama3_json")
    assert ([call.name for call in read.calls], read.text) == (["ls", "ls"], "Two.\n\nDone.")


def test_prose_between_two_calls_is_never_dropped() -> None:
    call = '<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>'
    for between in (" and ", "\n;\n"):
        made = conversion(f"{call}{between}{call}", target="llama3_json")
        assert made.text is None or between in parse(made.text, "llama3_json").text


def test_a_call_that_did_not_end_is_listed_and_the_others_are_written() -> None:
    made = conversion(OPEN, target="tool-fence")
    assert made.text is not None
    assert [call.name for call in parse(made.text, "tool-fence").calls] == ["ls"]
    assert made.text.endswith("🛠️[save a.txt]\nhalf")
    (unsaid,) = made.unsaid
    assert unsaid == Unsaid(
        "the call 'tool-call-2' of 'save', which did not end", (OPEN.index(" B ") + 3, len(OPEN))
    )


def test_a_result_that_stands_apart_stays_where_its_call_does() -> None:
    made = conversion(APART, target="scissors-cat")
    assert made.text is not None
    assert "🛠️[/result 1]\nout🛠️[/end]" in made.text
    assert [one.span[0] for one in made.unsaid] == [0, APART.index("🛠️[/result"), APART.index("🛠️[x")]
    assert made.unsaid[1].what == "the result of 'tool-call-1', whose call it cannot write"


def test_an_id_that_has_no_place_is_listed_and_its_call_is_written() -> None:
    text = "```tool ls c1\ninput: {args: src, body: ''}\n```\n"
    made = conversion(text, target="emoji-bracket")
    assert [(one.kind, one.what) for one in made.unsaid] == [("id", "the id 'c1'")]
    assert made.text == convert(text, target="emoji-bracket")


KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.ls:7<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>"
)
OWN = {
    "kimi_k2": KIMI,
    "mistral_v11": "[TOOL_CALLS]ls[CALL_ID]abc123456[ARGS]{}[TOOL_CALLS]ls[ARGS]{}",
    "mistral_old": '[TOOL_CALLS][{"name": "ls", "arguments": {}, "id": "abc123456"}]',
}


@pytest.mark.parametrize("target", OWN)
def test_an_id_that_has_the_target_s_form_is_written(target: str) -> None:
    made = conversion(OWN[target], target=target)
    assert (made.text, made.unsaid) == (OWN[target], ())


@pytest.mark.parametrize("target", OWN)
def test_an_id_of_another_form_is_listed_and_the_one_for_it_is_always_the_same(target: str) -> None:
    text = "```tool ls a.1\n```\n"
    made = conversion(text, target=target)
    assert [(one.kind, one.what) for one in made.unsaid] == [("id", "the id 'a.1'")]
    assert made == conversion(text, target=target)


def test_kimi_s_calls_without_such_an_id_get_numbers_that_are_free() -> None:
    calls = [Call(id=id_, name="ls") for id_ in ("x", "functions.ls:0", "functions.ls:0", "y")]
    read = parse(dialects["kimi_k2"].write(calls), "kimi_k2")
    numbers = [call.id.removeprefix("functions.ls:") for call in read.calls]
    assert numbers == ["1", "0", "2", "3"]


@pytest.mark.parametrize("id_", ["tool-call-1", "functions.ls:7", "0123456789", "\ud83d"])
def test_mistral_writes_ids_of_nine_letters_and_digits(id_: str) -> None:
    (call,) = parse(dialects["mistral_old"].write([Call(id=id_, name="ls")])).calls
    assert re.fullmatch("[A-Za-z0-9]{9}", call.id)


def test_what_was_broken_before_is_listed_and_kept() -> None:
    made = conversion("```tool a\ninput: {\n```\n", target="emoji-bracket")
    assert [(one.kind, one.what) for one in made.unsaid] == [("broken", "tool-fence.yaml")]


def test_prose_that_would_be_a_call_leaves_no_text_at_all() -> None:
    made = conversion("```text\n🛠️[ls]🛠️[/end]\n```", target="emoji-bracket")
    assert made.text is None
    assert [(one.kind, one.span) for one in made.unsaid] == [("text", (0, 26))]


def test_a_thought_is_written_in_the_markers_of_the_target() -> None:
    made = conversion(THOUGHT, source="hermes", target="mistral_v11")
    assert made == Conversion("[THINK]\nThe plan.\n[/THINK]\n\nHello!\n")
    assert convert(THOUGHT, source="hermes", target="hermes") == THOUGHT


def test_a_thought_that_has_no_form_is_left_out_and_listed() -> None:
    made = conversion(THOUGHT, source="deepseek_r1", target="tool-fence")
    what = "the thought '\\nThe plan.\\n': it has no form for one"
    assert made == Conversion("\n\nHello!\n", (Unsaid(what, (0, 26), "thought"),))
    with pytest.raises(Unwritable, match="tool-fence cannot write the thought"):
        convert(THOUGHT, source="deepseek_r1", target="tool-fence")


def test_a_thought_that_would_end_early_is_left_out_and_the_others_are_written() -> None:
    text = "[THINK]a</think>b[/THINK]Yes.[THINK]c[/THINK]"
    made = conversion(text, source="mistral_v11", target="hermes")
    assert made.text == "Yes.<think>c</think>"
    assert [(one.kind, one.span) for one in made.unsaid] == [("thought", (0, 25))]


def test_a_thought_before_a_call_that_ended_it_is_closed() -> None:
    tools = [ToolSpec("now", "", {"type": "object"})]
    text = "<think>I look.<tool_call>\n<function=now>\n</function>\n</tool_call>"
    made = conversion(text, source="qwen3_coder", target="hermes", tools=tools)
    assert made.text is not None
    assert made.text.startswith("<think>I look.</think><tool_call>")


def test_an_empty_thought_says_nothing_that_could_be_missing() -> None:
    made = conversion("<think></think>Hello.", source="hermes", target="tool-fence")
    assert made == Conversion("Hello.")


@pytest.mark.parametrize("source", THINKERS.values())
def test_no_thought_becomes_prose_in_any_dialect(source: str) -> None:
    opening, closing = dialects[source].reasoning[0]
    text = f"{opening}The plan.{closing}Hello."
    assert (parse(text, source).reasoning, parse(text, source).text) == ("The plan.", "Hello.")
    for target in dialects:
        made = conversion(text, source=source, target=target)
        assert made.text is not None
        read = parse(made.text, target)
        assert read.text == "Hello."
        assert [read.reasoning, *(one.kind for one in made.unsaid)] in (
            ["The plan."],
            ["", "thought"],
        )


@settings(max_examples=20)
@given(soup("auto"), st.sampled_from(tuple(THINKERS.values())), st.sampled_from(tuple(dialects)))
def test_what_is_prose_afterwards_was_no_thought(text: str, source: str, target: str) -> None:
    plan = "⟪plan⟫"
    opening, closing = dialects[source].reasoning[0]
    thought = f"{opening}{plan}{closing}{text}"
    read = parse(thought, source)
    made = conversion(thought, source=source, target=target)
    if plan in read.reasoning and made.text is not None:
        assert plan not in parse(made.text, target).text


def test_converting_names_all_that_cannot_be_said() -> None:
    with pytest.raises(Unwritable) as caught:
        convert(OPEN + DONE, target="scissors-cat")
    assert caught.value.what.count("; ") == 1


@given(soup("auto"), st.sampled_from(tuple(dialects)), st.sampled_from(tuple(dialects)))
def test_every_call_is_written_or_listed(text: str, source: str, target: str) -> None:
    made = conversion(text, target=target, source=source)
    read = parse(text, source)
    if made.text is None:
        assert made.unsaid[-1].kind == "text"
        return
    listed = {one.span[0] for one in made.unsaid if one.kind == "call"}
    there = [call for call in read.calls if call.span[0] not in listed]
    written = parse(made.text, target)
    assert [call.name for call in written.calls] == [call.name for call in there]


def test_what_was_parsed_can_be_written_by_hand() -> None:
    parsed = parse(f"Hi. {OPEN}\n{DONE}", ["emoji-bracket", "tool-fence"])
    items = parse(f"<think>Hm.</think>Hi.\n{DONE}").items
    assert [type(item).__name__ for item in items] == ["Thought", "str", "Call", "Result"]
    assert dialects["hermes"].write([Thought("Hm."), "Hi."]) == "<think>Hm.</think>Hi."
    assert [call.name for call in parsed.calls] == ["ls", "save"]


def test_a_dialect_that_puts_prose_in_a_frame_puts_no_thought_in_it() -> None:
    class Framing(Hermes):
        name = "framing"

        def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
            return f"({super().compose(items, tools)})"

    with pytest.raises(Unwritable, match="it has no form for one"):
        Framing().write([Thought("hm")])
