"""Messages as the chat completions API takes them.

    text only     {"role": "user", "content": "Hello"}
    with images   {"role": "user", "content": [{"type": "text", …}, {"type": "image_url", …}]}

A message of text is sent as a plain string, since small servers know only that. Only a person's
message carries images and documents; in any other a line stands for each.
"""

from __future__ import annotations

from typing import Any

from callblocks.model.parts import DocumentPart, ImagePart, Part, TextPart, text_of
from callblocks.models.model import Message

__all__ = ("chat_message",)

_ENDINGS = {"application/pdf": ".pdf"}


def chat_message(message: Message) -> dict[str, Any]:
    """One message."""
    only_text = all(isinstance(part, TextPart) for part in message.parts)
    if only_text or message.role != "user":
        return {"role": message.role, "content": text_of(list(message.parts))}
    given = [part for part in message.parts if not isinstance(part, TextPart) or part.text]
    return {"role": "user", "content": [_part(part) for part in given]}


def _part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": text}
        case ImagePart():
            return {"type": "image_url", "image_url": {"url": _url(part)}}
        case DocumentPart(mime=mime):
            name = f"document{_ENDINGS.get(mime, '')}"
            return {"type": "file", "file": {"filename": name, "file_data": _url(part)}}


def _url(part: ImagePart | DocumentPart) -> str:
    return f"data:{part.mime};base64,{part.base64}"
