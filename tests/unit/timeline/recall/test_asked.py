"""Paths as models spell them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.timeline.recall.lookup import asked_paths

A, B, S = "fi:turn_1.files/a.md", "fi:turn_1.files/b c.md", "so:sources_pool[1,3-5]"


def never(path: str) -> bool:
    return False


@pytest.mark.parametrize(
    "given",
    [
        [A, B, S],
        [f"{A}\n{B}\n{S}"],
        [f"- {A}\n* {B}\n3. {S}"],
        [f"{A}, {B}, {S}"],
        [f"{A} {B}\t{S}"],
        [f'["{A}", "{B}", "{S}"]'],
        [f'paths: ["{A}", "{B}", "{S}"]'],
        [f'{{"paths": ["{A}", "{B}", "{S}"]}}'],
        ['{"paths": [', f'"{A}",', f'"{B}",', f'"{S}"', "]}"],
        ["paths:", f"- {A}", f'- "{B}"', f"- `{S}`"],
        [f"paths = [{A}, {B}, {S}]"],
        [f"[{A}", B, S.removesuffix("]"), "]"],
        [f"{A},", f"{B}]", S],
    ],
)
def test_a_list_of_paths_is_read_in_any_spelling(given: list[str]) -> None:
    assert asked_paths(given, never) == [A, B, S]


def test_a_json_text_of_one_path_is_that_path() -> None:
    assert asked_paths([f'"{A}"'], never) == [A]
    assert asked_paths(['{"paths": 1}'], never) == ['paths": 1']


def test_a_path_that_is_known_stays_as_it_is() -> None:
    odd = "fi:turn_1.files/a, fi:x]"
    assert asked_paths([odd], odd.__eq__) == [odd]
    assert asked_paths([f"{odd}\n{A}"], odd.__eq__) == [odd, A]


@given(st.lists(st.text(max_size=20), max_size=4))
def test_any_text_can_be_asked_for(texts: list[str]) -> None:
    for path in asked_paths(texts, never):
        assert path == path.strip(" \n") != ""


@given(st.integers(1, 99_999).map(lambda depth: "[" * depth))
def test_depth_is_no_fault(text: str) -> None:
    assert asked_paths([text], never) == []
