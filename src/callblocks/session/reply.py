"""A model's reply, read as it arrives: told at once, and put together for the timeline.

    prose · call · prose · call · prose      each call has what was said before it

Nothing of the text is lost: what opened like a call and is none stays in the prose.

Calls come out of the text, by a parser, or in the API's own form, in slots. Slots have no closing
marker and may be interleaved, so all of them are read at the end of the reply, and take the place
among the calls at which they opened. A server that reads a call and leaves its text in the content
gives it twice: then the one of the text counts, and the other one is dropped with a word. So is a
native call that comes again under the same id.

A server that takes tools looks for the markers of its template. A model that writes calls without
any, as bare JSON or in a code fence, is read here: such a call keeps its `frame`, the text around
its input, so that the model is later shown the call as it wrote it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from callblocks.core.calls import Call, Result, Span
from callblocks.core.events import (
    CallEnded,
    CallInput,
    CallReady,
    CallResult,
    CallStarted,
    Event,
    Malformed,
    ModelWrote,
    Problem,
    Reasoning,
    Text,
    TurnEvent,
)
from callblocks.core.outcomes import Failure, Outcome
from callblocks.core.paths import call_segment
from callblocks.models.model import NATIVE, NativeDelta, UsedMode
from callblocks.parsing.limits import USUAL
from callblocks.parsing.loop import Engine
from callblocks.parsing.values.strict_json import read_json
from callblocks.parsing.values.tolerant_json import Tolerant
from callblocks.views.model_view.neutral import restore_input

__all__ = (
    "FRAME",
    "NATIVE",
    "RESULT_TAGS",
    "WIRE_ID",
    "CallIds",
    "Reply",
    "WrittenCall",
    "random_id",
    "read_native_input",
    "without_markup",
)

# --- Ids of calls on a timeline, assigned as soon as the model's text allows it ---
#
# An id that the model wrote and that is new in the turn is kept. An id is replaced by `tc_` and
# twelve hex digits if the parser made it up (`tool-call-1`), if the turn has used it already, or if
# a path cannot hold it. From then on the model, too, sees only the new id.


def random_id() -> str:
    """Return a random id."""
    return f"tc_{secrets.token_hex(6)}"


class CallIds:
    """Assigns ids within one turn; `is_taken` tells which ids the timeline has."""

    def __init__(
        self, turn: str, is_taken: Callable[[str], bool], make: Callable[[], str] = random_id
    ) -> None:
        self._turn = turn
        self._is_taken = is_taken
        self._make = make
        self._given: set[str] = set()

    def give(self, said: str) -> str:
        """Return the id for a call that has the id `said` in the model's text.

        Every id that is given is free on the timeline and one segment of a path.
        """
        id = said
        while not self._is_free(id):
            id = self._make()
        self._given.add(id)
        return id

    def _is_free(self, said: str) -> bool:
        # The recorder writes the id as one segment of a path. If that segment would differ, the id
        # that the model uses and the path on the timeline would not match.
        if call_segment(self._turn, said) != said or said in self._given:
            return False
        return not self._is_taken(said)


# --- The input of a call that came in the API's own form: JSON text, as models really write it ---


def read_native_input(text: str, *, is_cut: bool) -> dict[str, Any]:
    """Return the input, or raise `ValueError` with the reason why the text is none.

    Empty text is an empty input. Text that is almost JSON is repaired, unless the reply was cut:
    then the missing rest is unknown. A JSON string that contains the object is decoded a second
    time.
    """
    if not text.strip():
        return {}
    value: object = _read(text, is_cut)
    if isinstance(value, str):
        return read_native_input(value, is_cut=is_cut)
    if not isinstance(value, dict):
        raise ValueError(f"the input is an object, not {text[:60]!r}")
    return cast("dict[str, Any]", value)


def _read(text: str, is_cut: bool) -> Any:
    try:
        return read_json(text, USUAL.depth)
    except ValueError:
        if is_cut:
            raise
    tolerant = Tolerant(text, ended=True, max_depth=USUAL.depth)
    # The tolerant reader stops at the end of the first value. Anything after it means that the text
    # was not one object, and guessing which one to run would be wrong.
    value, end = tolerant.read(tolerant.solid(0))
    if tolerant.solid(end) != len(text):
        raise ValueError("something follows the object")
    return value


# --- A model's reply, read as it arrives: told at once, and put together for the timeline ---

_WIRE_ID = re.compile(r"[!-~]{1,64}")
# The tags in which templates show results; a model must not write them.
RESULT_TAGS = re.compile(r"</?(?:tool_response|TOOL_RESPONSE)>")
_MARKUP = re.compile(r"</?[\w|:-]{1,40}/?>|```\w*")
_UNREAD = "unread-call"
_WAY_OUT = "nothing ran; write the call as you were told, or put a mention of it into backticks"
# The field of a native call with the id that its server gave it.
WIRE_ID = "wire_id"
# The field of a call in text with the text before and after its input.
FRAME = "frame"
_LONGEST_FRAME = 300
# Beginnings of a call without markers, or of the next one in a list.
_UNMARKED = ("{", "[", ",", "```")


class WrittenCall(msgspec.Struct, eq=False):
    """A call of a reply: what was said before it, and the result that the text itself carried.

    It is `carried` where that result counts: then nothing runs. `frame` is the text around the
    input of a call without markers, in mixed mode.
    """

    call: Call
    before: str
    result: Result | None = None
    carried: bool = False
    frame: tuple[str, str] | None = None

    def outcome(self) -> Outcome:
        """Return the outcome that the text itself states."""
        said = self.result or Result(id=self.call.id)
        failed = said.error is not None
        error = Failure(code="tool_error", message=said.error or "") if failed else None
        return Outcome(id=self.call.id, name=self.call.name, output=said.output, error=error)


class _NativeCall:
    """A call in the API's own form that is being written.

    `at` is how many calls were written before it, `before` what was said.
    """

    def __init__(self, key: int, id: str, at: int, before: str) -> None:
        self.key = key
        self.id = id
        self.at = at
        self.before = before
        self.name = ""
        self.text: list[str] = []


class Reply:
    """Takes the text of one reply; `written` are all its calls.

    With `carries` a result that the text itself has counts; without, it stays beside its call.
    `keys` counts the calls of the turn, over all its replies; `round` is that of this one.
    `tool_name` gives a tool name for the one that the model knows it by, and `mode` is that of the
    request. `signed` says that the model was shown texts with signs: they are taken out of what it
    copied.
    """

    def __init__(
        self,
        parser: Engine,
        ids: CallIds,
        tell: Callable[[TurnEvent], None],
        *,
        carries: bool = False,
        keys: int = 0,
        round: int = 0,
        tool_name: Callable[[str], str] = str,
        mode: UsedMode = "text",
        signed: bool = False,
    ) -> None:
        self.written: list[WrittenCall] = []
        self.is_cut = self.is_filtered = False
        # The reply says nothing, and the model is asked once more.
        self.is_silent = False
        # The model was not told of its tools.
        self.is_unheard = False
        self.broken: list[Malformed] = []
        # One message for each name that stands in the form of a call and was not read.
        self.unread: list[str] = []
        self.length = 0
        self.keys = keys
        self._round = round
        # How many characters the parser was fed.
        self._fed = 0
        self._parser = parser
        self._ids = ids
        self._tell = tell
        self._carries = carries
        self.mode: UsedMode = mode
        self._tool_name = tool_name
        self._native: dict[int, _NativeCall] = {}
        self._read: set[tuple[str, str]] = set()
        self._is_ended = False
        self._signed = signed
        # All text so far, in mixed mode.
        self._text: list[str] = []
        # The span of the input of each call in the text.
        self._inputs: dict[int, tuple[int, int]] = {}
        self._prose: list[str] = []
        self._thinking: list[str] = []
        self._open: dict[int, tuple[int, str]] = {}
        self._at: dict[int, WrittenCall] = {}

    @property
    def calls(self) -> list[WrittenCall]:
        """The calls that wait for a result."""
        return [written for written in self.written if not written.carried]

    @property
    def is_empty(self) -> bool:
        """Return whether the reply has neither words nor calls; markup alone is no word."""
        return not self.written and not without_markup(self.rest)

    @property
    def rest(self) -> str:
        """Return the text after the last call."""
        return "".join(self._prose)

    @property
    def reasoning(self) -> str:
        """Return the text that the model marked as thinking."""
        return "".join(self._thinking)

    def feed(self, text: str) -> None:
        """Take a piece of text."""
        self.length += len(text)
        self._fed += len(text)
        if self.mode == "mixed":
            self._text.append(text)
        self._take(self._parser.feed(text))

    def think(self, text: str) -> None:
        """Take a piece of reasoning that came apart from the text."""
        self.length += len(text)
        self._think(Reasoning(text, self._here))

    def open_native(self, delta: NativeDelta) -> None:
        """Take the id and the name of a call in the API's own form, as far as a delta has them."""
        self.length += len(delta.name)
        call = self._native.get(delta.slot)
        if call is None:
            self.keys += 1
            call = _NativeCall(self.keys, delta.id, len(self.written), self.rest)
            self._native[delta.slot] = call
            self._prose.clear()
        call.id = call.id or delta.id
        if delta.name and not call.name:
            call.name = self._tool_name(delta.name)
            self._pass(CallStarted(call.key, None, call.name, self._here))
            for text in call.text:
                self._pass(CallInput(call.key, text, self._here))

    def feed_native(self, slot: int, text: str) -> None:
        """Take more of the input of such a call."""
        if not text:
            return
        call = self._native[slot]
        self.length += len(text)
        call.text.append(text)
        if call.name:
            self._pass(CallInput(call.key, text, self._here))

    def end(self, reason: str) -> None:
        """Take the model's own word that its reply is over, and why."""
        self.is_cut, self.is_filtered = reason == "length", reason == "content_filter"
        self._is_ended = not self.is_cut and not self.is_filtered

    def close(self) -> None:
        """Read what is left; no more text comes."""
        self._take(self._parser.close())
        self._keep_frames()
        natives = list(self._native.values())
        in_text = Counter(_fingerprint(one.call.name, one.call.input) for one in self.written)
        read = [self._read_native(call, in_text) for call in natives]
        # From the last to the first: what is put in then never moves a place that is still to come.
        for call, written in reversed(list(zip(natives, read, strict=True))):
            if isinstance(written, WrittenCall):
                self.written.insert(call.at, written)
            else:
                self._give_back(call, written)

    def refuse_results(self) -> None:
        """Break a reply that calls nothing and tells results: it plays the tool's part."""
        if not self.written and (tag := RESULT_TAGS.search(self.rest)):
            code = "written-result"
            words = f"you wrote the result {tag[0]} yourself; call the tool, and wait for it"
            self.broken.append(Malformed(code, self.rest, self._here, words))
            # Its text was told as prose.
            self._pass(Malformed(code, "", self._here, words))

    def refuse_unread(self) -> None:
        """Break a reply for the calls in it that were not read; the person heard of them."""
        self.broken += [Malformed(_UNREAD, "", self._here, words) for words in self.unread]

    def _read_native(self, call: _NativeCall, in_text: Counter[str]) -> WrittenCall | str:
        """Read a call, or return the text that stands for it: it is none, or the text has it."""
        text, ended = "".join(call.text), True
        try:
            if not call.name:
                raise ValueError("it names no tool")
            value = self._restored(read_native_input(text, is_cut=not self._is_ended))
        except ValueError as error:
            if self._is_ended or not call.name:
                return self._break_native(call, f"a call in the API's own form: {error}")
            value, ended = {}, False
        twin = _fingerprint(call.name, value)
        is_again = bool(call.id) and (call.id, twin) in self._read
        self._read.add((call.id, twin))
        if in_text[twin] or is_again:
            # It was announced, so its end is, too; the model need not hear of it.
            in_text[twin] -= not is_again
            words = f"{call.name} came twice, in two forms or under one id: it runs once"
            self._pass(Malformed("native.twice", "", self._here, words, call.key))
            return ""
        own = Call(
            id=self._ids.give(call.id),
            name=call.name,
            input=value,
            dialect=NATIVE,
            span=self._here,
            extra={WIRE_ID: call.id} if _WIRE_ID.fullmatch(call.id) else {},
            ended=ended,
        )
        self._pass(CallReady(call.key, own, self._here))
        return WrittenCall(own, call.before)

    def _break_native(self, call: _NativeCall, detail: str) -> str:
        text = " ".join(filter(None, (call.name, "".join(call.text))))
        key = call.key if call.name else None
        event = Malformed("native.input", text, self._here, detail, key)
        self.broken.append(event)
        self._pass(event)
        return text

    def _give_back(self, call: _NativeCall, text: str) -> None:
        """Put what was said before a call that is none, and its text, before what comes after."""
        if call.at < len(self.written):
            after = self.written[call.at]
            after.before = call.before + text + after.before
        else:
            self._prose.insert(0, call.before + text)

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            match event:
                case Text(text=text):
                    if text:
                        self._prose.append(text)
                        self._tell(ModelWrote(event=event, round=self._round))
                case Reasoning():
                    self._think(event)
                case CallStarted():
                    self._start(event)
                case CallInput(index=index, span=(start, end)):
                    self._inputs[index] = self._inputs.get(index, (start, end))[0], end
                    self._pass(replace(event, index=self._open[index][0]))
                case CallReady():
                    self._ready(event)
                case CallResult(index=index, result=result):
                    self._result(self._at[index], result)
                case Malformed():
                    self._break(event)
                case Problem(code="unread-call", detail=detail):
                    self.unread.append(f"{detail}: {_WAY_OUT}")
                    self._pass(event)
                case _:
                    pass

    def _keep_frames(self) -> None:
        """Keep the text around the input of each call that has no markers."""
        text = "".join(self._text)
        for index, (start, end) in self._inputs.items():
            written = self._at.get(index)
            if written is None or not _is_input(text[start:end], written.call):
                continue
            first, last = written.call.span
            frame = text[first:start], text[end:last]
            if frame[0].lstrip().startswith(_UNMARKED) and sum(map(len, frame)) <= _LONGEST_FRAME:
                written.frame = frame

    @property
    def _here(self) -> Span:
        """Return the span of what has no text of its own: the end of the text so far."""
        return (self._fed, self._fed)

    def _pass(self, event: Event) -> None:
        self._tell(ModelWrote(event=event, round=self._round))

    def _think(self, event: Reasoning) -> None:
        if event.text:
            self._thinking.append(event.text)
            self._pass(event)

    def _start(self, event: CallStarted) -> None:
        self.keys += 1
        id = "" if event.id is None else self._ids.give(event.id)
        self._open[event.index] = (self.keys, id)
        name = self._tool_name(event.name)
        self._pass(replace(event, index=self.keys, id=id or None, name=name))

    def _ready(self, event: CallReady) -> None:
        call, (key, id) = event.call, self._open.pop(event.index)
        own = replace(
            call,
            id=id or self._ids.give(call.id),
            name=self._tool_name(call.name),
            input=self._restored(call.input),
        )
        self._at[event.index] = written = WrittenCall(own, self.rest)
        self.written.append(written)
        self._prose.clear()
        self._pass(replace(event, index=key, call=own))

    def _restored(self, given: dict[str, Any]) -> dict[str, Any]:
        return restore_input(given) if self._signed else given

    def _result(self, written: WrittenCall, result: Result) -> None:
        if written.result is not None:
            return
        written.result, written.carried = result, self._carries
        if written.carried:
            self._tell(CallEnded(outcome=written.outcome(), written=True))

    def _break(self, event: Malformed) -> None:
        self._prose.append(event.text)
        self.broken.append(event)
        key = None if event.index is None else self._open.pop(event.index, (None, ""))[0]
        self._pass(replace(event, index=key))


def without_markup(text: str) -> str:
    """Return a text without tags and the marks of code fences, and without blanks around it."""
    return _MARKUP.sub("", text).strip()


def _is_input(text: str, call: Call) -> bool:
    """Return whether a text is the input of a call as one JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.keys() == call.input.keys()


def _fingerprint(name: str, value: dict[str, Any]) -> str:
    """Return what is the same for two forms of one call; text may say a number in quotes."""
    return json.dumps([name, _as_text(value)], sort_keys=True)


def _as_text(value: Any) -> Any:
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        return {key: _as_text(item) for key, item in given.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in cast("list[Any]", value)]
    return value if isinstance(value, str) else json.dumps(value, default=repr)
