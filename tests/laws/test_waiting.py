"""Law 4: prose waits less than one marker, or one opening where that decides."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callblocks import Parser, dialects
from callblocks.model.events import CallReady, CallStarted, Event, Malformed
from support.reading import NAMES, cut
from support.soup import soup
from support.waiting import may_wait

EXAMPLES = max(60, settings().max_examples)


def still_in_call(in_call: bool, events: list[Event]) -> bool:
    for event in events:
        if isinstance(event, CallStarted):
            in_call = True
        elif isinstance(event, CallReady | Malformed):
            in_call = False
    return in_call


@pytest.mark.parametrize("dialect", NAMES)
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_what_waits_could_still_open_or_close_a_block(dialect: str, data: st.DataObject) -> None:
    text = data.draw(soup(dialect))
    places = data.draw(st.just(range(len(text))) | st.lists(st.integers(0, len(text)), max_size=4))
    parser, fed, said, in_call = Parser(dialect), "", 0, False
    for piece in cut(text, places):
        events, fed = parser.feed(piece), fed + piece
        said, in_call = (events[-1].span[1] if events else said), still_in_call(in_call, events)
        assert may_wait(dialect, fed, said, in_call=in_call), f"{fed[said:]!r} waits"


@pytest.mark.parametrize("dialect", NAMES)
@given(st.text(st.characters(exclude_characters="\n<&[{✂🐱🔧🛠`~ \t\r\ud83d\ud83c\u2702ðÓï‚ô√")))
def test_prose_without_the_start_of_a_marker_is_said_at_once(dialect: str, prose: str) -> None:
    parser = Parser(dialect)
    said = "".join(getattr(event, "text", "") for event in parser.feed(f"x{prose}"))
    assert f"x{prose}".startswith(said)
    waiting = f"x{prose}"[len(said) :]
    assert may_wait(dialect, f"x{prose}", len(said), in_call=False)
    assert len(waiting) < 20


@pytest.mark.parametrize(
    ("dialect", "waiting"),
    [
        *((name, "prose") for name in dialects),
        *((name, "\nprose") for name in dialects),
        ("tool-fence", "\n```tool search\n"),
        ("tool-fence", "\n```python\n"),
        ("tool-fence", "\n```tool\n```\n"),
        ("scissors-cat", "\n[x"),
        ("scissors-cat", "\n[1] x"),
        ("scissors-cat", "\n✂️🐱"),
        ("chat-blocks", "<tool>ls(\n<b"),
        ("chat-blocks", "<tool>is a tag\n"),
        ("chat-blocks", '<tool id="a"b'),
        ("chat-blocks", "🔧 **Tool Call:** `ls()`\n✅ **`l`s"),
        ("chat-blocks", "<tool>ls()</tool>"),
        ("chat-blocks", "&amp;x"),
        ("chat-blocks", "🔧 **Tool Call:** `ls()`\nx"),
        ("emoji-bracket", "🛠️[ls\n"),
        ("emoji-bracket", "🛠️[ls]"),
        ("emoji-bracket", "🛠️[/result 1]x🛠️[/end]"),
        ("auto", "prose"),
    ],
)
def test_text_that_was_decided_has_no_reason_to_wait(dialect: str, waiting: str) -> None:
    assert not may_wait(dialect, f"prose{waiting}", len("prose"), in_call=False)
