"""Recovery of a file that is no longer in its folder: from the artifacts, else from its block.

A block has the content only if its SHA-256 is the noted one: a text that was cut or redacted is not
the file. A recovered file is written back to its folder.
"""

from __future__ import annotations

from base64 import b64decode
from contextlib import suppress
from hashlib import sha256

from callblocks.model.blocks import Block
from callblocks.model.errors import TimelineError, ToolError
from callblocks.model.paths import FilePath
from callblocks.timeline.emitting.holdings import Holdings
from callblocks.timeline.state import State

__all__ = ("GONE", "noted_digest", "recovered")

GONE = "the file is no longer there, and what was kept of it is gone or damaged too"


def noted_digest(path: FilePath, state: State) -> str:
    """Return the SHA-256 of the newest content that a block notes; "" where none does."""
    metas = (entry.block.meta for entry in reversed(state.at(str(path))))
    contents = (meta.get("digest") for meta in metas if meta.get("role") == "content")
    return next((digest for digest in contents if isinstance(digest, str)), "")


def recovered(path: FilePath, digest: str, state: State, holdings: Holdings) -> bytes | None:
    """Return the content with that digest, and write it back; `None` where it is lost."""
    try:
        content = holdings.artifacts.read(digest)
    except (TimelineError, OSError):
        # Newest first. The digest decides: a block may hold a cut or redacted text of the file.
        contents = (_content(entry.block) for entry in reversed(state.at(str(path))))
        same = (one for one in contents if one and sha256(one).hexdigest() == digest)
        content = next(same, None)
    if content is not None:
        with suppress(ToolError, OSError):
            holdings.files.write(path, content)
    return content


def _content(block: Block) -> bytes:
    if block.base64 is None:
        return (block.text or "").encode(errors="replace")
    with suppress(ValueError):
        return b64decode(block.base64)
    return b""
