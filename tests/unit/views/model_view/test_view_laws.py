"""What holds for the view of every timeline."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from callblocks import dialects, parse
from callblocks.core.blocks import Entry, Part, TextPart, text_of
from callblocks.core.events import CallStarted, Reasoning
from callblocks.timeline.timeline import Tokens
from callblocks.timeline.timeline_state import CacheSettings
from callblocks.views.model_view.neutral import neutralize
from callblocks.views.model_view.view import ModelView, render
from support.random_timelines import SETTINGS, entries
from support.transcripts import cut, places

BUDGETS = st.none() | st.integers(1, 2000)


def bare(parts: list[Part]) -> list[Part]:
    return [structs.replace(part, cache=False) for part in parts]


def prefix(view: ModelView) -> list[Part]:
    """What stands up to the cache point."""
    parts = view.parts()
    marked = [at for at, part in enumerate(parts) if part.cache]
    return bare(parts[: marked[0] + 1]) if view.cache_point else []


@given(entries(), SETTINGS, BUDGETS)
def test_what_stands_up_to_the_cache_point_never_changes(
    timeline: list[Entry], cache: CacheSettings, budget: int | None
) -> None:
    view = ModelView(cache, budget=budget)
    frozen: list[Part] = []
    point = generation = 0
    for entry in timeline:
        view.feed([entry])
        if view.generation == generation:
            assert bare(view.parts())[: len(frozen)] == frozen
            assert view.cache_point >= point
        frozen, point, generation = prefix(view), view.cache_point, view.generation


@given(entries(), SETTINGS, BUDGETS, places)
def test_entries_may_come_in_any_portions(
    timeline: list[Entry], cache: CacheSettings, budget: int | None, where: list[int]
) -> None:
    view, numbers = ModelView(cache, budget=budget), "".join(map(chr, range(len(timeline))))
    seen = 0
    for portion in cut(numbers, where):
        seen += len(portion)
        view.feed(timeline[seen - len(portion) : seen])
        assert view.parts() == render(timeline[:seen], cache, budget=budget)
    assert seen == len(timeline)


@given(entries(), BUDGETS, st.sampled_from(list(dialects)))
def test_no_reader_finds_anything_in_a_view(
    timeline: list[Entry], budget: int | None, dialect: str
) -> None:
    text = text_of(render(timeline, budget=budget))
    for reader in (dialect, "auto", list(dialects)):
        for fenced in (True, False):
            events = parse(text, reader, in_code_fences=fenced).events
            started = [one for one in events if isinstance(one, CallStarted | Reasoning)]
            assert not started, (reader, events)


@given(entries(), SETTINGS, BUDGETS)
def test_hosting_is_never_shown(
    timeline: list[Entry], cache: CacheSettings, budget: int | None
) -> None:
    text = text_of(render(timeline, cache, budget=budget))
    assert "HOSTED" not in text
    assert "managed" not in text


@given(entries(max_steps=40, long=True), st.integers(400, 3000))
def test_a_view_keeps_to_its_budget_at_any_time(timeline: list[Entry], budget: int) -> None:
    view, tokens = ModelView(budget=budget), Tokens()
    for entry in timeline:
        view.feed([entry])
        parts = view.parts()
        text = sum(tokens.text(part.text) for part in parts if isinstance(part, TextPart))
        others = [part for part in parts if not isinstance(part, TextPart)]
        cost = text + sum(tokens.binary(len(part.base64) * 3 // 4, part.mime) for part in others)
        assert cost <= view.cost <= budget


@given(entries(max_steps=40, long=True), st.integers(100, 2000))
def test_no_text_is_cut(timeline: list[Entry], budget: int) -> None:
    shown = text_of(render(timeline, budget=budget))
    for entry in timeline:
        text = entry.block.text or ""
        if entry.block.type == "assistant.completion" and len(text) > 100:
            whole = f"[AI Agent answer]: {neutralize(text, fresh=False)}\n"
            assert whole in shown or f"[AI Agent answer]: {text[:50]}" not in shown


@given(entries(max_steps=40, long=True), st.integers(400, 2000))
def test_folding_is_rare(timeline: list[Entry], budget: int) -> None:
    view, whole = ModelView(budget=budget), ModelView(budget=10**9)
    view.feed(timeline)
    whole.feed(timeline)
    # Each folding frees half of the budget, unless what is newest alone is larger than that.
    assert view.generation <= max(0, 4 * whole.cost // budget)


@given(entries(), SETTINGS)
def test_the_last_part_is_marked_and_one_at_the_cache_point(
    timeline: list[Entry], cache: CacheSettings
) -> None:
    view = ModelView(cache)
    view.feed(timeline)
    parts = view.parts()
    marked = [at for at, part in enumerate(parts) if part.cache]
    assert marked[-1] == len(parts) - 1
    assert len(marked) == (2 if view.cache_point else 1)
