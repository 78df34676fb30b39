"""Law 6: what was written reads back as the same calls, results and prose, or is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from callblocks import Call, Result, ToolSpec, dialects
from callblocks.core.calls import Item
from callblocks.core.errors import Unwritable
from callblocks.core.json_values import same
from callblocks.core.specs import specs_by_name
from callblocks.parsing.dialect import Parsed
from support.event_verifier import verify
from support.example_counts import try_each
from support.items import TOOLS, bound_items, items
from support.text_pieces import read

EXAMPLES = max(50, settings().max_examples)
LEAST_WRITTEN = 0.3  # what is tried depends on what else is loaded


def told(dialect: str, row: Sequence[Item]) -> tuple[list[Any], list[Any]]:
    """Prose and calls in order, and outcomes by their call, as far as the dialect tells them."""
    keeps_ids = dialects[dialect].keeps_ids
    calls = [item for item in row if isinstance(item, Call)]
    places = {call.id: place for place, call in enumerate(calls)}
    order: list[Any] = []
    for item in row:
        if isinstance(item, Call):
            order.append([item.id if keeps_ids else None, item.name, item.input, item.extra])
        elif isinstance(item, str) and item:
            order += [order.pop() + item] if order and isinstance(order[-1], str) else [item]
    results = [[places[item.id], item] for item in row if isinstance(item, Result)]
    outcomes = [[place, result.output, result.error] for place, result in results]
    return order, sorted(outcomes, key=lambda outcome: outcome[0])


def expected(dialect: str, row: Sequence[Item], tools: Sequence[ToolSpec]) -> Sequence[Item]:
    """What should come back: a display says less than a call, and one dialect puts prose last."""
    known = specs_by_name(tools)
    said = [item if isinstance(item, str) else dialects[dialect].said(item, known) for item in row]
    if dialect == "scissors-cat":
        said.sort(key=lambda item: isinstance(item, str))
    return said


def write_then_read(dialect: str, row: Sequence[Item], tools: Sequence[ToolSpec]) -> bool:
    """Whether it was written; what was written must read back, also character by character."""
    try:
        text = dialects[dialect].write(row, tools)
    except Unwritable:
        return False
    for pieces in ([text], list(text)):
        events = read(dialect, pieces, tools=tools)
        verify(text, events)
        order, outcomes = told(dialect, Parsed(events).items)
        wanted, results = told(dialect, expected(dialect, row, tools))
        assert same(order, wanted), text
        assert same(outcomes, results), text
    return True


def check(dialect: str, cases: st.SearchStrategy[Any], written: Callable[[Any], bool]) -> None:
    """Run `written` on each case; many must have been written, or the law would be empty."""
    tally = Counter[bool]()

    def each(case: Any) -> None:
        tally[written(case)] += 1

    try_each(dialect, EXAMPLES, cases, each)
    assert tally[True] >= LEAST_WRITTEN * tally.total(), tally


@pytest.mark.parametrize("dialect", [name for name in dialects if not dialects[name].needs_tools])
def test_what_is_written_reads_back(dialect: str) -> None:
    tools = TOOLS if dialect == "scissors-cat" else ()
    check(dialect, items(dialect), lambda row: write_then_read(dialect, row, tools))


TYPED = [
    name for name, dialect in dialects.items() if dialect.values_are_text or dialect.needs_tools
]


@pytest.mark.parametrize("dialect", ["emoji-bracket", "emoji-bracket+", *TYPED])
def test_bound_parameters_read_back(dialect: str) -> None:
    check(
        dialect,
        bound_items(with_results=dialect not in TYPED),
        lambda case: write_then_read(dialect, *case),
    )
