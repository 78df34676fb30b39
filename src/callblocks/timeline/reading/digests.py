"""The newest digest of a file on a timeline.

    kind, visibility, channel, description        what the file is for, whatever is in it now
    edited, write_warning, sources_used           valid for that very content

A file that is read again keeps them. The rest of a digest belongs to the call that reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.paths import CallPath, FilePath
from callblocks.timeline.rounds import call_key
from callblocks.timeline.state import State

__all__ = ("digest_of", "fields_kept")

_OF_FILE = ("kind", "visibility", "channel", "description")
_OF_CONTENT = ("edited", "write_warning", "sources_used")


def digest_of(path: FilePath, state: State) -> dict[str, Any]:
    """Return the fields of the newest digest of a file without an error; none where there
    is none.
    """
    text = str(path)
    found = (_fields(block) for block in _digests(text, state))
    well = (one for one in found if one.get("artifact_path") == text and "error" not in one)
    nothing: dict[str, Any] = {}
    return next(well, nothing)


# A file may have been edited since: facts about its content only hold while the digest is the same.
def fields_kept(digest: dict[str, Any], sha256: str) -> dict[str, Any]:
    """Return the fields of a digest that also hold for the file with this content."""
    is_same = digest.get("sha256") == sha256
    names = (*_OF_FILE, *_OF_CONTENT) if is_same else _OF_FILE
    return {name: digest[name] for name in names if name in digest}


def _digests(path: str, state: State) -> Iterator[Block]:
    """Yield the blocks that may be its digest, the likely ones first: most files have own
    blocks.
    """
    own = [entry.block for entry in reversed(state.at(path))]
    yield from own
    for turn, call in dict.fromkeys(map(call_key, own)):
        results = state.at(str(CallPath(turn, call, "result"))) if call else ()
        yield from (entry.block for entry in reversed(results))
    if not own:
        yield from (entry.block for entry in state.backwards())


def _fields(block: Block) -> dict[str, Any]:
    if block.meta.get("role") != "digest":
        return {}
    try:
        return msgspec.json.decode(block.text or "", type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return {}
