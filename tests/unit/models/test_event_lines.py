from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.errors import ModelError
from callblocks.models.openai.reply_stream import EventLines, ServerEvent

LINES = st.sampled_from(
    [
        *(b"data: a", b"data:b", b"data:  c", b"data", b"data:", b"data: \xf0\x9f\x99\x82", b""),
        *(b"", b": comment", b"event: error", b"event:x", b"id: 7", b"retry: 3", b"error: bad"),
        *(b"\xef\xbb\xbfdata: d", b"data: \xff\xc3", b"nonsense", b"data: " + b"x" * 60),
    ]
)
STREAMS = st.lists(
    st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"])).map(b"".join), max_size=12
).map(b"".join)


def read(*pieces: bytes, limit: int = 1 << 20) -> list[ServerEvent | str]:
    """The events, and the code of the error that came after them."""
    lines = EventLines(limit)
    came: list[ServerEvent | str] = []
    try:
        for piece in pieces:
            for event in lines.feed(piece):
                came.append(event)  # noqa: PERF402 - what came before an error is kept
        for event in lines.close():
            came.append(event)  # noqa: PERF402 - as above
    except ModelError as error:
        came.append(error.code)
    return came


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(marks)]


@given(
    STREAMS, st.booleans(), st.lists(st.integers(0, 500), max_size=8), st.sampled_from([50, 999])
)
@example(b"data: a\r\n\r\ndata: b\r\n\r\n", False, [8, 9, 10, 11], 999)
@example(b"\xef\xbb\xbfdata: a\n\n", False, [1, 2], 999)
@example(b"data: a\n\ndata: " + b"x" * 60 + b"\n\ndata: b\n\n", False, [3], 50)
# Pieces that are one event each, behind what makes them a part of another one.
@example(b"data: a\n\ndata: \n\ndata: b\n\n", False, [9, 17], 999)
@example(b"event: error\ndata: a\n\ndata: b\n\n", False, [13, 22], 999)
@example(b"data: x\ndata: a\n\ndata: b\n\n", False, [8, 17], 999)
@example(b": x\rdata: a\n\ndata: b\n\n", False, [4, 13], 999)
def test_cuts_do_not_matter(stream: bytes, half: bool, places: list[int], limit: int) -> None:
    stream = stream[: len(stream) // 2] if half else stream
    whole = read(stream, limit=limit)
    assert read(*cut(stream, places), limit=limit) == whole
    assert read(*(bytes((one,)) for one in stream), limit=limit) == whole


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_three_ways(end: bytes) -> None:
    stream = end.join((b"event: x", b"id: 1", b"data: a", b": hi", b"data:b", b"", b"data: c", b""))
    assert read(stream) == [ServerEvent("a\nb", "x"), ServerEvent("c")]


def test_an_event_is_given_as_soon_as_its_line_end_is_there() -> None:
    lines = EventLines()
    assert list(lines.feed(b"data: a\r\n\r")) == [ServerEvent("a")]
    assert list(lines.feed(b"\n")) == []
    assert list(lines.close()) == []


def test_the_last_event_needs_no_empty_line() -> None:
    assert read(b"data: a") == [ServerEvent("a")]
    assert read(b"data: a\n") == [ServerEvent("a")]


def test_an_event_without_data_is_none() -> None:
    assert read(b"event: ping\n\n: x\n\nid: 3\n\n") == []


def test_data_may_be_empty() -> None:
    assert read(b"data\n\ndata:\ndata:\n\n") == [ServerEvent(""), ServerEvent("\n")]


def test_an_error_line_is_an_error_event() -> None:
    assert read(b'error: {"code":500}\n\n') == [ServerEvent('{"code":500}', "error")]


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert read(b"data: a\xffb\n\n") == [ServerEvent("a�b")]


def test_a_long_line_is_an_error_after_the_events_before_it() -> None:
    assert read(b"data: a\n\ndata: " + b"x" * 100, limit=20) == [ServerEvent("a"), "model_too_long"]


def test_many_short_lines_of_one_event_pass_the_limit_too() -> None:
    assert read(b"data: xxxx\n" * 100, limit=20) == ["model_too_long"]


def test_a_long_comment_passes_the_limit_too() -> None:
    assert read(b":" + b"x" * 100, limit=20) == ["model_too_long"]


def test_a_line_of_exactly_the_limit_is_read() -> None:
    assert read(b"data: " + b"x" * 14, limit=20) == [ServerEvent("x" * 14)]
