"""Whether a file belongs to a timeline: a block of it names the file.

    a block at fi:turn_1.files/a.md           its content, or an attachment
    a digest whose artifact_path it is        a file of which nothing is shown
    a source of the pool with that path       a row that is a file

What only lies in the folder is not part of what happened. The turn that runs is not over: what
its tools made has no block yet, and can be read.
"""

from __future__ import annotations

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.paths import FilePath
from callblocks.model.sources import Source
from callblocks.timeline.state import State

__all__ = ("is_named",)


class _Digest(msgspec.Struct):
    artifact_path: str = ""


def is_named(path: FilePath, state: State, turn: str) -> bool:
    """Whether a block names the file, or it is of the turn that runs."""
    text = str(path)
    if path.turn == turn or state.at(text) or state.pool.find(Source(path=text)):
        return True
    # Only files without a block of their own are looked for so: all others were found.
    return any(_names(entry.block, text) for entry in state.backwards())


def _names(block: Block, path: str) -> bool:
    if block.meta.get("role") != "digest":
        return False
    try:
        return msgspec.json.decode(block.text or "", type=_Digest).artifact_path == path
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False
