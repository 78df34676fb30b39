"""The settings that a timeline goes by, as a record: how tokens are counted, and caching.

    {"tokens":"chars/4","cache":{"editable_tail_size_in_tokens":2000,…}}

The first append writes it, and any later one whose settings are others. One more stands where a
turn was taken: no other writer has that turn then, and `meta.owner` says which program has it.
"""

from __future__ import annotations

import msgspec

from callblocks.model.blocks import Block
from callblocks.timeline.plain_json import json_text
from callblocks.timeline.rounds import CacheSettings
from callblocks.timeline.stamp import JSON
from callblocks.timeline.tokens import Tokens

__all__ = ("settings_block", "settings_text")


def settings_text(tokens: Tokens, cache: CacheSettings) -> str:
    """The settings as the record says them."""
    return json_text({"tokens": tokens.name, "cache": msgspec.structs.asdict(cache)})


def settings_block(turn: str, ts: str, text: str, owner: str = "") -> Block:
    """The record, to stand before the first block that goes by it."""
    return Block(
        type="timeline.settings",
        author="timeline",
        turn_id=turn,
        ts=ts,
        mime=JSON,
        text=text,
        meta={"owner": owner} if owner else {},
    )
