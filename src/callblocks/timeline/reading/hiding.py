"""Hiding the blocks at a path from the model: the rules, and the record.

    frozen | too old | the tail
           ^         ^
           |         at most `editable_tail_size_in_tokens` follow a block in the tail
           the cache point

Only the tail can be hidden. Frozen blocks are in the provider's caches, and hiding a block far back
would make the provider process the rest of the prompt anew. The call that hides is on the timeline
already when this is judged: it is no round yet, and does not count.

The person's messages and the answers to them are never hidden: a prompt injection in a tool's text
could make a model forget its task.

Of several blocks at one path those in the tail are hidden. Nothing is edited: a record covers the
blocks, and `react.read` brings a fresh copy.
"""

from __future__ import annotations

import msgspec

from callblocks.model.blocks import Block, Entry
from callblocks.model.brief import brief
from callblocks.model.outcomes import Failure
from callblocks.model.paths import MessagePath
from callblocks.timeline.plain_json import json_text
from callblocks.timeline.reading.asked import path_of, spellings
from callblocks.timeline.reading.costs import cost_of
from callblocks.timeline.rounds import CallKey
from callblocks.timeline.stamp import Stamp
from callblocks.timeline.state import State
from callblocks.timeline.tokens import Tokens

__all__ = ("Hidden", "hide")


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    """The result of hiding: a record to append, or a failure, or neither if it was hidden
    already.
    """

    path: str
    blocks: int = 0
    tokens_freed: int = 0
    record: Block | None = None
    failure: Failure | None = None


def hide(path: str, *, state: State, tokens: Tokens, stamp: Stamp) -> Hidden:
    """Judge whether the blocks at a path may be hidden; `stamp` is of the call that hides."""
    asked = path_of(path)
    ways = spellings(asked, state) if asked else ()
    # The spelling at which blocks exist becomes the path of the record, so that it covers them.
    known = next((way for way in ways if state.at(way)), None)
    if known is None:
        return _refused(path, "not_found")
    if isinstance(asked, MessagePath):
        return _refused(known, "hide_refused")
    visible = state.visible(known)
    if not visible:
        return Hidden(path=known)
    own = (stamp.turn, stamp.call)
    tail = _tail(state, tokens, own)
    if visible[-1].seq <= state.frozen:
        return _refused(known, "hide_before_cache")
    if visible[-1].seq < tail:
        return _refused(known, "hide_too_old")
    after = max(state.frozen, tail - 1)
    return _hidden(known, [one for one in visible if one.seq > after], after, state, tokens, stamp)


_WORDS = {
    "not_found": "nothing on this timeline is at {path}; give a path as the results show it",
    "hide_refused": "{path} is what was said between you and the person, and is never hidden; "
    "hide results or files",
    "hide_before_cache": "{path} is before the cache point and stays as it is; "
    "only what is newer can be hidden",
    "hide_too_old": "{path} is too far back to be hidden; only the newest blocks can be",
}


def _refused(path: str, code: str) -> Hidden:
    words = _WORDS[code].format(path=brief(path))
    return Hidden(path=path, failure=Failure(code=code, message=words))


def _tail(state: State, tokens: Tokens, own: CallKey) -> int:
    """Return the number from which on blocks can be hidden."""
    # Walk backwards and spend the budget; the block that exhausts it still belongs to the tail. A
    # hidden block costs only its placeholder, so hiding extends the tail.
    room = state.settings.editable_tail_size_in_tokens
    first = state.last + 1
    for entry in state.backwards():
        if room <= 0:
            break
        if (entry.block.turn_id, entry.block.call_id) != own:
            first = entry.seq
            room -= _cost(entry, state, tokens)
    return first


def _cost(entry: Entry, state: State, tokens: Tokens) -> int:
    placeholder = state.placeholders.get(entry.seq)
    return cost_of(entry.block, tokens) if placeholder is None else tokens.text(placeholder)


def _hidden(
    path: str, entries: list[Entry], after: int, state: State, tokens: Tokens, stamp: Stamp
) -> Hidden:
    placeholder = f"[hidden; react.read(paths={json_text([path])}) shows it again]"
    cost = sum(cost_of(entry.block, tokens) for entry in entries)
    record = stamp.block(
        "timeline.hidden",
        path=path,
        text=placeholder,
        meta={"after": after, "before": state.last + 1},
        author="timeline",
    )
    freed = cost - tokens.text(placeholder) * len(entries)
    return Hidden(path=path, blocks=len(entries), tokens_freed=max(freed, 0), record=record)
