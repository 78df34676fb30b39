"""The tag of `use_tool` is what the prompt says it is."""

from __future__ import annotations

from callblocks import Call, ToolSpec, dialects, parse
from callblocks.dialects.use_tool import UseTool

CALL = Call(id="tool-call-1", name="look", input={"at": "<use_tool> & all"})
TOOL = ToolSpec("look", "", {"type": "object", "properties": {"at": {"type": "string"}}})


def act() -> UseTool:
    class Act(UseTool):
        name = "act"
        tag = "act"

    return Act()


def test_a_subclass_with_its_own_tag_reads_writes_and_teaches_it() -> None:
    text = act().write(["I look.\n", CALL], [TOOL])
    assert text == "I look.\n<act>\n<name>look</name>\n<at><use_tool> & all</at>\n</act>"
    assert [call.input for call in parse(text, act(), tools=[TOOL]).calls] == [CALL.input]
    assert "A call is a `<act>`." in act().teach([TOOL])


def test_the_usual_tag_stays_what_it_was() -> None:
    text = dialects["use_tool"].write([CALL], [TOOL])
    assert text.startswith("<use_tool>\n<name>look</name>")
    assert parse(text, act(), tools=[TOOL]).text == text
