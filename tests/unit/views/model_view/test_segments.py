from __future__ import annotations

from hypothesis import given

from callblocks.core.blocks import RECORDS, Entry, TextPart, binary_line
from callblocks.timeline.timeline import Tokens
from callblocks.views.model_view.view import render, segments
from support.random_timelines import entries


@given(entries())
def test_the_segments_are_the_view(known: list[Entry]) -> None:
    shown = [one.text if isinstance(one, TextPart) else binary_line(one) for one in render(known)]
    assert [one.text for one in segments(known).items] == shown


@given(entries())
def test_every_block_but_a_record_is_shown_by_a_segment(known: list[Entry]) -> None:
    owned = {seq for one in segments(known).items for seq in one.seqs}
    assert owned == {entry.seq for entry in known if entry.block.type not in RECORDS}


@given(entries())
def test_tokens_are_those_of_the_parts_and_hidden_ones_are_counted_apart(
    known: list[Entry],
) -> None:
    whole = segments(known, Tokens(len))
    texts = [one for one in whole.items if one.kind == "text"]
    assert [one.tokens for one in texts] == [len(one.text) for one in texts]
    assert whole.tokens == sum(one.tokens for one in whole.items)
    hidden = set(whole.hidden)
    assert {seq for one in whole.items for seq in one.hidden} == hidden
    least = sum(len(entry.block.text or "") for entry in known if entry.seq in hidden)
    assert whole.hidden_tokens >= least


@given(entries())
def test_what_is_frozen_stays_when_blocks_are_appended(known: list[Entry]) -> None:
    half = segments(known[: len(known) // 2]).items
    frozen = [one for one in half if one.frozen]
    assert half[: len(frozen)] == frozen
    later = segments(known).items[: len(frozen)]
    assert [(one.seqs, one.text) for one in later] == [(one.seqs, one.text) for one in frozen]
