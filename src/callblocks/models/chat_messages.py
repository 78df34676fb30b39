"""Messages in the form of the chat completions API.

    text only     {"role": "user", "content": "Hello"}
    with images   {"role": "user", "content": [{"type": "text", …}, {"type": "image_url", …}]}

    with calls    {"role": "assistant", "content": "…", "tool_calls": [{"id": "c1", …}]}
    a result      {"role": "tool", "tool_call_id": "c1", "content": "…"}

A message of text is sent as a plain string, since small servers know only that. Only a person's
message carries images and documents; in any other a line stands for each.

An id that callblocks made is sent as nine letters and digits: the templates of Mistral's models
refuse every other form, and all servers accept this one.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from callblocks.model.calls import Call
from callblocks.model.parts import DocumentPart, ImagePart, Part, TextPart, text_of
from callblocks.model.specs import ToolSpec
from callblocks.models.model import Message

__all__ = ("chat_message", "chat_tool")

_ENDINGS = {"application/pdf": ".pdf"}
_MADE = "tc_"


def chat_message(message: Message, reasoning_field: str = "") -> dict[str, Any]:
    """Return one message, with the reasoning behind its calls under `reasoning_field`, if named."""
    # A plain string wherever possible: many small servers reject a list of parts.
    only_text = all(isinstance(part, TextPart) for part in message.parts)
    if only_text or message.role != "user":
        sent: dict[str, Any] = {"role": message.role, "content": text_of(list(message.parts))}
        if message.role == "tool":
            sent["tool_call_id"] = _wire_id(message.call_id)
        if message.calls:
            sent["tool_calls"] = [_chat_call(call) for call in message.calls]
        if message.reasoning and reasoning_field:
            sent[reasoning_field] = message.reasoning
        return sent
    given = [part for part in message.parts if not isinstance(part, TextPart) or part.text]
    return {"role": "user", "content": [_part(part) for part in given]}


def chat_tool(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool as the API describes it."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _chat_call(call: Call) -> dict[str, Any]:
    given = json.dumps(call.input, ensure_ascii=False, default=repr)
    function = {"name": call.name, "arguments": given}
    return {"id": _wire_id(call.id), "type": "function", "function": function}


def _wire_id(id: str) -> str:
    return sha256(id.encode(errors="replace")).hexdigest()[:9] if id.startswith(_MADE) else id


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
