"""Parts of a message to a model: text, images and documents, in their order.

`cache` marks the end of a prefix that a provider may cache: everything up to that part is the same
text in the next view.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = ("ESCAPE", "DocumentPart", "ImagePart", "Part", "TextPart", "binary_line", "text_of")

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
