"""How blocks stand in the text that a model reads.

    [User say]: …                             a prompt
    [AI Agent say]: …                         notes; an answer is `[AI Agent answer]: …`
    [TOOL CALL abc].call react.write          then `payload: {…}`
    [TOOL RESULT abc].result fetch            then `path: …`, and the content
    [TOOL RESULT abc].artifact react.write    then `path: …`, `physical: …`, `digest: {…}`,
                                              and the content: text, an image or a document

Every word that is not of this layout is neutralised. Where a file is hosted is never shown, nor
is `managed`. JSON begins behind its label: at the start of a line it would look like a call.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, cast

from callblocks.model.blocks import Block
from callblocks.timeline.plain_json import json_text
from callblocks.views.model_view.neutral import neutralize
from callblocks.views.model_view.parts import DocumentPart, ImagePart, Part
from callblocks.views.model_view.reserved import HIDDEN

__all__ = (
    "binary_part",
    "digest_of",
    "header",
    "id_word",
    "labelled",
    "placeholder",
    "role_of",
    "said",
    "shown_json",
    "word",
)

_ID = re.compile(r"[\w.:/+~@ …-]+")
_NOT_SHOWN = frozenset(("hosted_uri", "rn", "key", "managed"))
_HEADERS = {
    "user.prompt": "[User say]: ",
    "user.attachment": "[User attachment]",
    "assistant.completion": "[AI Agent answer]: ",
    "react.notes": "[AI Agent say]: ",
    "react.tool.code": "[TOOL CALL {id}].code",
    "react.tool.call": "[TOOL CALL {id}].call {tool}",
    "react.notice": "[TOOL CALL {id}].notice",
    "react.tool.result": "[TOOL RESULT {id}].{part} {tool}",
}


def header(block: Block, part: str = "") -> str:
    """The line, or the start of it, that says what a block is."""
    line = _HEADERS[block.type]
    return line.format(id=id_word(block.call_id), tool=word(block.tool_id), part=part)


@lru_cache(maxsize=4096)
def id_word(text: str) -> str:
    """An id in the brackets of a header: one that could end them is quoted."""
    return word(text) if _ID.fullmatch(text) else neutralize(json.dumps(text), fresh=False)


@lru_cache(maxsize=4096)
def word(text: str) -> str:
    """An id, a name or a path on one line: one with controls in it, or a quote first, is quoted."""
    is_plain = text.isprintable() and not text.startswith('"')
    return neutralize(text if is_plain else json.dumps(text), fresh=False)


def said(block: Block) -> str:
    """The text of a block behind a label, on the same line."""
    return neutralize(block.text or "", fresh=False)


def labelled(block: Block, label: str) -> str:
    """The text of a block behind its label: JSON on the same line, other text on the next."""
    if block.mime.endswith("json"):
        return f"{label}: {said(block)}\n"
    return f"{label}:\n{neutralize(block.text or '')}\n"


def placeholder(text: str) -> str:
    """What stands for a hidden block."""
    rest = text.removeprefix(HIDDEN)
    return HIDDEN + neutralize(rest, fresh=False) if rest != text else neutralize(text, fresh=False)


def binary_part(block: Block) -> Part | None:
    """An image or a PDF; nothing for any other block."""
    if not block.base64:
        return None
    if block.mime.startswith("image/"):
        return ImagePart(block.mime, block.base64)
    return DocumentPart(block.mime, block.base64) if block.mime == "application/pdf" else None


def role_of(block: Block) -> str:
    """What a block is among its results: `digest`, `content`, `status`, `report`, or ""."""
    role = block.meta.get("role")
    return role if isinstance(role, str) else ""


def digest_of(block: Block) -> dict[str, Any] | None:
    """The fields of a digest; `None` for a block that is none."""
    if role_of(block) not in ("", "digest") or '"artifact_path"' not in (block.text or ""):
        return None
    fields = _read(block.text or "")
    return fields if fields and isinstance(fields.get("artifact_path"), str) else None


def shown_json(text: str) -> str:
    """JSON of a digest or a notice without what is not for the model, else the text itself."""
    if any(f'"{name}"' in text for name in _NOT_SHOWN) and (fields := _read(text)) is not None:
        text = json_text(_without(fields))
    return neutralize(text, fresh=False)


def _read(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {name: _without(field) for name, field in fields if name not in _NOT_SHOWN}
    if isinstance(value, list):
        return [_without(one) for one in cast("list[Any]", value)]
    return value
