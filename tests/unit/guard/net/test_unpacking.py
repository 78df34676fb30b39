from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.guard.net.http_exchange import Unpacker


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


PACKERS = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "X-GZip ": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
}


def unpack(encoding: str, pieces: list[bytes], limit: int = 1000) -> bytes:
    unpacker = Unpacker(encoding, limit)
    for piece in pieces:
        unpacker.feed(piece)
    return unpacker.close()


def code_of(encoding: str, pieces: list[bytes], limit: int = 1000) -> str:
    with pytest.raises(ToolError) as caught:
        unpack(encoding, pieces, limit)
    return caught.value.code


@pytest.mark.parametrize("encoding", PACKERS)
@given(body=st.binary(max_size=200), cut=st.integers(1, 50))
def test_cuts_do_not_matter(encoding: str, body: bytes, cut: int) -> None:
    packed = PACKERS[encoding](body)
    pieces = [packed[at : at + cut] for at in range(0, len(packed), cut)]
    assert unpack(encoding, pieces) == body


@pytest.mark.parametrize("encoding", PACKERS)
def test_the_limit_is_the_last_byte_that_passes(encoding: str) -> None:
    packed = PACKERS[encoding](bytes(1000))
    assert unpack(encoding, [packed], 1000) == bytes(1000)
    assert code_of(encoding, [packed], 999) == "response_too_large"


@pytest.mark.parametrize("encoding", PACKERS)
def test_no_body_is_an_empty_body(encoding: str) -> None:
    assert unpack(encoding, []) == unpack(encoding, [b""]) == b""


def test_a_bomb_is_stopped_before_it_takes_room() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    tracemalloc.start()
    try:
        assert code_of("gzip", [bomb], 1_000_000) == "response_too_large"
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_packed_parts_are_joined_and_padding_is_dropped() -> None:
    parts = gzip.compress(b"one ") + gzip.compress(b"two")
    assert unpack("gzip", [parts + bytes(20)]) == b"one two"
    assert unpack("deflate", [zlib.compress(b"one") + b"more", b"and more"]) == b"one"


def test_packed_bytes_count_as_well() -> None:
    assert code_of("gzip", [gzip.compress(b"")] * 60) == "response_too_large"


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress", "\x00"])
def test_an_encoding_that_was_not_asked_is_refused(encoding: str) -> None:
    assert code_of(encoding, []) == "network_error"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", b"plain"),
        ("gzip", gzip.compress(b"text", mtime=0)[:-1]),
        ("gzip", b"\x1f"),
        ("deflate", b"\xff\xff\xff"),
        ("deflate", zlib.compress(b"text")[:-1]),
    ],
)
def test_a_broken_body_is_a_network_error(encoding: str, body: bytes) -> None:
    assert code_of(encoding, [body]) == "network_error"


def test_a_body_announced_as_too_large_is_refused_at_once() -> None:
    unpacker = Unpacker("", 10)
    unpacker.expect(10)
    with pytest.raises(ToolError) as caught:
        unpacker.expect(11)
    assert (caught.value.code, caught.value.details) == ("response_too_large", {"limit": 10})
