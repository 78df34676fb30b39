"""The messages of a request: the timeline in the form in which the model itself writes.

    system      the instructions, with the tools
    user        the date and the prompt
    assistant   the model's reply with its calls
    user        their results; in the native form `tool` messages, one per call
    …

Two forms
    TextDialogue     Calls and results in a dialect. What the dialect cannot write is shown as the
                     model view shows it.
    NativeDialogue   Calls and results as fields of the API, which demands exactly one `tool`
                     message after each call. Calls that the model wrote as plain text, so that
                     its server did not recognise them, stay text, with their results in tags.

Why the form matters: a model that is shown its calls in a form that it does not write itself soon
stops calling.

Invariants
    - The messages are a pure function of the timeline and the settings. A restarted program sends
      the same bytes, and each turn starts with the messages of the turn before, so prompt caches
      hit. `_messages` keeps what was written and compares what it was made of.
    - The roles alternate, as chat templates demand (`_joined`).
    - A folded or hidden block stands in a user message: the model did not say it.
    - Texts of others are neutralised by the view before they arrive here.

Small models get reminders of their tools below each prompt, and of answering below results in text:
after a few turns they no longer follow the system prompt.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from callblocks.core.blocks import Block, Part, TextPart, text_of
from callblocks.core.calls import Call, Item, Result
from callblocks.core.errors import Unwritable
from callblocks.core.json_values import json_text
from callblocks.core.outcomes import Outcome
from callblocks.core.specs import ToolSpec, ToolSpecs
from callblocks.models.model import Message, NativeNames, Request, Role
from callblocks.parsing.dialect import Dialect
from callblocks.session.model_choice import SessionSettings
from callblocks.session.reply import FRAME, RESULT_TAGS, WIRE_ID, without_markup
from callblocks.timeline.codec.call_blocks import ERROR_NOTICES, has_code_elsewhere, params_of
from callblocks.timeline.timeline import CallKey, Timeline
from callblocks.toolkits.office.times import day_words
from callblocks.tools.registry import Registry
from callblocks.views.model_view.neutral import Neutral
from callblocks.views.model_view.section import Section
from callblocks.views.model_view.view import ModelView

__all__ = (
    "Dialogue",
    "NativeDialogue",
    "Talk",
    "TextDialogue",
    "WrittenMessages",
    "date_line",
)

# --- The date line of a turn: `[Date]: Monday 2026-11-16 (Europe/Berlin)` ---
#
# The date is that of the turn's first block. It does not change while the turn runs, and a resumed
# turn shows the same date. The line stands beside the newest prompt, because a line near the top
# that changes daily would invalidate the model's prompt cache.


def date_line(ts: str, zone: str) -> str:
    """Return the line for a block's time in a zone; "" if the time or the zone is invalid."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        day = datetime.fromisoformat(ts).astimezone(ZoneInfo(zone)).date()
    except (ValueError, OverflowError, OSError, ZoneInfoNotFoundError):
        return ""
    return f"[Date]: {day_words(day)} ({zone})\n"


# --- The messages of a request: the timeline in the form in which the model itself writes ---

# Messages, keyed by the number of the first entry that they show, with the values that they were
# made of.
WrittenMessages: TypeAlias = dict[int, tuple[list[Part | Call], list[Message]]]

_SPOKEN = ("react.notes", "react.tool.call", "react.tool.code", "assistant.completion")
_WORDS = re.compile(r"\w")
_NO_RESULT = "(no result is known)\n"
_NO_ANSWER = "(no answer)\n"
_NO_BEGINNING = "(the beginning is not shown)\n"
_CALL_REMINDER = "(Use a tool if one fits. You do not know its result before you call it.)\n"
_ANSWER_REMINDER = (
    "Answer the question in words with this result. Only if a part of it is still unknown, call "
    "the tool for that part.\n"
)
_REPEATED_REMINDER = (
    "You made this call before, and it gave the same. Do not call again: answer the question in "
    "words now.\n"
)


class Dialogue(ABC):
    """The writer of messages; `zone` is the time zone of the date line.

    `written` caches messages across rounds and turns: writing is expensive, and most messages stay
    the same. A cache belongs to one form of one conversation.
    """

    # The tools that the request passes to the server beside the messages.
    tools: tuple[ToolSpec, ...] = ()

    # Add reminders of calling and of answering.
    _reminds = False

    def __init__(
        self,
        system: str,
        tools: ToolSpecs,
        zone: str = "UTC",
        written: WrittenMessages | None = None,
        spoken: Dialect | None = None,
    ) -> None:
        # The dialect in which the model may write calls; the view must be the one for it.
        self.spoken = spoken
        self._zone = zone
        self._neutral = Neutral(tools, filter(None, [spoken]))
        self._system = Message("system", (TextPart(system),))
        self._written: WrittenMessages = {} if written is None else written

    def messages(self, view: ModelView) -> tuple[Message, ...]:
        """Return the messages for all that a view shows."""
        top, sections = view.split(0)
        messages = list(_joined(self._messages(sections)))
        shown = {section.first for section in sections}
        # Forget messages that the view no longer shows, or the cache would grow with the timeline.
        for first in self._written.keys() - shown:
            del self._written[first]
        # The top (plan, folded sections) belongs to the user. Templates demand that the first
        # message after the system prompt is the user's.
        if messages and messages[0].role == "user":
            messages[0] = Message("user", (*top, *messages[0].parts))
        else:
            messages.insert(0, Message("user", tuple(top) or (TextPart(_NO_BEGINNING),)))
        return (self._system, *messages)

    def _messages(self, sections: Sequence[Section]) -> Iterator[Message]:
        """Yield the messages of each run of sections that one side said.

        A cached message is reused if it was made of the same values: the parts of the run, the
        dates, calls and errors that belong to it, and the calls that it answers. No other value may
        go into a message, or a new session would write another message for the same timeline.
        """
        # `made_of` is the cache key and must list every input of `_spoken` and `_given`. It
        # compares values instead of hashing text: comparing parts that are the same objects is
        # cheap.
        dates = self._dates(sections)
        calls = {section.key: _call(section) for section in sections if _is_call(section)}
        failures = {section.key: error for section in sections if (error := _error(section))}
        errors = {key: self._neutral(error) for key, error in failures.items()}
        repeated = _repeated(calls, sections) if self._reminds else frozenset[CallKey]()
        told = [section for section in sections if not _error(section)]
        answered: dict[CallKey, Call] = {}
        for role, group in groupby(told, key=_role):
            own = list(group)
            keys = dict.fromkeys((*(section.key for section in own), *answered))
            made_of = [
                *_flat(own),
                *(TextPart(dates.get(section.first, "")) for section in own),
                *(TextPart(errors.get(key, "")) for key in keys),
                *(calls[key] for key in keys if key in calls),
                *(call for key, call in answered.items() if key in repeated),
            ]
            of, messages = self._written.get(own[0].first, (None, list[Message]()))
            if of != made_of:
                given = _Given(own, calls, errors, dates, answered, repeated, self._reminds)
                items = self._items(own) if role == "assistant" else []
                messages = self._spoken(own, items) if items else self._given(given)
                self._written[own[0].first] = made_of, messages
            answered = {one.key: calls[one.key] for one in own if _is_call(one)}
            yield from messages
        yield from self._unanswered(answered.values())

    def _items(self, sections: Sequence[Section]) -> list[Item]:
        """Return the prose and calls of the model, with the code of each call back in its input.

        The timeline has copied text without escape signs; here they are added again. Beside calls,
        prose without any word is left out: a tag or a brace that was no part of a call. Result tags
        alone are left out, too. A model that saw them would take them for its own way of calling or
        answering.
        """
        items: list[Item] = []
        has_calls = any(map(_is_call, sections))
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
                text = RESULT_TAGS.sub("", block.text or "").strip("\n")
                bare = without_markup(text)
                if not has_calls:
                    items.append(f"{text.rstrip()}\n" if bare else _NO_ANSWER)
                elif _WORDS.search(bare):
                    items.append(f"{text.rstrip()}\n")
        return items

    def _dates(self, sections: Sequence[Section]) -> dict[int, str]:
        """Return the line with the date of each turn, by the first entry that is shown of it."""
        dates: dict[int, str] = {}
        turns: set[str] = set()
        for section in sections:
            block = section.block
            if block.author == "user" and section.line is None and block.turn_id not in turns:
                turns.add(block.turn_id)
                dates[section.first] = date_line(block.ts, self._zone)
        return dates

    @abstractmethod
    def _spoken(self, sections: Sequence[Section], items: Sequence[Item]) -> list[Message]:
        """Write what the model said: prose, and calls."""

    @abstractmethod
    def _given(self, given: _Given) -> list[Message]:
        """Write what the model was given: prompts, notices, results."""

    def _unanswered(self, calls: Iterable[Call]) -> Iterable[Message]:
        """Write what stands for the results of the last calls, where nothing follows them."""
        return ()


class _Given(msgspec.Struct, frozen=True):
    """Sections that the model did not say, and the calls that they answer.

    `calls` and `errors` cover the whole view, `answered` the calls of the message before. Ids are
    unique within one turn only, so all mappings use the key of turn and id. `repeated` are the
    calls that equal an earlier one of their turn and had the same result. With `reminds` a reminder
    stands below each prompt.
    """

    sections: Sequence[Section]
    calls: Mapping[CallKey, Call]
    errors: Mapping[CallKey, str]
    dates: Mapping[int, str]
    answered: Mapping[CallKey, Call]
    repeated: frozenset[CallKey] = frozenset()
    reminds: bool = False

    def results(self, key: CallKey) -> list[Section]:
        """Return the sections that are results of one call."""
        return [one for one in self.sections if one.key == key and _is_result(one)]

    def parts(self) -> list[Part]:
        """Return all sections as the view shows them, each turn after its date."""
        return [part for section in self.sections for part in self.shown(section)]

    def shown(self, section: Section) -> list[Part]:
        """Return a section as the view shows it, after the date that it has."""
        date = self.dates.get(section.first)
        is_prompt = section.block.type == "user.prompt" and section.line is None
        end = _CALL_REMINDER if is_prompt and self.reminds else ""
        around = [[TextPart(text)] if text else [] for text in (date, end)]
        return [*around[0], *section.parts(), *around[1]]


class TextDialogue(Dialogue):
    """The writer for a model that speaks `dialect` as text."""

    def __init__(
        self,
        dialect: Dialect,
        tools: Registry,
        system: str,
        zone: str = "UTC",
        written: WrittenMessages | None = None,
    ) -> None:
        super().__init__(system, tools, zone, written, dialect)
        self._dialect = dialect
        self._known = tools

    def _spoken(self, sections: Sequence[Section], items: Sequence[Item]) -> list[Message]:
        try:
            text = self._dialect.write(items, self._known)
        except Unwritable:
            return [Message("assistant", tuple(_flat(sections)))]
        return [Message("assistant", (TextPart(text),))]

    def _given(self, given: _Given) -> list[Message]:
        if tags := self._dialect.result_tags:
            return [Message("user", tuple(_tagged(given, *tags)))]
        return [Message("user", tuple(self._written_results(given) or given.parts()))]

    def _written_results(self, given: _Given) -> list[Part]:
        """Write results as the dialect itself does; return [] if it cannot.

        Some dialects number the results of one message, so all of them are written at once.
        """
        items: list[Item] = []
        written: set[CallKey] = set()
        for section in given.sections:
            # A dialect's `write` takes a call and its result together. Sections that are no
            # results, or that the dialect cannot write, become prose between them.
            key, call = section.key, given.calls.get(section.key)
            own = given.results(key)
            if call is None or not _is_result(section) or not self._can_say(call, own):
                items.append(text_of(given.shown(section)))
            elif key not in written:
                written.add(key)
                items += [call, _result(call, own, given.errors.get(key)), "\n"]
        try:
            text = self._dialect.write(items, self._known) if written else ""
        except Unwritable:
            text = ""
        others = (part for part in given.parts() if not isinstance(part, TextPart))
        return [TextPart(text), *others] if text else []

    def _can_say(self, call: Call, sections: Sequence[Section]) -> bool:
        try:
            self._dialect.write([call, _result(call, sections, None)], self._known)
        except Unwritable:
            return False
        return True


class NativeDialogue(Dialogue):
    """The writer for a server that takes tools, under names that the server allows.

    `result_tags` are those of the model's family, for the results of calls that stand in the text;
    a family without tags is shown native calls only. With `reminds` the model is reminded of
    calling and of answering.
    """

    def __init__(
        self,
        names: NativeNames,
        system: str,
        zone: str = "UTC",
        written: WrittenMessages | None = None,
        spoken: Dialect | None = None,
        *,
        result_tags: tuple[str, str] | None = None,
        reminds: bool = False,
    ) -> None:
        super().__init__(system, names.read_specs, zone, written, spoken)
        self._names = names
        self.tools = names.specs
        self._tags = result_tags
        self._reminds = reminds

    def _spoken(self, sections: Sequence[Section], items: Sequence[Item]) -> list[Message]:
        if self._are_text(item for item in items if isinstance(item, Call)):
            return [Message("assistant", (TextPart(_as_written(items)),))]
        text = "".join(item for item in items if isinstance(item, str))
        calls = _with_wire_ids(self._names.native(item) for item in items if isinstance(item, Call))
        # Some servers reject an assistant message with calls that lacks the reasoning which they
        # sent with it.
        thoughts = (section.block.meta.get("reasoning") for section in sections)
        reasoning = "".join(one for one in thoughts if isinstance(one, str)) if calls else ""
        parts = (TextPart(text),) if text else ()
        return [Message("assistant", parts, tuple(calls), reasoning=reasoning)]

    def _given(self, given: _Given) -> list[Message]:
        """Write one `tool` message for each answered call, then the rest as a user message.

        The results of calls that stand in the text are a user message, too: an API accepts a `tool`
        message only after a native call.
        """
        if self._tags is not None and self._are_text(given.answered.values()):
            return [Message("user", tuple(_tagged(given, *self._tags, self._result_end(given))))]
        messages: list[Message] = []
        pictures: list[Part] = []
        for key, call in zip(given.answered, _with_wire_ids(given.answered.values()), strict=True):
            own = given.results(key)
            # A call without a result still gets a message: a request with an unanswered call is
            # refused.
            if not own:
                messages.append(_tool_message(call, given.errors.get(key) or _NO_RESULT))
                continue
            result = _result(call, own, given.errors.get(key))
            text = result.error if result.error is not None else str(result.output)
            messages.append(_tool_message(call, text))
            # No server accepts a picture in a result: pictures follow in a user message.
            pictures += (part for part in _flat(own) if not isinstance(part, TextPart))
        others = [
            section
            for section in given.sections
            if section.key not in given.answered or not _is_result(section)
        ]
        if messages:
            # Templates demand alternating roles and treat results as the user's. So notices are
            # added to the last result, and a placeholder answer stands before a prompt that follows
            # results directly.
            notices = [one for one in others if one.block.type == "react.notice"]
            messages[-1] = replace(messages[-1], parts=(*messages[-1].parts, *_flat(notices)))
            others = [one for one in others if one not in notices]
            if others:
                messages.append(Message("assistant", (TextPart(_NO_ANSWER),)))
        rest = [part for section in others for part in given.shown(section)]
        if rest or pictures:
            messages.append(Message("user", (*pictures, *rest)))
        return messages

    def _unanswered(self, calls: Iterable[Call]) -> Iterable[Message]:
        unanswered = list(calls)
        if self._are_text(unanswered):
            return [Message("user", (TextPart(_NO_RESULT),))]
        return [_tool_message(call, _NO_RESULT) for call in _with_wire_ids(unanswered)]

    def _result_end(self, given: _Given) -> str:
        """Return the reminder below results; without one, a model that repeats calls keeps
        repeating.
        """
        if not self._reminds:
            return ""
        return _REPEATED_REMINDER if given.answered.keys() <= given.repeated else _ANSWER_REMINDER

    def _are_text(self, calls: Iterable[Call]) -> bool:
        """Return whether all calls of a message are shown in its text, as the model wrote them."""
        known = list(calls)
        return bool(self._tags and known) and all(FRAME in call.extra for call in known)


def _repeated(calls: Mapping[CallKey, Call], sections: Iterable[Section]) -> frozenset[CallKey]:
    """Return the calls that equal an earlier call of their turn in tool, input and result.

    A result that is more than text (a picture, a file) counts as new.
    """
    results = {one.key: one.plain_text for one in sections if _is_result(one)}
    earlier: set[tuple[str, str, str]] = set()
    repeated: set[CallKey] = set()
    for key, call in calls.items():
        result = results.get(key)
        if result is None:
            continue
        same = key[0], result, json.dumps([call.name, call.input], sort_keys=True, default=repr)
        if same in earlier:
            repeated.add(key)
        earlier.add(same)
    return frozenset(repeated)


def _as_written(items: Sequence[Item]) -> str:
    """Write prose and calls, each call in the frame in which the model wrote it."""
    lines: list[str] = []
    for item in items:
        if isinstance(item, Call):
            before, after = item.extra[FRAME]
            given = json.dumps(item.input, ensure_ascii=False, default=repr)
            lines.append(f"{before}{given}{after}".rstrip("\n") + "\n")
        else:
            lines.append(str(item))
    return "".join(lines)


def _tagged(given: _Given, opening: str, closing: str, end: str = "") -> Iterator[Part]:
    """Yield all parts, each result between the tags in which the model's family knows results.

    `end` stands below the results.
    """
    tagged: set[CallKey] = set()
    # The tags name no call, so results stand in the order of the calls, not of their ends.
    for key, call in given.answered.items():
        sections = given.results(key)
        if not sections:
            continue
        result = _result(call, sections, given.errors.get(key))
        text = str(result.output if result.error is None else result.error).rstrip("\n")
        # A text that contains the closing tag would end its own result early: show it untagged.
        if closing not in text:
            tagged.add(key)
            yield TextPart(f"{opening}\n{text}\n{closing}\n")
            yield from (part for part in _flat(sections) if not isinstance(part, TextPart))
    if tagged and end:
        yield TextPart(end)
    for section in given.sections:
        if section.key not in tagged or not _is_result(section):
            yield from given.shown(section)


def _joined(messages: Iterable[Message]) -> Iterator[Message]:
    """Join neighbouring user messages: templates demand alternating roles."""
    for role, group in groupby(messages, key=lambda one: one.role):
        own = list(group)
        if role == "user":
            yield Message("user", tuple(part for one in own for part in one.parts))
        else:
            yield from own


def _with_wire_ids(calls: Iterable[Call]) -> list[Call]:
    """Return the calls of one message under the ids that the server itself gave them.

    Some templates print the id into the prompt and accept one format only. The timeline's id
    replaces an id that the server used twice.
    """
    sent: dict[str, Call] = {}
    for call in calls:
        given = str(call.extra.get(WIRE_ID) or call.id)
        id = call.id if given in sent else given
        sent[id] = replace(call, id=id)
    return list(sent.values())


def _tool_message(call: Call, text: str) -> Message:
    return Message("tool", (TextPart(text),), call_id=call.id)


def _role(section: Section) -> Role:
    """Return the role; a placeholder for something hidden was not said by the model."""
    return "assistant" if section.block.type in _SPOKEN and section.is_whole else "user"


def _is_call(section: Section) -> bool:
    return section.block.type == "react.tool.call" and section.is_whole


def _is_result(section: Section) -> bool:
    return section.block.type == "react.tool.result" and section.line is None


def _call(section: Section, code: str | None = None) -> Call:
    """Return the call of a block; `code` is the input that stands in a block of its own."""
    block = section.block
    given = params_of(block)
    if code is not None and has_code_elsewhere(block):
        given["code"] = code
    extra: dict[str, Any] = {WIRE_ID: block.meta[WIRE_ID]} if WIRE_ID in block.meta else {}
    match block.meta.get(FRAME):
        case [str(before), str(after)]:
            extra[FRAME] = (before, after)
        case _:
            pass
    return Call(id=block.call_id, name=block.tool_id, input=given, extra=extra)


def _result(call: Call, sections: Sequence[Section], error: str | None) -> Result:
    """Return the result of a call; where results have more content, they hold the error."""
    first = sections[0]
    if error and len(sections) == 1 and first.first == first.last:
        return Result(id=call.id, error=error)
    text = "".join(text_of(section.parts()) for section in sections)
    if len(sections) == 1 and first.plain_text is not None:
        # The result stands beside its call: a heading and a path would only invite copying.
        text = f"{first.plain_text}\n"
    return Result(id=call.id, error=text) if error else Result(id=call.id, output=text)


def _error(section: Section) -> str:
    """Return the error of a call that a notice reports, else ""; the result repeats it."""
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


# --- The requests of one turn, round by round, from the current timeline ---


class Talk:
    """The talk of one turn; `before` is the last number of the timeline before it, and `hidden` are
    the turns of other branches.

    `views` gives what a model is shown by the dialect that it speaks. `round` counts the replies
    and `calls` the calls in them. A turn that goes on after a crash goes on counting.
    """

    def __init__(
        self,
        timeline: Timeline,
        views: Callable[[Dialect | None], ModelView],
        spoken: Dialect | None,
        turn: str,
        before: int,
        hidden: Container[str] = (),
    ) -> None:
        self.turn = turn
        self._hidden = hidden
        self._left_out = 0
        self.round = self.calls = 0
        self.prompt = ""
        self._timeline = timeline
        self._views = views
        self._view = views(spoken)
        self._results: dict[str, str | None] = {}
        self._last: dict[str, str | None] = {}
        self._catch_up()
        for entry in timeline.entries(after=before):
            if entry.block.turn_id == turn:
                self._look_back(entry.block)

    def shows(self, seq: int) -> bool:
        """Return whether the model sees a block; it will see new blocks."""
        return seq > self._view.last or self._view.shows(seq)

    def came(self, outcome: Outcome) -> None:
        """Keep one more result of the round for the next request."""
        self._results[outcome.id] = _text(outcome)

    def put_in_order(self, calls: Iterable[Call]) -> None:
        """Put the results of a round in the order of its calls, however these ended."""
        self._results = dict.fromkeys(call.id for call in calls) | self._results

    def begin_round(self) -> None:
        """Count a round; `request` gives what the model is asked in it."""
        self._catch_up()
        self.round += 1
        self._last, self._results = self._results, {}

    def request(self, dialogue: Dialogue, settings: SessionSettings, grammar: str = "") -> Request:
        """Return what the model is asked in this round, in the form that `dialogue` writes."""
        self._view = self._views(dialogue.spoken)
        self._catch_up()
        return Request(
            messages=dialogue.messages(self._view),
            prompt=self.prompt,
            round=self.round,
            results=tuple((id, text) for id, text in self._last.items() if text is not None),
            chat=self._timeline.name,
            max_tokens=settings.max_tokens,
            grammar=grammar,
            tools=dialogue.tools,
        )

    def _catch_up(self) -> None:
        entries = self._timeline.entries(after=max(self._view.last, self._left_out))
        for entry in entries:
            # Of other branches the model is shown nothing.
            if entry.block.turn_id in self._hidden:
                self._left_out = entry.seq
            else:
                self._view.feed((entry,))

    def _look_back(self, block: Block) -> None:
        """Take what an earlier process did in this turn."""
        # A result may bring a block of another round before the model again.
        number = block.meta.get("round") if block.author == "assistant" else None
        if isinstance(number, int) and number > self.round:
            self.round, self._results = number, {}
        match block.type:
            case "user.prompt":
                self.prompt = block.text or ""
            case "react.tool.call":
                self.calls += not block.meta.get("written")
                self._results.setdefault(block.call_id)
            case "react.tool.result" if block.path == f"tc:{self.turn}.{block.call_id}.result":
                # An error in the digest goes before an output beside it.
                self._results[block.call_id] = self._results.get(block.call_id) or _said(block)
            case _:
                pass


def _text(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"{outcome.error.code}: {outcome.error.message}"
    return outcome.output if isinstance(outcome.output, str) else json_text(outcome.output)


def _said(block: Block) -> str:
    """Return the content of a result, or the error in its digest."""
    if block.meta.get("role") != "digest":
        return block.text or ""
    try:
        said = msgspec.json.decode(block.text or "{}", type=_Digest)
    except msgspec.MsgspecError:
        return ""
    return f"{said.error.get('code', '')}: {said.error.get('message', '')}" if said.error else ""


class _Digest(msgspec.Struct):
    error: dict[str, Any] = {}
