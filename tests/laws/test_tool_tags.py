"""Where it is not known who wrote a text, a tool's tag is a call only if all speaks for it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from callblocks import Parser, ToolSpec
from callblocks.core.events import CallReady, Event, join
from callblocks.parser import AUTO
from support.event_verifier import verify
from support.text_pieces import alike

KEYS = {"query": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}}
TOOLS = (
    ToolSpec("search", parameters={"type": "object", "properties": KEYS, "required": ["query"]}),
    ToolSpec("ping", parameters={"type": "object", "properties": {}}),
)
PARTS = (
    *(
        "<search>",
        "</search>",
        "<query>",
        "</query>",
        "<days>",
        "</days>",
        "<b>",
        "</b>",
        "<search",
    ),
    *("<ping>", "</ping>", "<ping/>", "\n", "\n", "\r\n", " ", "x", "query: a\n", "note: b\n", "{"),
    *("<tool_call>", "</tool_call>", "<function=search>", "<parameter=query>", "</parameter>"),
    *("<search>\n<query>a</query>\n</search>", "<search>\nquery: a\n</search>", "<item>1</item>"),
)
TEXTS = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)
GUESSED = ("cline", "yaml_xml")


def read(pieces: list[str]) -> list[Event]:
    """What `auto` says of the pieces, with the tools."""
    parser = Parser(AUTO, tools=TOOLS)
    return [event for piece in pieces for event in parser.feed(piece)] + parser.close()


@settings(max_examples=200)
@given(TEXTS, st.integers(0, 60))
def test_a_tool_s_tag_is_a_call_only_whole_and_with_what_the_tool_needs(text: str, at: int) -> None:
    events = join(read([text]))
    verify(text, events, ())
    assert alike(read(list(text)), events)
    assert alike(read([text[:at], text[at:]]), events)
    calls = [event.call for event in events if isinstance(event, CallReady)]
    for call in (call for call in calls if call.dialect in GUESSED):
        assert call.ended
        assert call.name == "ping" or "query" in call.input
