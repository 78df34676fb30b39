from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.server.http.faults import ApiFault
from callblocks.server.http.request import range_of


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        ("bytes=0-0", range(1)),
        ("bytes=2-4", range(2, 5)),
        ("bytes=2-", range(2, 10)),
        ("bytes=-3", range(7, 10)),
        ("bytes=-99", range(10)),
        ("bytes=5-999999999999999999", range(5, 10)),
        ("BYTES=0-1", range(2)),
    ],
)
def test_one_range_is_cut_to_the_file(header: str, asked: range) -> None:
    assert range_of(header, 10) == asked


@pytest.mark.parametrize(
    "header",
    [
        *("", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=4-2", "bytes=0-1,3-4", "lines=0-1"),
        *("bytes=0-1,-1", "bytes= 0-1 2", "bytes=--1", "bytes=1-1" + "9" * 40, "bytes=٣-٤"),
    ],
)
def test_what_is_no_single_range_is_ignored(header: str) -> None:
    assert range_of(header, 10) is None


@pytest.mark.parametrize(
    ("header", "size"), [("bytes=10-", 10), ("bytes=99-", 10), ("bytes=-0", 10), ("bytes=0-", 0)]
)
def test_a_range_behind_the_end_is_refused_with_the_size(header: str, size: int) -> None:
    with pytest.raises(ApiFault) as caught:
        range_of(header, size)
    assert caught.value.status == 416
    assert caught.value.headers["content-range"] == f"bytes */{size}"


@given(st.from_regex(r"bytes=[0-9]{0,4}-[0-9]{0,4}", fullmatch=True), st.integers(0, 2000))
def test_a_range_is_never_outside_of_the_file(header: str, size: int) -> None:
    try:
        asked = range_of(header, size)
    except ApiFault:
        return
    assert asked is None or 0 <= asked.start < asked.stop <= size
