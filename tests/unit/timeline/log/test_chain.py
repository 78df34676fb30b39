from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callblocks.timeline.log.log import DAMAGED, decode, encode, genesis, link
from support.stores import block

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@settings(max_examples=50)
@given(st.text(), st.dictionaries(st.text(), JSON, max_size=4))
def test_a_block_is_read_as_it_was_written(text: str, meta: dict[str, Any]) -> None:
    written = block(text, meta=meta)
    assert decode(encode(written)) == written


@settings(max_examples=50)
@given(st.dictionaries(st.text(), JSON, min_size=2, max_size=4))
def test_equal_blocks_give_equal_bytes(meta: dict[str, Any]) -> None:
    turned = dict(reversed(meta.items()))
    assert encode(block(meta=meta)) == encode(block(meta=turned))


def test_what_is_empty_is_not_written() -> None:
    assert encode(block("é")) == (
        b'{"type":"react.notes","author":"assistant","turn_id":"turn_1",'
        b'"ts":"2030-01-31T12:00:00Z","text":"\xc3\xa9"}'
    )


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("says nothing")


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "value",
    [object(), Mute(), CIRCLE, [10**5000], {1: 2}, {(1, 2): 3}, {"\ud800": "\udfff"}, float("nan")],
)
def test_whatever_a_block_holds_is_written(value: Any) -> None:
    found = decode(encode(block("kept", meta={"odd": value})))
    assert found.type == "react.notes"
    assert found.text == "kept"
    assert "odd" in found.meta


@given(st.text(st.characters(codec=None)))
def test_half_a_character_becomes_a_replacement(text: str) -> None:
    found = decode(encode(block(text))).text or ""
    pairs = zip(text, found, strict=True)
    assert all(now == ("\ufffd" if "\ud800" <= was <= "\udfff" else was) for was, now in pairs)


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff", b"{}", b"[]", b"[" * 100_000, encode(block())[:-1], b'{"type":"\xff"}', b"null"],
)
def test_a_body_that_is_no_block_gives_a_damaged_block(body: bytes) -> None:
    assert decode(body) is DAMAGED
    assert DAMAGED.type == "timeline.damaged"
    assert DAMAGED.meta == {"code": "damaged_block"}


def test_fields_of_a_newer_version_are_left_out() -> None:
    assert decode(encode(block("a"))[:-1] + b',"new":1}') == block("a")


def test_a_hash_is_of_the_one_before_the_number_and_the_body() -> None:
    first = genesis("talk")
    assert first == hashlib.sha256(b"callblocks timeline 1\ntalk").hexdigest()
    expected = hashlib.sha256(first.encode() + b"\n1\nbody").hexdigest()
    assert link(first, 1, b"body") == expected
    assert len({link(first, 1, b"2"), link(first, 12, b""), link(genesis("b"), 1, b"2")}) == 3
