"""Rounds and the cache point."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.blocks import Block
from callblocks.timeline.timeline import CacheSettings, Rounds
from support.entries import call_block, numbered, prompt, result_block, round_of, stamp

SETTINGS = CacheSettings(cache_point_min_rounds=2, cache_point_offset_rounds=1)


def fed(blocks: Iterable[Block]) -> Rounds:
    rounds = Rounds()
    for entry in numbered(blocks):
        rounds.feed(entry)
    return rounds


def of(count: int) -> list[Block]:
    return [block for at in range(count) for block in round_of(f"c{at}")]


def test_a_call_with_its_results_is_one_round() -> None:
    assert fed([prompt(), *round_of("a", "digest", "content"), *round_of("b")]).count == 2


def test_a_call_that_still_runs_is_no_round() -> None:
    assert fed([*round_of("a"), call_block("b")]).count == 1


def test_rounds_stand_in_the_order_in_which_they_ended() -> None:
    rounds = fed([call_block("a"), call_block("b"), result_block("b"), result_block("a")])
    assert rounds.count == 2
    assert rounds.cache_point(SETTINGS) == 3


def test_results_without_a_call_make_no_round() -> None:
    assert fed([result_block("a"), result_block("b")]).count == 0


def test_late_results_of_a_round_that_ended_move_nothing() -> None:
    blocks = [*round_of("a"), *round_of("b"), result_block("a"), result_block("a")]
    assert fed(blocks).count == 2
    assert fed(blocks).cache_point(SETTINGS) == 2


def test_an_id_that_is_used_again_makes_another_round() -> None:
    assert fed([*round_of("a"), *round_of("a")]).count == 2
    assert fed([*round_of("a"), *round_of("a", turn="turn_2")]).count == 2


def test_the_records_after_the_results_belong_to_the_round() -> None:
    record = stamp("a").block("timeline.hidden", path="fi:turn_1.files/a")
    assert fed([*round_of("a"), record, *round_of("b")]).cache_point(SETTINGS) == 3


def test_a_block_between_ends_the_round() -> None:
    late = stamp("a").block("react.notice", path="tc:turn_1.a.notice")
    assert fed([*round_of("a"), prompt(), late, *round_of("b")]).cache_point(SETTINGS) == 2


@pytest.mark.parametrize(
    ("count", "point"), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 2), (6, 4)]
)
def test_the_cache_point_is_the_end_of_the_round_four_before_the_last(
    count: int, point: int
) -> None:
    assert fed(of(count)).cache_point(CacheSettings()) == point


def test_there_is_no_cache_point_before_there_are_enough_rounds() -> None:
    settings = CacheSettings(cache_point_min_rounds=4, cache_point_offset_rounds=1)
    assert fed(of(3)).cache_point(settings) == 0
    assert fed(of(4)).cache_point(settings) == 6


def test_with_no_offset_all_rounds_are_frozen() -> None:
    settings = CacheSettings(cache_point_min_rounds=0, cache_point_offset_rounds=0)
    assert fed([]).cache_point(settings) == 0
    assert fed(of(3)).cache_point(settings) == 6


blocks = st.lists(
    st.builds(
        lambda make, call: make(call),
        st.sampled_from([call_block, result_block, prompt]),
        st.sampled_from("abc"),
    ),
    max_size=40,
)


@given(blocks, st.integers(0, 3), st.integers(0, 3))
def test_the_cache_point_never_moves_back(given: list[Block], least: int, offset: int) -> None:
    settings = CacheSettings(cache_point_min_rounds=least, cache_point_offset_rounds=offset)
    rounds, last = Rounds(), 0
    for entry in numbered(given):
        rounds.feed(entry)
        assert last <= rounds.cache_point(settings) <= entry.seq
        last = rounds.cache_point(settings)
