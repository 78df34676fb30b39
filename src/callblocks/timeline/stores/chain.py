"""Blocks as bytes, and the hash chain over the blocks of a timeline.

    hash 0 = sha256("callblocks timeline 1", name)
    hash n = sha256(hash n-1, n, body n)

A body is JSON with sorted keys: equal blocks give equal bytes. A person who has noted the last hash
can prove that no earlier block was changed, lost or inserted. The name is in hash 0, so a chain
cannot be passed off as that of another timeline; the number is in each hash, so blocks cannot be
renumbered. The chain does not protect against cutting the end off: for that, `verify` takes a noted
end.
"""

from __future__ import annotations

import hashlib

import msgspec

from callblocks.model.blocks import Block
from callblocks.timeline.plain_json import plain

__all__ = ("DAMAGED", "decode", "encode", "genesis", "link")

# The block that replaces one that can no longer be read.
DAMAGED = Block(
    type="timeline.damaged",
    author="timeline",
    turn_id="",
    ts="",
    text="This block cannot be read.",
    meta={"code": "damaged_block"},
)

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Block)


def encode(block: Block) -> bytes:
    """Return a block as JSON; a lone surrogate becomes U+FFFD, a value outside JSON its type."""
    try:
        return _encoder.encode(block)
    # One odd value must not cost the whole block.
    except (ValueError, TypeError, RecursionError, OverflowError):
        fields = {name: getattr(block, name) for name in block.__struct_fields__}
        return _encoder.encode(Block(**plain(fields)))


def decode(body: bytes) -> Block:
    """Return the block of a body; `DAMAGED` for an unreadable one."""
    try:
        return _decoder.decode(body)
    except (ValueError, RecursionError):
        return DAMAGED


def genesis(name: str) -> str:
    """Return the hash that the first block of a timeline follows."""
    return hashlib.sha256(b"callblocks timeline 1\n" + name.encode()).hexdigest()


def link(previous: str, seq: int, body: bytes) -> str:
    """Return the hash of a block at `seq`, after the one with the hash `previous`."""
    return hashlib.sha256(b"%s\n%d\n%s" % (previous.encode(), seq, body)).hexdigest()
