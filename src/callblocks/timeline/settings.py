"""The settings of a timeline, as a record: token counting, and caching.

    {"tokens":"chars/4","cache":{"editable_tail_size_in_tokens":2000,…}}

The first append writes the record, and any later one with other settings. One more is written where
a turn is taken: it makes the turn unavailable to other writers, and `meta.owner` names the program
that has it.
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
    """Return the settings as the text of the record."""
    return json_text({"tokens": tokens.name, "cache": msgspec.structs.asdict(cache)})


def settings_block(turn: str, ts: str, text: str, owner: str = "") -> Block:
    """Return the record, which stands before the first block that it applies to."""
    # A record, not a file beside the store: whoever has the timeline has the settings by which its
    # counts and cache points were made.
    return Block(
        type="timeline.settings",
        author="timeline",
        turn_id=turn,
        ts=ts,
        mime=JSON,
        text=text,
        meta={"owner": owner} if owner else {},
    )
