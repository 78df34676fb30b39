"""Which blocks are shown as images and documents: those that a provider is sure to take.

    image/png, image/jpeg, image/gif, image/webp     if the content begins like one
    application/pdf                                  if it begins with %PDF

A provider refuses a whole conversation for one image that is none, now and ever after. So the
type alone is not believed: a web server, or whoever wrote the block, says what it likes.
"""

from __future__ import annotations

import binascii
import re

from callblocks.model.blocks import Block
from callblocks.model.parts import DocumentPart, ImagePart

__all__ = ("binary_part",)

_PDF = "application/pdf"
_BEGINNINGS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF[\s\S]{4}WEBP"),
    _PDF: re.compile(rb"%PDF"),
}


def binary_part(block: Block) -> ImagePart | DocumentPart | None:
    """An image or a PDF; nothing for any other block, nor for one that says it is and is not."""
    beginning = _BEGINNINGS.get(block.mime)
    if beginning is None or not block.base64:
        return None
    content = _decoded(block.base64)
    if content is None or not beginning.match(content):
        return None
    part = DocumentPart if block.mime == _PDF else ImagePart
    return part(block.mime, block.base64)


def _decoded(base64: str) -> bytes | None:
    try:
        return binascii.a2b_base64(base64, strict_mode=True)
    except ValueError:
        return None
