"""Messages of people and models as blocks: prompts, attachments, notes, answers.

Content too large for a block is cut there; all of it is kept as an artifact, named in the meta.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from callblocks.model.blocks import Author, Block, Type
from callblocks.model.citations import cited
from callblocks.model.outcomes import Notice
from callblocks.model.paths import FilePath, Message, MessagePath, NotesPath
from callblocks.timeline.emitting.file_blocks import TurnFile, content_block, file_digest
from callblocks.timeline.emitting.fitting import TEXT, cut, fits
from callblocks.timeline.emitting.holdings import Holdings
from callblocks.timeline.keeping.mime import mime_of
from callblocks.timeline.plain_json import whole
from callblocks.timeline.stamp import JSON, Stamp

__all__ = ("attachment_blocks", "message_block", "notes_block")

# The most bytes shown of an attached text.
_ATTACHED = 200_000

_MESSAGES: dict[Message, tuple[Type, Author]] = {
    "user.prompt": ("user.prompt", "user"),
    "assistant.completion": ("assistant.completion", "assistant"),
}


def message_block(stamp: Stamp, message: Message, text: str, holdings: Holdings) -> Block:
    """Return the person's message, or the answer; the meta lists the cited sources."""
    type, author = _MESSAGES[message]
    shown, meta = _fitting(whole(text), f"{message}.md", holdings)
    if sources := cited(text, holdings.pool.sids):
        meta["sources_used"] = sources
    path = str(MessagePath(stamp.turn, message))
    return stamp.block(type, path=path, mime="text/markdown", text=shown, meta=meta, author=author)


def notes_block(stamp: Stamp, text: str, holdings: Holdings) -> Block:
    """Return the model's text before a call."""
    shown, meta = _fitting(whole(text), f"{stamp.call}.notes.md", holdings)
    return stamp.block(
        "react.notes",
        path=str(NotesPath(stamp.turn, stamp.call)),
        mime="text/markdown",
        text=shown,
        meta={"channel": "timeline_text", **meta},
        author="assistant",
    )


def attachment_blocks(
    stamp: Stamp, path: FilePath, content: bytes, holdings: Holdings
) -> list[Block]:
    """Return the digest of an attachment and its content, both at its path."""
    mime = mime_of(path.name, content)
    kept = holdings.keep(path, content, mime)
    if isinstance(kept, Notice):
        # The message must not fail because a copy could not be kept; the file itself is in its
        # turn.
        kept = TurnFile(path=path, content=content, mime=mime)
    digest = stamp.block(
        "user.attachment",
        path=str(path),
        mime=JSON,
        text=file_digest(stamp, kept, holdings.tokens),
        meta={"role": "digest"},
        author="user",
    )
    shown = content_block(stamp, kept, text_limit=_ATTACHED)
    assert shown is not None, "every attachment has a block, if an empty one"
    return [digest, replace(shown, type="user.attachment", author="user")]


def _fitting(text: str, name: str, holdings: Holdings) -> tuple[str, dict[str, Any]]:
    """Return the text, or its start and the artifact that has all of it."""
    if fits(text):
        return text, {}
    try:
        artifact = holdings.artifacts(name, text.encode(), "text/markdown")
    except OSError:
        return cut(text, TEXT), {}
    hosting = holdings.artifacts.hosting(artifact)
    return cut(text, TEXT), {**hosting, "digest": artifact.digest}
