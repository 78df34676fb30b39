"""What a model is sent: what happened before as its view, and this turn as a talk in its dialect.

    system      what it is told, and how to call tools
    user        the view of all earlier turns, then the date and the prompt
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
from msgspec.structs import replace

from callblocks.model.calls import Call, Item, Result
from callblocks.model.errors import Unwritable
from callblocks.model.parts import Part, TextPart, text_of
from callblocks.models.model import Message, Role
from callblocks.parsing.dialect import Dialect
from callblocks.session.dating import date_line
from callblocks.timeline.emitting.call_blocks import params_of
from callblocks.timeline.emitting.notices import ERROR_NOTICES
from callblocks.timeline.rounds import CallKey
from callblocks.tools.registry import Registry
from callblocks.views.model_view.neutral import Neutral
from callblocks.views.model_view.section import Section
from callblocks.views.model_view.view import ModelView

__all__ = ("Dialogue",)

_SPOKEN = ("react.notes", "react.tool.call", "react.tool.code", "assistant.completion")


class Dialogue:
    """Writes messages for a model that speaks `dialect`; `zone` is that of the date."""

    def __init__(self, dialect: Dialect, tools: Registry, system: str, zone: str = "UTC") -> None:
        self._zone = zone
        self._dialect = dialect
        self._tools = tools
        self._neutral = Neutral(tools)
        self._system = Message("system", (TextPart(system),))
        self._written: dict[int, tuple[list[Part | Call], list[Part]]] = {}

    def messages(self, view: ModelView, before: int) -> tuple[Message, ...]:
        """The messages of a turn; `before` is the last number of the timeline before it."""
        past, present = view.split(before)
        said = [Message(role, tuple(parts)) for role, parts in self._said(present)]
        if present and (line := date_line(present[0].block.ts, self._zone)):
            past = [*past, TextPart(line)]
        if past and said and said[0].role == "user":
            said[0] = Message("user", (*past, *said[0].parts))
        elif past:
            said.insert(0, Message("user", tuple(past)))
        return (self._system, *said)

    def _said(self, sections: Sequence[Section]) -> Iterable[tuple[Role, list[Part]]]:
        calls = {section.key: _call(section) for section in sections if _is_call(section)}
        said = {section.key: error for section in sections if (error := _error(section))}
        errors = {key: self._neutral(error) for key, error in said.items()}
        told = [section for section in sections if not _error(section)]
        for role, group in groupby(told, key=_role):
            own = list(group)
            # Writing takes long, and most messages stay as they are from round to round.
            shown = [*_flat(own), *(calls[one.key] for one in own if one.key in calls)]
            of, parts = self._written.get(own[0].first, (None, list[Part]()))
            if of != shown:
                is_own = role == "assistant"
                parts = self._spoken(own) if is_own else self._given(own, calls, errors)
                self._written[own[0].first] = shown, parts
            yield role, parts

    def _spoken(self, sections: Sequence[Section]) -> list[Part]:
        items: list[Item] = []
        code: str | None = None
        for section in sections:
            block = section.block
            if block.type == "react.tool.code":
                code = block.text
            elif _is_call(section):
                call = _call(section, code)
                items.append(replace(call, input=self._neutral.input(call.input)))
                code = None
            else:
                items.append(f"{(block.text or '').rstrip()}\n")
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
        """Prompts and notices as they are in the view, results as the dialect writes them.

        Some dialects number the results of a message: so all of it is written at once.
        """
        items: list[Item] = []
        written: set[CallKey] = set()
        for section in sections:
            key, call = section.key, calls.get(section.key)
            own = [one for one in sections if one.key == key and _is_result(one)]
            if call is None or not _is_result(section) or not self._can_say(call, own):
                items.append(text_of(section.parts()))
            elif key not in written:
                written.add(key)
                items += [call, _result(call, own, errors.get(key)), "\n"]
        parts = _flat(sections)
        try:
            text = self._dialect.write(items, self._tools) if written else None
        except Unwritable:
            text = None
        if text is None:
            return parts
        return [TextPart(text), *(part for part in parts if not isinstance(part, TextPart))]

    def _can_say(self, call: Call, sections: Sequence[Section]) -> bool:
        try:
            self._dialect.write([call, _result(call, sections, None)], self._tools)
        except Unwritable:
            return False
        return True


def _role(section: Section) -> Role:
    """Who says it; what stands for something that is not shown was not said by the model."""
    return "assistant" if section.block.type in _SPOKEN and section.is_whole else "user"


def _is_call(section: Section) -> bool:
    return section.block.type == "react.tool.call" and section.is_whole


def _is_result(section: Section) -> bool:
    return section.block.type == "react.tool.result" and section.line is None


def _call(section: Section, code: str | None = None) -> Call:
    """A call as its block says it; with `code`, which stands in a block of its own."""
    block = section.block
    given = params_of(block)
    if code is not None:
        given["code"] = code
    return Call(id=block.call_id, name=block.tool_id, input=given)


def _result(call: Call, sections: Sequence[Section], error: str | None) -> Result:
    """What a call gave; an error is told once: where there is more, the results tell it."""
    first = sections[0]
    if error and len(sections) == 1 and first.first == first.last:
        return Result(id=call.id, error=error)
    text = "".join(text_of(section.parts()) for section in sections)
    return Result(id=call.id, error=text) if error else Result(id=call.id, output=text)


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
    return f"{said.error.get('code', said.code)}: {said.message}"


class _ErrorNotice(msgspec.Struct):
    code: str
    message: str
    error: dict[str, Any] = {}


def _flat(sections: Iterable[Section]) -> list[Part]:
    return [part for section in sections for part in section.parts()]
