"""The parts of a message to a model: text, images and documents, in their order.

`cache` marks the end of what a provider may keep: everything up to that part is the same text
in the next view.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = ("ESCAPE", "DocumentPart", "ImagePart", "Part", "TextPart", "binary_line", "text_of")

ESCAPE = "␛"
"""The sign in a text for a model that keeps it from acting; a copy of the text comes without it."""


class TextPart(msgspec.Struct, frozen=True, tag="text"):
    """Text; it ends with the end of a line."""

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
    """The text of all parts; an image or a document stands as one line."""
    return "".join(
        part.text if isinstance(part, TextPart) else f"{binary_line(part)}\n" for part in parts
    )


def binary_line(part: ImagePart | DocumentPart) -> str:
    """The line that stands for an image or a document where there is only text."""
    kind = "image" if isinstance(part, ImagePart) else "document"
    return f"<{kind} media_type={part.mime} b64_len={len(part.base64)}>"
