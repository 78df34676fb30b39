"""What a model is sent: what happened before as its view, and this turn as a talk in its dialect.

    system      what it is told, and how to call tools
    user        the view of all earlier turns, then the prompt
    assistant   its own reply, with its calls, in its dialect
    user        what they gave, in its dialect
    …

All of it comes from the timeline, so a program that starts again sends the same. What a dialect
cannot say stands as in the view. Texts of others are made harmless by the view before they are
written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from callblocks.model.calls import Call, Item, Result
from callblocks.model.errors import Unwritable
from callblocks.model.parts import Part, TextPart, text_of
from callblocks.models.model import Message, Role
from callblocks.parsing.dialect import Dialect
from callblocks.timeline.emitting.call_blocks import params_of
from callblocks.timeline.emitting.notices import ERROR_NOTICES
from callblocks.timeline.rounds import CallKey
from callblocks.tools.registry import Registry
from callblocks.views.model_view.neutral import neutralize
from callblocks.views.model_view.section import Section
from callblocks.views.model_view.view import ModelView

__all__ = ("Dialogue",)

_SPOKEN = ("react.notes", "react.tool.call", "react.tool.code", "assistant.completion")


class Dialogue:
    """Writes messages for a model that speaks `dialect`."""

    def __init__(self, dialect: Dialect, tools: Registry, system: str) -> None:
        self._dialect = dialect
        self._tools = tools
        self._system = Message("system", (TextPart(system),))

    def messages(self, view: ModelView, before: int) -> tuple[Message, ...]:
        """The messages of a turn; `before` is the last number of the timeline before it."""
        past, present = view.split(before)
        said = [Message(role, tuple(parts)) for role, parts in self._said(present)]
        if said and said[0].role == "user":
            first, *said = said
            return (self._system, Message("user", (*past, *first.parts)), *said)
        return (
            (self._system, Message("user", tuple(past)), *said) if past else (self._system, *said)
        )

    def replies(self, view: ModelView, before: int) -> int:
        """How often the model has replied in this turn."""
        return sum(message.role == "assistant" for message in self.messages(view, before))

    def _said(self, sections: Sequence[Section]) -> Iterable[tuple[Role, list[Part]]]:
        calls = {section.key: _call(section) for section in sections if _is_call(section)}
        errors = {section.key: error for section in sections if (error := _error(section))}
        told = [section for section in sections if not _error(section)]
        for role, group in groupby(told, key=_role):
            own = list(group)
            if role == "assistant":
                yield role, self._spoken(own)
            else:
                yield role, self._given(own, calls, errors)

    def _spoken(self, sections: Sequence[Section]) -> list[Part]:
        items: list[Item] = []
        for section in sections:
            if not section.is_whole:
                items.append(text_of(section.parts()))
            elif _is_call(section):
                items.append(_call(section))
            elif section.block.type != "react.tool.code":
                items.append(f"{(section.block.text or '').rstrip()}\n\n")
        try:
            return [TextPart(self._dialect.write(items, self._tools))]
        except Unwritable:
            return _flat(sections)

    def _given(
        self,
        sections: Sequence[Section],
        calls: Mapping[CallKey, Call],
        errors: Mapping[CallKey, str],
    ) -> list[Part]:
        """Prompts and notices as they are in the view, results as the dialect writes them."""
        parts: list[Part] = []
        for section in sections:
            call = calls.get(section.key)
            if call is None or section.block.type != "react.tool.result":
                parts += section.parts()
            else:
                parts += self._result(section, call, errors.get(section.key))
        return parts

    def _result(self, section: Section, call: Call, error: str | None) -> list[Part]:
        """A call and what it gave; an error is told once, and nothing else of that call."""
        result = Result(id=call.id, output=None if error else text_of(section.parts()), error=error)
        try:
            text = TextPart(f"{self._dialect.write([call, result], self._tools)}\n")
        except Unwritable:
            return section.parts()
        return [text, *(part for part in section.parts() if not isinstance(part, TextPart))]


def _role(section: Section) -> Role:
    return "assistant" if section.block.type in _SPOKEN else "user"


def _is_call(section: Section) -> bool:
    return section.block.type == "react.tool.call"


def _call(section: Section) -> Call:
    block = section.block
    return Call(id=block.call_id, name=block.tool_id, input=params_of(block))


def _error(section: Section) -> str:
    """What a notice says of a call that failed; the result says it again."""
    if section.block.type != "react.notice":
        return ""
    try:
        said = msgspec.json.decode(section.block.text or "", type=_ErrorNotice)
    except msgspec.MsgspecError:
        return ""
    if said.code not in ERROR_NOTICES:
        return ""
    return neutralize(f"{said.error.get('code', said.code)}: {said.message}")


class _ErrorNotice(msgspec.Struct):
    code: str
    message: str
    error: dict[str, Any] = {}


def _flat(sections: Iterable[Section]) -> list[Part]:
    return [part for section in sections for part in section.parts()]
