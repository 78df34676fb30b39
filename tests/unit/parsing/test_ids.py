"""Every call of a text has an id of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks import parse
from callblocks.parsing.engine.ids import Ids, read_id

WRITTEN = st.sampled_from(["a", "a-2", "a-3", "a-2-2", "tool-call-1", "tool-call-2", "b"])


@given(st.lists(st.none() | WRITTEN))
def test_ids_are_unique_and_kept_as_written_where_they_can_be(wanted: list[str | None]) -> None:
    ids, given_out = Ids(), list[str]()
    for written in wanted:
        id_ = ids.claim(written) if written else ids.make()
        assert id_ not in given_out
        if written:
            assert id_ == written if written not in given_out else id_.startswith(f"{written}-")
        given_out.append(id_)


def test_a_second_use_counts_on_past_what_was_written() -> None:
    ids = Ids()
    assert [ids.claim(id_) for id_ in ("a", "a-2", "a", "a")] == ["a", "a-2", "a-3", "a-4"]


def test_made_ids_go_around_written_ones() -> None:
    ids = Ids()
    ids.claim("tool-call-2")
    assert [ids.make(), ids.make()] == ["tool-call-1", "tool-call-3"]


@pytest.mark.parametrize(
    ("value", "id_"),
    [
        ("a", "a"),
        (" a ", " a "),
        (7, "7"),
        (-1.5, "-1.5"),
        ("", None),
        (" \t", None),
        (True, None),
        (None, None),
        (["a"], None),
    ],
)
def test_an_id_is_a_string_that_is_not_blank_or_a_number(value: object, id_: str | None) -> None:
    assert read_id(value) == id_


def test_a_duplicate_is_renamed_and_told() -> None:
    parsed = parse("```tool ls a\n```\n```tool ls a\n```\n", "tool-fence")
    assert [call.id for call in parsed.calls] == ["a", "a-2"]
    assert [problem.code for problem in parsed.problems] == ["duplicate-id"]
