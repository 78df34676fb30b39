"""The state of a timeline, folded from its entries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.blocks import Block, Entry
from callblocks.timeline.timeline import CacheSettings, State
from support.entries import TS, call_block, numbered, prompt, result_block, round_of, stamp

A, B = "fi:turn_1.files/a.md", "fi:turn_1.files/b.md"
FEW = CacheSettings(cache_point_min_rounds=1, cache_point_offset_rounds=1)


def fed(blocks: list[Block], settings: CacheSettings | None = None) -> State:
    state = State(settings)
    state.feed(numbered(blocks))
    return state


def hidden(path: str, call: str = "h", text: str = "[hidden]", **meta: Any) -> Block:
    return stamp(call).block("timeline.hidden", path=path, text=text, meta=meta)


def seqs(entries: list[Entry]) -> list[int]:
    return [entry.seq for entry in entries]


def test_blocks_are_found_by_their_path_in_their_order() -> None:
    state = fed([prompt(), result_block("c", "1", A), result_block("c", "2", B),
                 result_block("d", "3", A)])  # fmt: skip
    assert seqs(state.at(A)) == seqs(state.visible(A)) == [2, 4]
    assert state.at("fi:turn_1.files/none") == state.visible("") == []
    assert state.last == 4


def test_a_block_without_a_path_is_counted_and_not_found() -> None:
    state = fed([result_block("c"), stamp().block("react.notice", text="x")])
    assert len(list(state.backwards())) == 2
    assert state.at("") == []


def test_records_stand_at_no_path() -> None:
    state = fed([hidden(A)])
    assert state.at(A) == []
    assert list(state.backwards()) == []
    assert state.last == 1


def test_a_record_hides_what_stood_at_its_path_before_it() -> None:
    state = fed([result_block("c", "1", A), result_block("c", "2", B), hidden(A),
                 result_block("d", "3", A)])  # fmt: skip
    assert seqs(state.visible(A)) == [4]
    assert seqs(state.at(A)) == [1, 4]
    assert seqs(state.visible(B)) == [2]
    assert state.hidden == {1: 3}
    assert state.placeholders == {1: "[hidden]"}


def test_a_record_hides_only_between_its_bounds() -> None:
    results = [result_block("c", str(at), A) for at in range(1, 6)]
    state = fed([*results, hidden(A, after=2, before=5)])
    assert seqs(state.visible(A)) == [1, 2, 5]
    assert state.hidden == {3: 6, 4: 6}


@pytest.mark.parametrize("bound", ["3", None, True, 2.5, [1]])
def test_bounds_that_are_no_numbers_do_not_count(bound: Any) -> None:
    state = fed([result_block("c", "1", A), hidden(A, after=bound, before=bound)])
    assert seqs(state.visible(A)) == []


def test_a_record_never_touches_what_is_frozen() -> None:
    first = [call_block("a"), result_block("a", "old", A)]
    second = [call_block("b"), result_block("b", "new", A)]
    call, *results = round_of("h")
    state = fed([*first, *second, call, hidden(A, "h"), *results], FEW)
    assert seqs(state.visible(A)) == [2]
    assert state.hidden == {4: 6}
    assert state.frozen == 4


def test_a_record_after_the_results_of_its_call_does_not_touch_what_they_froze() -> None:
    first = [call_block("a"), result_block("a", "old", A)]
    state = fed([*first, *round_of("h"), hidden(A, "h")], FEW)
    assert state.frozen == 2
    assert seqs(state.visible(A)) == [2]


def test_what_is_frozen_stays_so_under_other_settings() -> None:
    later = settings_record('{"cache": {"cache_point_offset_rounds": 9}}')
    first = [call_block("a"), result_block("a", "old", A)]
    state = fed([*first, *round_of("b"), later, hidden(A)], FEW)
    assert state.rounds.cache_point(state.settings) == 0
    assert state.frozen == 2
    assert seqs(state.visible(A)) == [2]


def test_what_was_hidden_once_stays_hidden() -> None:
    state = fed([result_block("c", "1", A), hidden(A), hidden(A, text="[again]")])
    assert state.placeholders == {1: "[hidden]"}


def test_sources_come_into_the_pool() -> None:
    rows = json.dumps([{"sid": 1, "url": "https://example.com/"}])
    state = fed([stamp().block("timeline.sources", text=rows)])
    assert [row.sid for row in state.pool.select(((1, 9),))] == [1]


def settings_record(text: str | None) -> Block:
    return Block(type="timeline.settings", author="timeline", turn_id="t", ts=TS, text=text)


def test_the_timeline_says_its_settings() -> None:
    said = '{"tokens": "chars/4", "cache": {"cache_point_offset_rounds": 7}}'
    state = fed([settings_record(said)], FEW)
    assert state.settings == CacheSettings(cache_point_offset_rounds=7)


@pytest.mark.parametrize(
    "text", [None, "", "[]", "7", "{", '{"cache": 1}', '{"cache": {"cache_point_min_rounds": -1}}']
)
def test_settings_that_cannot_be_read_change_nothing(text: str | None) -> None:
    assert fed([settings_record(text)], FEW).settings == FEW


paths = st.sampled_from([A, B, "tc:turn_1.a.result"])
calls = st.sampled_from("abc")
bounds = st.dictionaries(st.sampled_from(["after", "before"]), st.integers(0, 40))
any_block = st.one_of(
    st.builds(call_block, calls),
    st.builds(result_block, calls, st.sampled_from(["x", "y"]), paths),
    st.builds(lambda call, path, meta: hidden(path, call, **meta), calls, paths, bounds),
    st.just(settings_record('{"cache": {"cache_point_offset_rounds": 1}}')),
)


def told(state: State) -> tuple[Any, ...]:
    every = [A, B, "tc:turn_1.a.result"]
    return (
        state.last,
        state.settings,
        state.hidden,
        state.placeholders,
        state.rounds.count,
        state.frozen,
        [(seqs(state.at(path)), seqs(state.visible(path))) for path in every],
        list(state.backwards()),
    )


@given(st.lists(any_block, max_size=40))
def test_a_state_built_at_once_is_the_one_built_entry_by_entry(blocks: list[Block]) -> None:
    slow = State()
    for entry in numbered(blocks):
        slow.feed([entry])
    assert told(slow) == told(fed(blocks))


@given(st.lists(any_block, max_size=40))
def test_every_block_is_visible_or_hidden_and_never_both(blocks: list[Block]) -> None:
    state = fed(blocks)
    for path in (A, B):
        visible = set(seqs(state.visible(path)))
        covered = {seq for seq in seqs(state.at(path)) if seq in state.hidden}
        assert visible | covered == set(seqs(state.at(path)))
        assert not visible & covered


def ended(call: str, path: str, hides: str) -> list[Block]:
    """What one append holds when a call ends: perhaps a record, and results."""
    results = [result_block(call, "x", path), result_block(call, "y", path)]
    return [hidden(hides, call), *results] if hides else results


steps = st.tuples(
    st.sampled_from(["start", "end oldest", "end newest"]), paths, paths | st.just("")
)


def appends(plan: list[tuple[str, str, str]]) -> Iterator[list[Block]]:
    """Appends as calls that run side by side make them."""
    running: list[str] = []
    for at, (step, path, hides) in enumerate(plan):
        if step == "start" or not running:
            running.append(f"c{at}")
            yield [call_block(running[-1])]
        else:
            yield ended(running.pop(0 if step == "end oldest" else -1), path, hides)


@given(st.lists(steps, max_size=40))
def test_what_is_frozen_is_never_hidden_afterwards(plan: list[tuple[str, str, str]]) -> None:
    state = State(FEW)
    for batch in appends(plan):
        frozen = state.frozen
        before = {seq for seq in state.hidden if seq <= frozen}
        state.feed(numbered(batch, state.last))
        assert {seq for seq in state.hidden if seq <= frozen} == before
