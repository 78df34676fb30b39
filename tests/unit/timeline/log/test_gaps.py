"""Numbers that should be on a timeline, and are not."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.blocks import Entry
from callblocks.timeline.log.transfer import gap_of, with_gaps
from support.stores import block


def numbers(entry: Entry) -> set[int]:
    """The numbers that an entry stands for."""
    first, last = gap_of(entry) or (entry.seq, entry.seq)
    return set(range(first, last + 1))


@given(st.sets(st.integers(1, 30)), st.integers(0, 30), st.integers(0, 30))
def test_entries_and_gaps_are_all_numbers_in_order(there: set[int], after: int, count: int) -> None:
    entries = [Entry(seq, block()) for seq in sorted(there) if seq > after]
    found = list(with_gaps(entries, after, count))
    assert [one for one in found if gap_of(one) is None] == entries
    end = max([after, count, *(one.seq for one in entries)])
    covered = [number for one in found for number in sorted(numbers(one))]
    assert covered == list(range(after + 1, end + 1))
    assert not any(gap_of(one) and gap_of(two) for one, two in itertools.pairwise(found))


def test_a_gap_says_what_is_missing() -> None:
    one, two = (one for one in with_gaps([Entry(2, block())], count=4) if gap_of(one))
    assert (one.block.text, two.block.text) == (
        "Block 1 is missing.",
        "Blocks 3 to 4 are missing.",
    )
