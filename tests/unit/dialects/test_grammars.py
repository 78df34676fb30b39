"""A grammar lets a model write what `write` writes for its tools, and nothing broken."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from callblocks import Call, ToolSpec, dialects
from callblocks.core.errors import CallerError, Unsupported, Unwritable
from callblocks.parsing.grammar.grammar import Kind
from support.example_counts import try_each
from support.guidance import accepts
from support.soup import markers
from support.tools import TOOLS, calls

CONSTRAINING = [name for name in dialects if name != "chat-blocks"]
KINDS: tuple[Kind, ...] = ("gbnf", "lark")
# The one that is compiled into the other is tried with a part.
EXAMPLES = {"lark": 60, "gbnf": 20}
PROSE = st.text("abc .,\n`#🛠-[]", max_size=30)

FILE = Call(id="c1", name="create-file", input={"path": "a b.txt", "content": "one\n\ntwo: [2]\n"})
QUERY = Call(id="c2", name="run_query", input={"limit": 5, "exact": True})
NOW = Call(id="c3", name="now", input={})


@cache
def grammar(dialect: str, kind: Kind) -> str:
    return dialects[dialect].grammar(TOOLS, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", CONSTRAINING)
def test_a_grammar_is_the_same_each_time_and_accepts_a_call_of_each_tool(
    dialect: str, kind: Kind
) -> None:
    made = dialects[dialect].grammar(TOOLS, kind)
    assert made == grammar(dialect, kind)
    assert accepts(made, kind, dialects[dialect].write([FILE, QUERY, NOW], TOOLS))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", CONSTRAINING)
@pytest.mark.no_cover  # the one above makes each grammar and writes for it
def test_a_grammar_accepts_whatever_is_written_for_its_tools(dialect: str, kind: Kind) -> None:
    cases = st.lists(PROSE | calls(), max_size=4)
    try_each(dialect, EXAMPLES[kind], cases, partial(_assert_accepted, dialect, kind))


def _assert_accepted(dialect: str, kind: Kind, items: list[str | Call]) -> None:
    numbered = [
        Call(id=f"c{at}", name=item.name, input=item.input) if isinstance(item, Call) else item
        for at, item in enumerate(items)
    ]
    try:
        text = dialects[dialect].write(numbered, TOOLS)
    except Unwritable:
        assume(False)
        raise
    # A bare marker in prose is legal to read, but no model needs to write it.
    assume(not _has_bare_marker(dialect, numbered))
    assert accepts(grammar(dialect, kind), kind, text)


def _has_bare_marker(dialect: str, items: list[str | Call]) -> bool:
    prose = "\n".join(item for item in items if isinstance(item, str))
    marker = {"tool-fence": "```tool"}.get(dialect, "🛠[")
    return dialect != "scissors-cat" and marker in prose.replace("\ufe0f", "")


BROKEN = {
    "emoji-bracket": [
        ("🛠️[/end]", ""),
        ("🛠️[/end]", "🛠️[/edn]"),
        ("[create-file", "[delete-file"),
        ("run_query 5", "run_query five"),
        ("run_query 5", "run_query"),
        ("]\n", "\n"),
    ],
    "scissors-cat": [
        ("✂️🐱", ""),
        ("✂️🐱", "✂️"),
        ('"type": "create-file"', '"type": "delete-file"'),
        ('"limit": 5', '"limit": "5"'),
        ('"limit": 5', '"most": 5'),
        ('"path"', '"place"'),
        ('"operation"', '"purpose"'),
        ("}\n]", "}\n"),
        ("[\n", "\n"),
    ],
    "qwen3_coder": [
        ("</tool_call>", ""),
        ("</function>", ""),
        ("</parameter>", "</param>"),
        ("<function=create-file>", "<function=delete-file>"),
        ("<parameter=limit>\n5", "<parameter=limit>\nfive"),
        ("<parameter=limit>", "<parameter=most>"),
    ],
    "kimi_k3": [
        ("<|close|>tools<|sep|>", ""),
        ('type="number"<|sep|>5', 'type="string"<|sep|>5'),
        ('tool="create-file"', 'tool="delete-file"'),
    ],
    "mistral_old": [('"id": "', '"id": "x')],
    "cline": [
        ("</create-file>", ""),
        ("<limit>5</limit>", "<limit>five</limit>"),
        ("<path>", "<place>"),
    ],
    "tool-fence": [
        ("tool create-file", "tool delete-file"),
        ("limit: 5", "limit: five"),
        ("limit: 5", "most: 5"),
        ("path:", "place:"),
        ("input:", "inputs:"),
        ("    two", "two"),
    ],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dialect", "good", "bad"),
    [(dialect, good, bad) for dialect, cases in BROKEN.items() for good, bad in cases],
)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_grammar_refuses_a_broken_call(dialect: str, good: str, bad: str, kind: Kind) -> None:
    text = dialects[dialect].write(["Now.\n", FILE, QUERY, NOW], TOOLS)
    assert good in text
    assert accepts(grammar(dialect, kind), kind, text)
    assert not accepts(grammar(dialect, kind), kind, bad.join(text.rsplit(good, 1)))


# What begins a call where that is no literal marker.
BEGUN = {
    "tool-fence": ("```tool",),
    "llama3_json": ('{"',),
    "xlam": ("[{",),
    "sarashina": ("<|tool_calls|>", "[{"),
    "inkling": ("<|content_invoke_tool_json|>",),
    "gptme": ("\n@",),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", CONSTRAINING)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_grammar_refuses_a_text_that_stops_inside_a_call(dialect: str, kind: Kind) -> None:
    text = dialects[dialect].write([FILE], TOOLS)
    inside = {"scissors-cat": len(text) - 8}.get(dialect, len(text) - 2)
    for end in range(3, inside, 5):
        stopped = text[:end]
        is_prose = not _is_open(dialect, stopped)
        assert is_prose or not accepts(grammar(dialect, kind), kind, stopped), stopped


def _is_open(dialect: str, text: str) -> bool:
    """Whether a block has surely begun; what is less than that is prose."""
    begun = ("[",) if dialect == "scissors-cat" else BEGUN.get(dialect) or markers(dialect)
    return any(marker in text for marker in begun)


@pytest.mark.parametrize("kind", KINDS)
def test_emoji_bracket_plus_also_lets_a_model_write_whole_calls(kind: Kind) -> None:
    assert accepts(grammar("emoji-bracket+", kind), kind, "Now 🛠️[run_query 5 /] and 🛠️[now /].")
    assert not accepts(grammar("emoji-bracket", kind), kind, "Now 🛠️[run_query 5 /] and more.")


def test_an_unknown_kind_of_grammar_names_the_choices() -> None:
    with pytest.raises(CallerError, match="gbnf"):
        dialects["emoji-bracket"].grammar(TOOLS, "ebnf")  # pyright: ignore[reportArgumentType] the point


def test_a_display_has_no_grammar_and_no_prompt() -> None:
    with pytest.raises(Unsupported, match="chat-blocks"):
        dialects["chat-blocks"].grammar(TOOLS, "gbnf")
    with pytest.raises(Unsupported, match="chat-blocks"):
        dialects["chat-blocks"].teach(TOOLS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("tool-fence", "~~~tool rm\n~~~\n"),
        ("tool-fence", "``` tool rm\n```\n"),
        ("tool-fence", "```Tool rm\n```\n"),
        ("tool-fence", "```tool run_query\n```\n"),
        ("tool-fence", "```tool create-file\ninput:\n  path: true\n  content: x\n```\n"),
        ("tool-fence", "```tool create-file\ninput:\n  path: a: b\n  content: x\n```\n"),
        ("tool-fence", "```tool now\ntoolCallId: [\n```\n"),
        ("emoji-bracket", "🛠️[create-file]\n🛠️[/end]"),
        ("emoji-bracket", "🛠️[now]\nx🛠️[/end]"),
        ("emoji-bracket", "🛠️[run_query 1 true x]\n[]🛠️[/end]"),
        (
            "scissors-cat",
            '[{"type": "now", "id": "1", "operation": "", "parameters": {}, '
            '"priority": "y"}]\n\n✂️🐱\n\n',
        ),
    ],
)
def test_a_grammar_refuses_what_would_be_read_as_something_else(
    dialect: str, text: str, kind: Kind
) -> None:
    assert not accepts(grammar(dialect, kind), kind, text)


@pytest.mark.parametrize("kind", KINDS)
def test_words_that_begin_like_a_boolean_are_words(kind: Kind) -> None:
    for path in ("truely", "nullable", "t", "no.txt", "On time", "offset#1"):
        call = Call(id="c1", name="create-file", input={"path": path, "content": "x"})
        text = dialects["tool-fence"].write([call], TOOLS)
        assert f"path: {path}\n" in text
        assert accepts(grammar("tool-fence", kind), kind, text)


ROWS = ToolSpec(
    "write-rows",
    "Write rows.",
    {
        "type": "object",
        "properties": {"at": {"type": "string"}, "rows": {"type": "array", "items": {}}},
        "required": ["at", "rows"],
    },
    body="rows",
)
END = "🛠️[/end]"
INSIDE = st.text('ab"\\/[]\n🛠\ufe0f', max_size=6) | st.sampled_from([END, f"{END}{END}", "🛠[/en"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | INSIDE,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(INSIDE, inner, max_size=2),
    max_leaves=5,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", ["emoji-bracket", "emoji-bracket+"])
@given(rows=st.lists(VALUES, max_size=3))
@settings(max_examples=60, deadline=None)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_body_of_json_is_written_as_its_grammar_says(
    dialect: str, kind: Kind, rows: list[Any]
) -> None:
    call = Call(id="c1", name="write-rows", input={"at": "A1", "rows": rows})
    text = dialects[dialect].write([call], [ROWS])
    assert accepts(rows_grammar(dialect, kind), kind, text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", [f'["{END}"]', '["🛠[/end]"]', f'[{{"{END}": 1}}]', "rows", ""])
def test_a_body_of_json_holds_no_end_in_its_strings(body: str, kind: Kind) -> None:
    text = f"🛠️[write-rows A1]\n{body}\n{END}"
    assert not accepts(rows_grammar("emoji-bracket", kind), kind, text)
    escaped = text.replace("[/end]", "[\\/end]").removesuffix("🛠️[\\/end]") + END
    is_json = body.startswith("[")
    assert accepts(rows_grammar("emoji-bracket", kind), kind, escaped) == is_json


@cache
def rows_grammar(dialect: str, kind: Kind) -> str:
    return dialects[dialect].grammar([ROWS], kind)
