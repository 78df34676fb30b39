"""Three tools, and random calls of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from callblocks import Call, ToolSpec

__all__ = ("TOOLS", "calls")

TOOLS = (
    ToolSpec(
        "create-file",
        "Create a file.",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "where"},
                "mode": {"type": "string", "enum": ["new", "append"]},
                "content": {"type": "string"},
            },
            "required": ["path", "content"],
        },
        body="content",
    ),
    ToolSpec(
        "run_query",
        "Ask the database.",
        {
            "type": "object",
            "properties": {
                "limit": {"type": "integer"},
                "exact": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["limit"],
        },
    ),
    ToolSpec("now", "Tell the time."),
)

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="]\n"), max_size=20)
CONTENT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def calls() -> st.SearchStrategy[Call]:
    """Calls with inputs that fit their tool."""
    given: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "create-file": {
            "path": WORDS,
            "mode": st.sampled_from(["new", "append"]),
            "content": CONTENT,
        },
        "run_query": {
            "limit": st.integers(-10, 10**6),
            "exact": st.booleans(),
            "tags": st.lists(WORDS, max_size=3),
        },
        "now": {},
    }
    required = {tool.name: tool.required for tool in TOOLS}

    def of(name: str) -> st.SearchStrategy[Call]:
        must = {key: value for key, value in given[name].items() if key in required[name]}
        may = {key: value for key, value in given[name].items() if key not in required[name]}
        inputs = st.fixed_dictionaries(must, optional=may)
        return st.builds(Call, id=st.just("c1"), name=st.just(name), input=inputs)

    made = {name: of(name) for name in sorted(given)}
    return st.sampled_from(list(made)).flatmap(made.__getitem__)
