"""Laws of the gateway's deltas: they grow, are JSON at any time, and are the input in the end.

A delta is never taken back, so the laws hold for each dialect over its corpus, with the tools of
the case, with tools inferred from the calls in it, and with tools whose schemas are wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jiter
import pytest
from hypothesis import strategies as st

from callblocks import Call, ToolSpec, dialects
from callblocks.core.json_values import plain, same
from callblocks.gateway.arguments import ArgumentDeltas
from callblocks.gateway.arguments.reader import Reader
from support.argument_deltas import Sent, inferred_tools, replayed, sent
from support.corpus import cases_of, naming, options
from support.example_counts import try_each
from support.sampling import sample
from support.soup import soup
from support.text_pieces import NAMES, cut

LONGEST = 3000
TOOLS = (
    ToolSpec("ls", "", {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}),
    ToolSpec("nothing", "", {}),
)
WRITE = ToolSpec(
    "write",
    "",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
)
CONTENT = "".join(f'{number} of "text" \\ <b> & [it\'s] {{x}}: ü\n' for number in range(2500))
# The parser itself gives the input of these at the end of the call only.
AT_THE_END = {"scissors-cat", "smolagents_code"}
TAUGHT = [name for name, dialect in dialects.items() if dialect.rules and name not in AT_THE_END]


def is_begun_json(text: str) -> bool:
    """Whether a client that reads JSON while it arrives takes this."""
    try:
        jiter.from_json(text.encode(), partial_mode=True)
    except ValueError:
        return not text
    return True


def readings(dialect: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The texts of a dialect's corpus, each with several sets of tools."""
    for case in cases_of(dialect):
        text = case.text
        given = {"dialect": dialect, **options(case)}
        if len(text) > LONGEST:
            continue
        with naming(case):
            yield text, given
            calls = sent([text], **given)
            for wrong in (False, True):
                yield text, {**given, "tools": inferred_tools(calls, wrong=wrong)}


def check(call: Sent) -> None:
    """Check what was sent of one call."""
    text = ""
    for delta in filter(None, call.deltas):
        text += delta
        assert is_begun_json(text), text
    if call.given is not None:
        assert call.agrees
        assert same(json.loads(text), plain(call.given)), (text, call.given)


@pytest.mark.parametrize("dialect", dialects)
def test_deltas_are_begun_json_at_any_time_and_the_input_in_the_end(dialect: str) -> None:
    for text, given in sample([*readings(dialect)], of=2, seed=dialect):
        whole, chars = sent([text], **given), sent(list(text), **given)
        for call in (*whole, *chars):
            check(call)
        assert [call.text for call in whole] == [call.text for call in chars]


@pytest.mark.parametrize("dialect", dialects)
def test_no_cut_of_the_raw_input_changes_the_joined_deltas(dialect: str) -> None:
    for number, (text, given) in enumerate(readings(dialect)):
        for call in sent([text], **given):
            raw = "".join(call.raw)
            for place in sample(range(1, min(len(raw), 300)), of=4, seed=number):
                assert replayed(call, [raw[:place], raw[place:]]) == call.text, raw[:place]


@pytest.mark.parametrize("dialect", NAMES)
def test_no_text_raises_and_what_agrees_is_the_input(dialect: str) -> None:
    def check_soup(case: tuple[str, bool, list[int]]) -> None:
        text, has_tools, places = case
        pieces = cut(text, [place for place in places if place < len(text)])
        tools = TOOLS if has_tools else ()
        for call in sent(pieces, dialect=dialect, tools=tools):
            assert is_begun_json(call.text)
            if call.given is not None and call.agrees:
                assert same(json.loads(call.text), plain(call.given))

    places = st.lists(st.integers(0, 80), max_size=8)
    try_each(dialect, 60, st.tuples(soup(dialect), st.booleans(), places), check_soup)


@pytest.mark.parametrize("dialect", TAUGHT)
def test_a_long_string_streams(dialect: str) -> None:
    text = dialects[dialect].write(
        [Call(id="c1", name="write", input={"path": "a.txt", "content": CONTENT})], [WRITE]
    )
    begun = text[: len(text) // 2]
    (call,) = sent(
        cut(begun, range(4, len(begun), 4)), closes=False, dialect=dialect, tools=[WRITE]
    )
    assert call.given is None
    value: Any = jiter.from_json(call.text.encode(), partial_mode="trailing-strings")
    assert value["path"] == "a.txt"
    assert CONTENT.startswith(value["content"])
    assert len(value["content"]) > 0.4 * len(CONTENT)


# What a call begins with, what is repeated, by dialect.
LONG = {
    "hermes": (
        ('{"b": "', "x"),
        ('{"b": "', "\\n"),
        ('{"b": ', " "),
        ('{"b": ', "["),
        ('{"', "k"),
        ('{"b": "x"', " "),
        ('{"b": 1', "1"),
    ),
    "qwen3_coder": (
        ("<parameter=b>", "x"),
        ("<parameter=b>", "</parameter>"),
        ("<parameter=b>", "\n"),
        ("<parameter=b>", "<"),
        ("<parameter=a>", " 1"),
        ("<parameter=b>\nx\n</parameter>", "\n"),
    ),
    "glm45": (("<arg_key>c</arg_key><arg_value>", " "), ("<arg_key>c</arg_key><arg_value>", "[")),
    "minicpm5_xml": (('<param name="b">', " "), ('<param name="b">', "<![CDATA[")),
    "morph_xml": (("<b>", "&"), ("<b>", "</b>"), ("<b>", "<![CDATA["), ("<a>", "1 "), ("", "\n")),
    "minimax_m3": (("]<]minimax[>[<b>", "]<]"), ("]<]minimax[>[<b>", "]<]minimax[>[")),
    "pythonic": (
        ("(b='", "\\"),
        ("(b='", "x"),
        ("(a=[", "'"),
        ("(a=", "["),
        ("(", " "),
        ("(b", " "),
    ),
    "gemma4": (('{b:<|"|>', "}"), ('{b:<|"|>', "<|"), ("{a:[", '<|"|>'), ("{a", " ")),
    "tool-fence": (
        ("input:\n  b: |\n", "\n"),
        ("input:\n  b: |\n    ", "x"),
        ("input:\n  b: |\n    x", " "),
        ("input:\n  b: ", "x"),
        ("input:\n  b: ", "x\n    "),
        ('input:\n  b: "', "\\n"),
        ("input:\n  b:", " "),
    ),
    "emoji-bracket": (("x", "\U0001f6e0["), ("x", "[\\"), ("x", "\\\\"), ("", " ")),
}


@pytest.mark.parametrize("dialect", LONG)
@pytest.mark.parametrize("restores", [False, True])
def test_twice_the_input_is_twice_the_work(
    dialect: str, restores: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each feed may look at all that is in the buffer.
    feed, looked = Reader.feed, [0]

    def counted(reader: Reader, text: str) -> None:
        looked[0] += len(reader.buf) - reader.pos + len(text)
        feed(reader, text)

    monkeypatch.setattr(Reader, "feed", counted)

    def work(text: str) -> int:
        looked[0] = 0
        deltas = ArgumentDeltas(dialect, TOOLS[0], opening="\U0001f6e0[ls]", restores=restores)
        for char in text:
            deltas.feed(char)
        return looked[0]

    for first, repeated in LONG[dialect]:
        once, twice = (work(first + repeated * count) for count in (4000, 8000))
        assert twice <= 2.2 * once + 1000, (first, repeated)
