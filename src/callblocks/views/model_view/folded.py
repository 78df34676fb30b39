"""The one line that stands for what is folded, and says how to get it back."""

from __future__ import annotations

from callblocks.timeline.plain_json import json_text
from callblocks.views.model_view.layout import header, id_word, word
from callblocks.views.model_view.section import Section

__all__ = ("round_line", "section_line")

_PATHS = 3
_LONGEST = 200
"""Characters of a path, a name or an id that a line can hold."""


def round_line(sections: list[Section]) -> str:
    """A call, and what came of it."""
    block = sections[0].block
    results = [one for one in sections if one.block.type == "react.tool.result"]
    faults = (one.status for one in results if one.status != "ok")
    status = next(faults, "ok") if results else "no result"
    files = [one.path for section in results for one in section.paragraphs if one.is_artifact]
    others = [section.paragraphs[0].path for section in results]
    told = "".join(f", {word(path)}" for path in _few(files))
    name = f"[TOOL CALL {id_word(_short(block.call_id))}] {word(_short(block.tool_id))}"
    return f"{name} → {status}{told}{_again(files or others)}\n"


def section_line(section: Section) -> str:
    """A message, or attachments."""
    again = _again([paragraph.path for paragraph in section.paragraphs])
    return f"{header(section.block).rstrip()} (folded, about {section.cost} tokens{again})\n"


def _again(paths: list[str]) -> str:
    few = _few(paths)
    return f"; read it again with react.read(paths={word(json_text(few))})" if few else ""


def _few(paths: list[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if path and len(path) <= _LONGEST][:_PATHS]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
