"""A block as bytes, and the chain that holds the blocks of a timeline together.

    hash 0 = sha256("callblocks timeline 1", name)
    hash n = sha256(hash n-1, n, body n)

A body is JSON with its keys in order: equal blocks give equal bytes. Whoever knows the last hash
knows that nothing before it was changed, lost or put in.
"""

from __future__ import annotations

import hashlib

import msgspec

from callblocks.model.blocks import Block
from callblocks.timeline.plain_json import plain

__all__ = ("DAMAGED", "decode", "encode", "genesis", "link")

DAMAGED = Block(
    type="timeline.damaged",
    author="timeline",
    turn_id="",
    ts="",
    text="This block cannot be read.",
    meta={"code": "damaged_block"},
)
"""Stands where a block can no longer be read."""

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Block)


def encode(block: Block) -> bytes:
    """A block as JSON; half a character becomes U+FFFD, what JSON cannot say its type."""
    try:
        return _encoder.encode(block)
    # An odd value somewhere in it: the rest of the block must not be lost for that.
    except (ValueError, TypeError, RecursionError, OverflowError):
        fields = {name: getattr(block, name) for name in block.__struct_fields__}
        return _encoder.encode(Block(**plain(fields)))


def decode(body: bytes) -> Block:
    """The block of a body; one that cannot be read gives `DAMAGED`."""
    try:
        return _decoder.decode(body)
    except (ValueError, RecursionError):
        return DAMAGED


def genesis(name: str) -> str:
    """The hash that the first block of a timeline follows."""
    return hashlib.sha256(b"callblocks timeline 1\n" + name.encode()).hexdigest()


def link(previous: str, seq: int, body: bytes) -> str:
    """The hash of a block that stands at `seq`, after the one with the hash `previous`."""
    return hashlib.sha256(b"%s\n%d\n%s" % (previous.encode(), seq, body)).hexdigest()
