"""Citations are found wherever they stand, and name only sources that there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.paths import cited, selector_text

POOL = range(1, 11)


@pytest.mark.parametrize(
    ("text", "sids"),
    [
        ("Rain [[S:2]].", [2]),
        ("[[S:1,3-5]]", [1, 3, 4, 5]),
        ("[[S: 5 - 3 , 1 ]]", [1, 3, 4, 5]),
        ("[[S:9]] and [[S:2]]\n[[S:2,9]]", [2, 9]),
        ("[[S:8-999999999]]", [8, 9, 10]),
        ("[[S:77]]", []),
        ("`[[S:1]]`\n```\n[[S:2]]\n```", [1, 2]),
        ("| a [[S:1]] | b[[S:2]] |", [1, 2]),
        ("[[[S:4]]]", [4]),
        ("[[S:[[S:4]]", [4]),
        ("", []),
    ],
)
def test_what_a_text_cites(text: str, sids: list[int]) -> None:
    assert cited(text, POOL) == sids


@pytest.mark.parametrize(
    "broken",
    ["[[S:]]", "[[S:x]]", "[[S:1,]]", "[[S:1-2-3]]", "[S:1]", "[[S:1]", "[[s:1]]", "[[1]]"],
)
def test_a_broken_citation_is_prose_and_others_count(broken: str) -> None:
    assert cited(broken, POOL) == []
    assert cited(f"{broken} [[S:3]] {broken}", POOL) == [3]


@given(st.text(), st.sets(st.integers(1, 99), min_size=1), st.sets(st.integers(1, 99)))
def test_only_known_sources_are_cited(prose: str, named: set[int], known: set[int]) -> None:
    mark = selector_text(tuple((n, n) for n in named))
    assert set(cited(f"{prose.replace('[', '')} [[S:{mark}]]", known)) == named & known


@pytest.mark.parametrize("piece", ["[[S:", "[[S:1", "[[S:1]", "[", "[[S:1 , ", "[[S:1]]"])
def test_a_hostile_text_is_read_to_its_end(piece: str) -> None:
    assert cited(piece * 50_000 + "[[S:7]]", POOL)[-1:] == [7]
