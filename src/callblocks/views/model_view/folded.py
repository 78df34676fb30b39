"""The one line that stands for what is folded, and says how to get it back.

What calls of the kinds `read` and `hide` brought or hid (`react.read`, `react.hide`) can be read
where it was made: their lines say no more than that they were called.
"""

from __future__ import annotations

from callblocks.timeline.emitting.call_blocks import result_kind
from callblocks.timeline.plain_json import json_text
from callblocks.views.model_view.layout import header, id_word, word
from callblocks.views.model_view.section import Section

__all__ = ("again", "files_in", "files_of", "is_message", "is_spent", "round_line", "section_line")

_MESSAGES = ("user.prompt", "assistant.completion", "react.notes")
_SPENT = ("read", "hide")
_PATHS = 3
_LONGEST = 200
"""Characters of a path, a name or an id that a line can hold."""


def round_line(sections: list[Section]) -> str:
    """A call, and what came of it."""
    block = sections[0].block
    results = [one for one in sections if one.block.type == "react.tool.result"]
    faults = (one.status for one in results if one.status != "ok")
    status = next(faults, "ok") if results else "no result"
    name = f"[TOOL CALL {id_word(_short(block.call_id))}] {word(_short(block.tool_id))} → {status}"
    if is_spent(sections[0]):
        return f"{name}\n"
    files = files_in(results)
    others = [section.paragraphs[0].path for section in results]
    told = "".join(f", {word(path)}" for path in files[:_PATHS])
    return f"{name}{told}{again(files or others)}\n"


def section_line(section: Section) -> str:
    """A message, or attachments."""
    how = again([paragraph.path for paragraph in section.paragraphs])
    return f"{header(section.block).rstrip()} (folded, about {section.cost} tokens{how})\n"


def files_in(sections: list[Section]) -> list[str]:
    """The files among results and attachments, each once."""
    paths = [
        one.path
        for section in sections
        for one in section.paragraphs
        if one.is_artifact or section.block.type == "user.attachment"
    ]
    return _readable(paths)


def files_of(section: Section) -> list[str]:
    """The files that a section shows, or that its line stands for."""
    if is_spent(section):
        return []
    return files_in([section]) if section.line is None else section.files


def again(paths: list[str], what: str = "it") -> str:
    """How to read paths again, as the end of a line."""
    few = _readable(paths)[:_PATHS]
    return f"; read {what} again with react.read(paths={word(json_text(few))})" if few else ""


def is_message(section: Section) -> bool:
    """Whether it is what the person or the model said."""
    return section.block.type in _MESSAGES


def is_spent(section: Section) -> bool:
    """Whether it is of a call that nobody needs to see again.

    Of a call through `custom`, the call block alone says so; it comes first, and stands for all.
    """
    return result_kind(section.block) in _SPENT and not is_message(section)


def _readable(paths: list[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if path and len(path) <= _LONGEST]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
