"""A block: one entry of a timeline, and the values around it.

    Block(type="react.notes", author="assistant", turn_id="turn_1", ts="2030-01-31T12:00:00Z",
          path="ar:turn_1.react.notes.abc", text="Drafting the summary")

A block has `text` or `base64`, or neither. Empty fields are not written.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

__all__ = (
    "ESCAPE",
    "RECORDS",
    "TYPES",
    "Author",
    "Block",
    "DocumentPart",
    "Entry",
    "ImagePart",
    "Part",
    "TextPart",
    "Type",
    "binary_line",
    "text_of",
)

Type: TypeAlias = Literal[
    "user.prompt",
    "user.attachment",
    "assistant.completion",
    "react.notes",
    "react.tool.code",
    "react.tool.call",
    "react.notice",
    "react.tool.result",
    "timeline.approval",
    "timeline.hidden",
    "timeline.sources",
    "timeline.settings",
    "timeline.turn",
]
Author: TypeAlias = Literal["user", "assistant", "tool", "timeline"]

# Every type of a block, with its meaning.
TYPES: dict[str, str] = {
    "user.prompt": "what the person wrote",
    "user.attachment": "a file that the person gave: a digest, then its content",
    "assistant.completion": "the answer that ends a turn",
    "react.notes": "what the model says before a call",
    "react.tool.code": "the code that a call runs, before the call",
    "react.tool.call": "a call: tool, id and parameters",
    "react.notice": "something about a call that the model should know",
    "react.tool.result": "what a call gave: a digest, a content, a status or a report",
    "timeline.approval": "a record: a person was asked about a call, and what came of that",
    "timeline.hidden": "a record: the blocks at a path are hidden from the model",
    "timeline.sources": "a record: sources that came into the pool, with their numbers",
    "timeline.settings": "a record: settings that counts and views of this timeline go by",
    "timeline.turn": "a record: a turn is over; its meta says how, and what it cost",
    "timeline.damaged": "stands where a block can no longer be read; never written",
}

# Types of blocks that describe other blocks, and are not shown themselves.
RECORDS = (
    "timeline.approval",
    "timeline.hidden",
    "timeline.sources",
    "timeline.settings",
    "timeline.turn",
)


class Block(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry. `author` is its origin; `ts` is ISO 8601 with a Z.

    `meta` holds what is not for the model: hosting, the digest, the channel.
    """

    type: str
    author: str
    turn_id: str
    ts: str
    mime: str = "text/plain"
    path: str = ""
    call_id: str = ""
    tool_id: str = ""
    text: str | None = None
    base64: str | None = None
    meta: dict[str, Any] = {}


class Entry(msgspec.Struct, frozen=True):
    """A block in its place: its number from 1, and the hash of all blocks up to it, in hex."""

    seq: int
    block: Block
    hash: str = ""


# --- Parts of a message to a model: text, images and documents, in their order ---
#
# `cache` marks the end of a prefix that a provider may cache: everything up to that part is the
# same text in the next view.

# The sign that disarms a marker in a text for a model; it is removed from what the model copies.
ESCAPE = "␛"


class TextPart(msgspec.Struct, frozen=True, tag="text"):
    """Text; it ends with a line end."""

    text: str
    cache: bool = False


class ImagePart(msgspec.Struct, frozen=True, tag="image"):
    """An image, as base64."""

    mime: str
    base64: str
    cache: bool = False


class DocumentPart(msgspec.Struct, frozen=True, tag="document"):
    """A PDF, as base64."""

    mime: str
    base64: str
    cache: bool = False


Part: TypeAlias = TextPart | ImagePart | DocumentPart


def text_of(parts: list[Part]) -> str:
    """Return the text of all parts, with one line for an image or a document."""
    return "".join(
        part.text if isinstance(part, TextPart) else f"{binary_line(part)}\n" for part in parts
    )


def binary_line(part: ImagePart | DocumentPart) -> str:
    """Return the line that represents an image or a document where only text is possible."""
    kind = "image" if isinstance(part, ImagePart) else "document"
    return f"<{kind} media_type={part.mime} b64_len={len(part.base64)}>"
