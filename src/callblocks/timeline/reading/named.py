"""Membership of files in a timeline: a block must name the file.

    a block at fi:turn_1.files/a.md           its content, or an attachment
    a digest whose artifact_path it is        a file of which nothing is shown
    a source of the pool with that path       a row that is a file

A file that merely lies in the folder is not part of the record. The current turn is an exception:
the files of its tools have no block yet, and can be read.
"""

from __future__ import annotations

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.paths import FilePath
from callblocks.model.sources import Source
from callblocks.timeline.state import State

__all__ = ("is_named",)


# Only the one field that is needed, so that decoding skips the rest of a digest.
class _Digest(msgspec.Struct):
    artifact_path: str = ""


def is_named(path: FilePath, state: State, turn: str) -> bool:
    """Return whether a block names the file, or it belongs to the current turn."""
    text = str(path)
    if path.turn == turn or state.at(text) or state.pool.find(Source(path=text)):
        return True
    # A linear search, but only for files without a block of their own: all others were found above.
    return any(_names(entry.block, text) for entry in state.backwards())


def _names(block: Block, path: str) -> bool:
    if block.meta.get("role") != "digest":
        return False
    try:
        return msgspec.json.decode(block.text or "", type=_Digest).artifact_path == path
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False
