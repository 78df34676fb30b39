"""Layout of blocks in the text that a model reads.

    [User say]: …                             a prompt
    [AI Agent say]: …                         notes; an answer is `[AI Agent answer]: …`
    [TOOL CALL abc].call react.write          then `payload: {…}`
    [TOOL RESULT abc].result fetch            then `path: …`, and the content
    [TOOL RESULT abc].artifact react.write    then `path: …`, `physical: …`, `digest: {…}`,
                                              and the content: text, an image or a document

Every word that is not of this layout is neutralised: texts for the tools at hand, ids, names and
paths for any tools and dialects. Where a file is hosted is never shown, nor
is `managed`. JSON begins behind its label: at the start of a line it would look like a call. No
block makes this raise: blocks may come from anywhere.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from typing import Any, cast

from callblocks.core.blocks import Block
from callblocks.core.json_values import json_text
from callblocks.dialects import dialects
from callblocks.views.model_view.neutral import HIDDEN, Neutral

__all__ = (
    "digest_of",
    "header",
    "id_word",
    "labelled",
    "placeholder",
    "role_of",
    "said",
    "short",
    "shown_json",
    "word",
)

_ID = re.compile(r"[\w.:/+~@ …-]+")
_NOT_SHOWN = frozenset(("hosted_uri", "rn", "key", "managed"))
_DEPTH = 200
"""Levels of JSON; `json_text` writes no more of them."""

_TOO_DEEP = {"left_out": "JSON that is nested too deeply"}
_DIGESTED = ("react.tool.result", "user.attachment")
_HEADERS = {
    "user.prompt": "[User say]: ",
    "user.attachment": "[User attachment]",
    "assistant.completion": "[AI Agent answer]: ",
    "react.notes": "[AI Agent say]: ",
    "react.tool.code": "[TOOL CALL {id}].code",
    "react.tool.call": "[TOOL CALL {id}].call {tool}",
    "react.notice": "[TOOL CALL {id}].notice",
    "react.tool.result": "[TOOL RESULT {id}].{part} {tool}",
    "timeline.damaged": "[damaged block]",
}
_NAME = 200
"""Characters of an id, a tool or a type in a header."""


def header(block: Block, part: str = "") -> str:
    """The line, or the start of it, that says what a block is."""
    line = _HEADERS.get(block.type, "[unknown block]")
    return line.format(id=id_word(short(block.call_id)), tool=word(short(block.tool_id)), part=part)


def short(text: str, size: int = _NAME) -> str:
    """A name of any length, in one that a line can hold."""
    return text if len(text) <= size else f"{text[:size]}…"


@lru_cache(maxsize=4096)
def id_word(text: str) -> str:
    """An id in the brackets of a header: one that could end them is quoted."""
    return word(text) if _ID.fullmatch(text) else _any_reader()(json.dumps(text), fresh=False)


@lru_cache(maxsize=4096)
def word(text: str) -> str:
    """An id, a name or a path on one line: one with controls in it, or a quote first, is quoted."""
    is_plain = text.isprintable() and not text.startswith('"')
    return _any_reader()(text if is_plain else json.dumps(text), fresh=False)


@cache
def _any_reader() -> Neutral:
    """Return what neutralises a word for any tools and any dialect: few words have a marker."""
    return Neutral(None, dialects.values())


def said(block: Block, neutral: Neutral) -> str:
    """The text of a block behind a label, on the same line."""
    return neutral(block.text or "", fresh=False)


def labelled(block: Block, label: str, neutral: Neutral) -> str:
    """The text of a block behind its label: JSON on the same line, other text on the next."""
    if block.mime.endswith("json"):
        return f"{label}: {said(block, neutral)}\n"
    return f"{label}:\n{neutral(block.text or '')}\n"


def placeholder(text: str, neutral: Neutral) -> str:
    """Return the placeholder of a hidden block."""
    rest = text.removeprefix(HIDDEN)
    return HIDDEN + neutral(rest, fresh=False) if rest != text else neutral(text, fresh=False)


def role_of(block: Block) -> str:
    """Return the role of a result or an attachment: digest, content, status, report, or ""."""
    role = block.meta.get("role") if block.type in _DIGESTED else ""
    return role if isinstance(role, str) else ""


def digest_of(block: Block) -> dict[str, Any] | None:
    """The fields of a digest; `None` for a block that is none."""
    if role_of(block) != "digest":
        return None
    fields = _read(block.text or "")
    return fields if fields and isinstance(fields.get("artifact_path"), str) else None


def shown_json(text: str, neutral: Neutral) -> str:
    """JSON of a digest or a notice without what is not for the model, else the text itself."""
    if any(f'"{name}"' in text for name in _NOT_SHOWN) and (fields := _read(text)) is not None:
        text = json_text(_without(fields))
    return neutral(text, fresh=False)


def _read(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    except RecursionError:
        return dict(_TOO_DEEP)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _without(value: Any, depth: int = 0) -> Any:
    if depth > _DEPTH:
        return value
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {n: _without(one, depth + 1) for n, one in fields if n not in _NOT_SHOWN}
    if isinstance(value, list):
        return [_without(one, depth + 1) for one in cast("list[Any]", value)]
    return value
