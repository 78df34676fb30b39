"""Law 4: prose waits less than one marker, or one opening where that decides."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from callblocks import Parser, ToolSpec, dialects
from callblocks.core.events import CallReady, CallStarted, Event, Malformed, Text
from support.corpus import Case, all_cases
from support.example_counts import try_each
from support.soup import soup
from support.text_pieces import NAMES, cut
from support.waiting_rules import may_wait

CALL = '{"name": "ls", "arguments": {"a": 1}}'
EXAMPLES = max(60, settings().max_examples)
PROSE = st.text(st.characters(exclude_characters="\n<&[{✂🐱🔧🛠`~ \t\r\ud83d\ud83c\u2702ðÓï‚ô√"))


def still_in_call(in_call: bool, events: list[Event]) -> bool:
    for event in events:
        if isinstance(event, CallStarted):
            in_call = True
        elif isinstance(event, CallReady | Malformed):
            in_call = False
    return in_call


@pytest.mark.parametrize("dialect", NAMES)
def test_what_waits_could_still_open_or_close_a_block(dialect: str) -> None:
    def check(case: tuple[str, range | list[int]]) -> None:
        text, places = case
        parser, fed, said, in_call = Parser(dialect), "", 0, False
        for piece in cut(text, [at for at in places if at < len(text)]):
            events, fed = parser.feed(piece), fed + piece
            said = events[-1].span[1] if events else said
            in_call = still_in_call(in_call, events)
            assert may_wait(dialect, fed, said, in_call=in_call), f"{fed[said:]!r} waits"

    places = st.just(range(100)) | st.lists(st.integers(0, 80), max_size=4)
    try_each(dialect, EXAMPLES, st.tuples(soup(dialect), places), check)


@pytest.mark.parametrize("dialect", NAMES)
def test_prose_without_the_start_of_a_marker_is_said_at_once(dialect: str) -> None:
    def check(prose: str) -> None:
        parser = Parser(dialect)
        said = "".join(getattr(event, "text", "") for event in parser.feed(f"x{prose}"))
        assert f"x{prose}".startswith(said)
        waiting = f"x{prose}"[len(said) :]
        assert may_wait(dialect, f"x{prose}", len(said), in_call=False)
        assert len(waiting) < 20

    try_each(dialect, EXAMPLES // 2, PROSE, check)


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


@pytest.mark.parametrize(
    "case",
    [case for case in all_cases() if case.title.startswith("what is said about")],
    ids=lambda case: case.dialect,
)
def test_prose_about_a_head_is_said_before_the_text_is_over(case: Case) -> None:
    parser = Parser(case.dialect)
    said = [event for piece in case.text for event in parser.feed(piece)]
    assert "".join(getattr(event, "text", "") for event in said) == case.text


@pytest.mark.parametrize(
    ("body", "held"),
    [
        ("import os\n", "import"),
        ("def ls(a):\n", "def"),
        ("print(ls())\n", "print"),
        ("# ls(a=1)\n", ""),
        ("$ ls\n", ""),
        ('{"a": 1}\n', '{"a": '),
        ('{"name": "other", "arguments": {}}\n', '{"name": "other'),
        ('[{"name": "other"}]\n', '[{"name": "other"}'),
        ("[1, 2]\n", "["),
        ("ls(a=1)\nfor x in y:\n", "ls(a=1)\nfor"),
        ("ls(a=1).b\nx", "ls(a=1).b\n"),
        (
            '{"name": "ls", "arguments": {"a": "x"}}\nmore\n',
            '{"name": "ls", "arguments": {"a": "x"}}\n',
        ),
        ("<b>bold</b>\n", "<b"),
        ("Thought: hm\n", "Thought"),
    ],
)
def test_a_fence_waits_only_while_it_can_be_calls(body: str, held: str) -> None:
    tool = ToolSpec("ls", "", {"properties": {"a": {"type": "integer"}}})
    parser, fed, waiting = Parser(tools=[tool]), "", ""
    for piece in f"So:\n```py\n{body}":
        fed += piece
        if not any("\n" in event.text for event in parser.feed(piece) if isinstance(event, Text)):
            waiting = fed
        else:
            break
    assert waiting == f"So:\n```py\n{held}"
