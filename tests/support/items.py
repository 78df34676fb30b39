"""Items that a dialect should be able to write: prose, calls and results of any strings.

Most of them a dialect can say; some it cannot, and must refuse. The strings hold the markers of
every dialect, fences, emoji, line ends and half of anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from callblocks import Call, Result, ToolSpec, dialects
from callblocks.core.calls import Item
from callblocks.core.specs import CATALOGUE
from support.soup import COMMON, PARTS, texts

__all__ = ("TOOLS", "bound_items", "items")

SOUP = texts((*PARTS["auto"], *COMMON), max_size=6)
PLAIN = st.text(max_size=10)
STRINGS = PLAIN | SOUP
RARELY_SOUP = st.integers(0, 9).flatmap(lambda dice: SOUP if dice == 0 else PLAIN)
WORDS = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,8}", fullmatch=True)
NAMES = st.integers(0, 19).flatmap(lambda dice: STRINGS if dice == 0 else WORDS)
IDS = WORDS | WORDS | st.integers(-5, 50).map(str) | STRINGS.filter(str.strip)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | STRINGS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=6,
)
TEXTS = st.dictionaries(WORDS, STRINGS, max_size=3)
OBJECTS = st.dictionaries(WORDS | STRINGS, VALUES, max_size=3)
NOTHING: st.SearchStrategy[dict[str, Any]] = st.just({})
ONE_LINE = (PLAIN | SOUP).map(lambda text: text.translate(dict.fromkeys(map(ord, "]\n\r"))))

INPUTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "tool-fence": OBJECTS,
    "scissors-cat": OBJECTS,
    "chat-blocks": OBJECTS | st.fixed_dictionaries({"shown": STRINGS}),
    "emoji-bracket": st.fixed_dictionaries({"args": ONE_LINE, "body": STRINGS}),
}
EXTRAS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "tool-fence": NOTHING | st.dictionaries(WORDS, VALUES, max_size=2),
    "scissors-cat": st.fixed_dictionaries(
        {}, optional={"operation": STRINGS, "priority": NUMBERS, "note": VALUES}
    ),
    "chat-blocks": NOTHING,
    "emoji-bracket": NOTHING,
}
PROSE = {
    "tool-fence": RARELY_SOUP,
    "scissors-cat": STRINGS,
    "chat-blocks": STRINGS,
    "emoji-bracket": RARELY_SOUP,
}
IDS_ARE_WORDS = ("gptme",)
WITH_RESULTS = ("tool-fence", "chat-blocks", "emoji-bracket")
TOOLS = (
    ToolSpec("weigh", parameters={"properties": {"what": {"type": "string"}}}),
    ToolSpec("café au lait", parameters={"properties": {"b": {}, "a": {}}}),
)
OUTCOMES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"output": VALUES}
) | st.fixed_dictionaries({"error": STRINGS})


@st.composite
def items(draw: st.DrawFn, dialect: str) -> list[Item]:
    """Prose, calls and results in the order of a text."""
    kind = dialect.removesuffix("+")
    names = st.sampled_from((*CATALOGUE, *(tool.name for tool in TOOLS)))
    calls = st.builds(
        lambda name, value, extra: Call(id="", name=name, input=value, extra=extra),
        names if kind == "scissors-cat" else NAMES,
        INPUTS.get(kind, TEXTS if dialects[dialect].values_are_text else OBJECTS),
        EXTRAS.get(kind, NOTHING),
    )
    ids = WORDS if kind in IDS_ARE_WORDS else IDS
    prose = PROSE.get(kind, RARELY_SOUP)
    return draw(_row(calls, prose, ids, with_results=kind in WITH_RESULTS))


@st.composite
def bound_items(
    draw: st.DrawFn, *, with_results: bool = True
) -> tuple[list[Item], Sequence[ToolSpec]]:
    """Calls of tools whose parameters have an order, as positional arguments need it."""
    tools = [draw(_tools(f"tool-{number}")) for number in range(draw(st.integers(1, 2)))]
    calls = st.sampled_from(tools).flatmap(_calls_of)
    return draw(_row(calls, PLAIN, with_results=with_results)), tools


@st.composite
def _row(
    draw: st.DrawFn,
    calls: st.SearchStrategy[Call],
    prose: st.SearchStrategy[str],
    ids: st.SearchStrategy[str] = IDS,
    *,
    with_results: bool,
) -> list[Item]:
    row: list[Item] = [draw(prose)]
    for id_ in draw(st.lists(ids, max_size=3, unique=True)):
        call = draw(calls)
        row += [Call(id=id_, name=call.name, input=call.input, extra=call.extra), draw(prose)]
        if with_results and draw(st.booleans()):
            row.append(Result(id=id_, **draw(OUTCOMES)))
    return row


# Text that looks like a parameter given by its name.
NAMED = st.builds("p{}={}".format, st.integers(0, 4), STRINGS)
TYPES: dict[str, st.SearchStrategy[Any]] = {
    "string": STRINGS | STRINGS | NAMED,
    "integer": st.integers(),
    "number": NUMBERS,
    "boolean": st.booleans(),
    "array": st.lists(VALUES, max_size=2),
    "object": OBJECTS,
}


# Lines of text, and JSON.
BODIES: tuple[dict[str, Any], ...] = (
    {"type": "array", "items": {"type": "string"}},
    {"type": "array"},
    {"type": "array", "items": {"type": "array"}},
    {"type": "object"},
)


@st.composite
def _tools(draw: st.DrawFn, name: str) -> ToolSpec:
    kinds = draw(st.lists(st.sampled_from(list(TYPES)), max_size=4))
    properties = {f"p{at}": {"type": kind} for at, kind in enumerate(kinds)}
    strings = [key for key, schema in properties.items() if schema["type"] == "string"]
    body = draw(st.none() | st.sampled_from(strings)) if strings else None
    if body is None and draw(st.integers(0, 3)) == 0:
        body = "body"
        properties = {**properties, body: draw(st.sampled_from(BODIES))}
    return ToolSpec(name, parameters={"properties": properties}, body=body)


@st.composite
def _calls_of(draw: st.DrawFn, tool: ToolSpec) -> Call:
    positional = [name for name in tool.properties if name != tool.body]
    given = positional[: draw(st.integers(0, len(positional)))]
    if draw(st.integers(0, 3)) == 0:
        given = [name for name in given if draw(st.booleans())]
    given += [tool.body] if tool.body and draw(st.booleans()) else []
    value = {name: draw(_values(tool, name)) for name in given}
    return Call(id="", name=tool.name, input=value)


def _values(tool: ToolSpec, name: str) -> st.SearchStrategy[Any]:
    is_lines = name == tool.body and tool.body_is_lines
    return st.lists(STRINGS, max_size=3) if is_lines else TYPES[tool.properties[name]["type"]]
