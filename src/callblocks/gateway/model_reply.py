"""One attempt of a model at a reply: pieces in, events that may be sent out.

What was sent is never taken back, so the reader holds what may have to go:

    a call        is begun on the wire with its first certain argument, not with its name. With a
                  firewall, for a strict tool, and beside a call in another form it waits for its
                  end
    prose         waits where the client demands a call, where the model is asked again, where it is
                  not known yet whether the server told the model of its tools, and where the
                  settings say so. Behind something broken it waits, too: it is sent in its order
                  if the model is not asked again

Invariants
    - Calls do not interleave, and their indexes have no gap (`Sender`).
    - A call whose arguments were begun and that broke off is either completed by the next attempt,
      with an input that begins as the one that was sent, or the reply ends with "length": the
      client then knows that the call is not whole.
"""

from __future__ import annotations

import json
import secrets
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from callblocks.core.blocks import TextPart
from callblocks.core.calls import Call
from callblocks.core.errors import CallblocksError
from callblocks.core.events import (
    CallInput,
    CallReady,
    CallResult,
    CallStarted,
    Event,
    Malformed,
    Problem,
    Reasoning,
    Text,
)
from callblocks.core.specs import ToolSpec
from callblocks.gateway.answer_demands import AnswerFault, StopWatch, answer_fault, json_answer
from callblocks.gateway.arguments import ArgumentDeltas, TextDeltas
from callblocks.gateway.exchange import (
    FinishReason,
    GatewayFault,
    GatewayRequest,
    Remark,
    ReplyEvent,
)
from callblocks.gateway.firewall import Firewall
from callblocks.gateway.history import ModelPrompt
from callblocks.models.model import (
    NATIVE,
    Message,
    NativeDelta,
    Piece,
    Spoken,
    Stopped,
    Thinking,
    ToolsUnheard,
)
from callblocks.parsing.values.strict_json import JsonScan
from callblocks.session.reply import read_native_input
from callblocks.tools.registry import Registry
from callblocks.views.model_view.neutral import restore_input

__all__ = ("Again", "ModelReply", "Sender")

_EMPTY = (0, 0)
_NOT_READ = (
    "Your call could not be read: {why}. Nothing ran. Write it again, exactly in the form that you "
    "were told."
)
_NOT_CALLED = "You called no tool, but a call is demanded. Make it now. The tools are: {names}."
_UNKNOWN = "There is no tool {name} here, or it may not be called now. Nothing ran. {tools}"
_UNFIT = "Your call of {name} does not fit its tool: {why}. Nothing ran. Correct it."
_NOTHING_SAID = "Your reply was empty. Call a tool, or answer in words."
_NOT_JSON = "Your answer is not the JSON that is demanded: {why}. Write the whole answer again."
_WROTE_RESULT = (
    "You wrote a result yourself. Nothing ran, and it is not true. Call the tool now, exactly in "
    "the form that you were told, and end your reply behind the call."
)
_DENIED = "This call was refused and did not run: {why}. Go on without it."


def call_id() -> str:
    """Return a new id of a call, in the form that all clients take."""
    return f"call_{secrets.token_hex(12)}"


class Sender:
    """What was sent to the client, over all attempts.

    `open` is a call whose arguments were begun and not ended.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.prose = False
        # The texts that were sent, so that another attempt does not say them again.
        self.said: list[str] = []
        self.open: _Sent | None = None
        self.remarks: list[Remark] = []
        self.fingerprints: set[str] = set()

    @property
    def has_sent(self) -> bool:
        """Return whether the client has words or a call that cannot be taken back."""
        return self.prose or self.calls > 0

    def remark(self, code: str, detail: str = "") -> None:
        """Count something that was mended or refused."""
        self.remarks.append(Remark(code, detail))

    def begin(self, name: str) -> Iterator[ReplyEvent]:
        """Yield the beginning of a call."""
        self.open = _Sent(self.calls, call_id(), name)
        self.calls += 1
        yield CallStarted(self.open.index, self.open.id, name, _EMPTY)

    def input(self, text: str) -> Iterator[ReplyEvent]:
        """Yield more input of the open call."""
        if text and self.open is not None:
            self.open.texts.append(text)
            yield CallInput(self.open.index, text, _EMPTY)

    def ready(self, call: Call) -> Iterator[ReplyEvent]:
        """Yield the end of the open call."""
        if self.open is not None:
            own = replace(call, id=self.open.id)
            self.fingerprints.add(_fingerprint(call))
            yield CallReady(self.open.index, own, _EMPTY)
            self.open = None


class _Sent(msgspec.Struct):
    """A call that was begun on the wire, and the JSON that was sent of its input."""

    index: int
    id: str
    name: str
    texts: list[str] = []


class Again(msgspec.Struct, frozen=True):
    """Why the model is asked again, and the messages that tell it."""

    why: str
    messages: tuple[Message, ...]
    is_denial: bool = False


class _Fault(msgspec.Struct, frozen=True):
    """One broken call: its code, the words for the model, and its text."""

    code: str
    words: str
    text: str = ""


class _OpenCall:
    """A call that the model writes. `key` is its index in the text, or its slot in the API.

    `opening` is the text that began it. A live call is sent as it arrives, by its `deltas`.
    """

    def __init__(self, key: int, name: str, dialect: str, opening: str = "") -> None:
        self.key = key
        self.name = name
        self.dialect = dialect
        self.opening = opening
        self.deltas: ArgumentDeltas | TextDeltas | None = None
        # The input of a native call.
        self.texts: list[str] = []
        self.scan = JsonScan() if dialect == NATIVE else None


class _RawText:
    """The text of a reply, of which parts are wanted by their spans."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self.length = 0

    def __str__(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Take the next piece."""
        self._pieces.append(piece)
        self._starts.append(self.length)
        self.length += len(piece)

    def between(self, start: int, end: int) -> str:
        """Return the characters of a span. Only pieces that it touches are joined."""
        first = max(0, bisect_right(self._starts, start) - 1)
        last = bisect_left(self._starts, end)
        base = self._starts[first] if self._starts else 0
        return "".join(self._pieces[first:last])[start - base : end - base]


class ModelReply:
    """Reads one reply: takes pieces of the model, gives events that may be sent."""

    def __init__(
        self,
        request: GatewayRequest,
        prompt: ModelPrompt,
        sender: Sender,
        firewall: Firewall | None,
        *,
        holds: bool,
        prose_is_thought: bool = False,
    ) -> None:
        self._request = request
        self._prompt = prompt
        self._sender = sender
        self._firewall = firewall
        self._parser = prompt.parser
        self._specs = {one.name: one for one in request.tools}
        names = request.choice.names or tuple(self._specs)
        self._allowed = frozenset(names) if request.choice.demand != "none" else frozenset[str]()
        self._inner_names = _inner_names(self._specs)
        self._holds = holds
        self._prose_is_thought = prose_is_thought
        self._held: list[Text] = []
        self._answer_fault: str | None = None
        self._thoughts: list[str] = []
        tags = prompt.dialect.result_tags if prompt.dialect is not None else None
        # Prose may speak of the tag; a result begins with a line of its own behind it.
        self._result_tag = f"{tags[0]}\n" if tags else ""
        own_stops = request.stop if prompt.dialect is not None else ()
        self._stops = StopWatch((*own_stops, self._result_tag))
        self._faults: list[_Fault] = []
        self._denied: list[tuple[Call, str]] = []
        self._open: _OpenCall | None = None
        self._natives: deque[_OpenCall] = deque()
        self._slots: dict[int, _OpenCall] = {}
        self._late: list[tuple[Call, str]] = []
        self._raw = _RawText()
        self._sent_before = sender.calls
        self._said_before = "".join(sender.said).strip()
        self._unfinished = sender.open
        self._stopped = ""
        self.stop_text = ""
        self.length = 0
        self.has_pieces = False
        self.is_enough = False
        self.is_unheard = False
        self.has_text_calls = False
        self.has_bare_calls = False

    # --- Pieces of the model ---

    def feed(self, piece: Piece) -> Iterator[ReplyEvent]:
        """Yield what may be sent after a piece."""
        self.has_pieces = True
        match piece:
            case Spoken(text=text):
                self.length += len(text)
                self._raw.add(text)
                yield from self._take(self._parser.feed(text))
            case Thinking(text=text):
                self.length += len(text)
                yield from self._think(text)
            case NativeDelta():
                self.length += len(piece.text) + len(piece.name)
                yield from self._native(piece)
            case ToolsUnheard():
                self.is_unheard = True
            case Stopped(reason=reason):
                self._stopped = reason
            case _:
                pass

    def close(self) -> Iterator[ReplyEvent]:
        """Yield what is left; no more pieces come."""
        if not self.is_enough:
            yield from self._take(self._parser.close())
            yield from self._end_natives()
            if not self.is_enough and not self.stop_text:
                yield from self._say(self._stops.close())
        if self._sender.open is not None and not self._faults:
            words = f"the call of {self._sender.open.name} was never ended"
            self._faults.append(_Fault("call-not-ended", _NOT_READ.format(why=words)))

    def _take(self, events: Iterable[Event]) -> Iterator[ReplyEvent]:
        for event in events:
            if self.is_enough:
                return
            match event:
                case Text(text=text):
                    yield from self._prose(text)
                case Reasoning(text=text):
                    yield from self._think(text)
                case CallStarted():
                    self._start(event)
                case CallInput(text=text):
                    yield from self._input(text)
                case CallReady(call=call):
                    yield from self._ready(call)
                case Malformed():
                    self._break(event)
                case CallResult():
                    self._sender.remark("written-result", "the model wrote a result itself")
                case Problem():
                    self._problem(event)

    def _problem(self, problem: Problem) -> None:
        self._sender.remark(problem.code, problem.detail)
        if problem.code == "unread-call":
            self._faults.append(_Fault(problem.code, _NOT_READ.format(why=problem.detail)))

    # --- Prose ---

    def _prose(self, text: str) -> Iterator[ReplyEvent]:
        if self.stop_text:
            return
        said, stop = self._stops.feed(text)
        yield from self._say(said)
        if stop and stop == self._result_tag:
            # What stands in it is made up, and so is all that is said behind it.
            self._sender.remark("written-result", "the model wrote a result itself")
            self._faults.append(_Fault("written-result", _WROTE_RESULT))
            self.is_enough = True
        elif stop:
            # Text behind a stop sequence does not exist for the client.
            self.stop_text = stop
            self.is_enough = True

    def _say(self, text: str) -> Iterator[ReplyEvent]:
        if not text:
            return
        event = Text(text, _EMPTY)
        if self._holds or self._faults or self._sender.open is not None:
            self._held.append(event)
        else:
            self._sender.prose = self._sender.prose or bool(text.strip())
            self._sender.said.append(text)
            yield event

    def _release(self) -> Iterator[ReplyEvent]:
        """Yield the prose that waited, once a call is sent behind it.

        Where prose was sent by an earlier attempt, or may not stand before a call, it is given as a
        thought.
        """
        text = self._taken()
        if not text.strip():
            return
        is_thought = self._sender.prose or self._prose_is_thought
        yield Reasoning(text, _EMPTY) if is_thought else Text(text, _EMPTY)
        self._sender.prose = True

    def _taken(self) -> str:
        """Return the prose that waited, without what an earlier attempt began with, too."""
        text, before = "".join(event.text for event in self._held), self._said_before
        self._held.clear()
        begins_alike = bool(before) and text.lstrip().startswith(before)
        return text.lstrip()[len(before) :] if begins_alike else text

    def _think(self, text: str) -> Iterator[ReplyEvent]:
        if self._sender.open is not None:
            # Nothing stands between the parts of a call.
            self._thoughts.append(text)
        elif text:
            yield Reasoning(text, _EMPTY)

    def _late_thoughts(self) -> Iterator[ReplyEvent]:
        text = "".join(self._thoughts)
        self._thoughts.clear()
        if text:
            yield Reasoning(text, _EMPTY)

    # --- Calls in the text ---

    def _start(self, event: CallStarted) -> None:
        self._open = call = _OpenCall(
            event.index,
            self._own_name(event.name),
            self._parser.call_dialects[event.index],
            self._raw.between(*event.span),
        )
        self._make_live(call, may_be=not self._natives and self._sender.open is None)

    def _own_name(self, name: str, *, remarks: bool = False) -> str:
        """Return the client's name of a tool, also where the model left out its namespace."""
        own = self._prompt.own_name(name)
        whole = self._inner_names.get(own)
        if own in self._specs or whole is None:
            return own
        if remarks:
            self._sender.remark("name-completed", f"{own}: {whole}")
        return whole

    def _make_live(self, call: _OpenCall, *, may_be: bool) -> None:
        """Decide whether the arguments of a call are sent as they arrive."""
        name = call.name
        is_twin = self._prompt.mode == "mixed" and self._sender.calls > 0
        is_live = (
            may_be
            and name in self._allowed
            and name not in self._request.strict
            and self._firewall is None
            and not is_twin
            and not self._faults
        )
        call.deltas = self._deltas(call) if is_live else None

    def _deltas(self, call: _OpenCall) -> ArgumentDeltas | TextDeltas:
        form = TextDeltas if call.name in self._request.free_text else ArgumentDeltas
        return form(
            call.dialect,
            self._specs.get(call.name),
            opening=call.opening,
            restores=self._prompt.has_signs,
        )

    def _input(self, text: str) -> Iterator[ReplyEvent]:
        if self._open is not None:
            yield from self._more(self._open, text)

    def _more(self, call: _OpenCall, text: str) -> Iterator[ReplyEvent]:
        """Yield more of the arguments of a call that is live."""
        if call.deltas is None:
            return
        delta = call.deltas.feed(text)
        if delta:
            if self._sender.open is None:
                yield from self._release()
                yield from self._sender.begin(call.name)
            yield from self._sender.input(delta)

    def _ready(self, call: Call) -> Iterator[ReplyEvent]:
        opened, self._open = self._open, None
        own = replace(
            call,
            name=self._own_name(call.name, remarks=True),
            input=restore_input(call.input) if self._prompt.has_signs else call.input,
        )
        text = self._text_of(call)
        # Behind the first call of a list the others have no marker of their own.
        if not self.has_text_calls:
            self.has_bare_calls = _is_bare(text)
        self.has_text_calls = True
        if not own.ended:
            self._refuse_call("call-not-ended", own, "it was never ended", text)
            return
        if opened is not None and opened.deltas is not None and self._sender.open is not None:
            yield from self._finish(opened, own)
            return
        if self._natives and self._sender.open is not None:
            # The open native call ends first.
            self._late.append((own, text))
            return
        yield from self._send(own, text)

    def _finish(self, opened: _OpenCall, call: Call) -> Iterator[ReplyEvent]:
        """End a call whose arguments were begun as they arrived."""
        if opened.deltas is not None:
            yield from self._sender.input(opened.deltas.finish(call.input))
            if not opened.deltas.agrees:
                self._sender.remark("input-differs", f"{call.name} was repaired behind its input")
        yield from self._sender.ready(call)
        yield from self._end_after_call()

    def _send(self, call: Call, text: str) -> Iterator[ReplyEvent]:
        """Send a whole call, if it may be sent."""
        passed = self._checked(call, text)
        if passed is None:
            return
        whole = self._whole_input(passed)
        unfinished = self._sender.open
        if unfinished is not None:
            yield from self._complete(unfinished, passed, whole, text)
            return
        if _fingerprint(passed) in self._sender.fingerprints and self._prompt.mode == "mixed":
            self._sender.remark("call-twice", f"{call.name} came in two forms")
            return
        yield from self._release()
        yield from self._sender.begin(passed.name)
        yield from self._sender.input(whole)
        yield from self._sender.ready(passed)
        yield from self._end_after_call()

    def _complete(
        self, unfinished: _Sent, call: Call, whole: str, text: str
    ) -> Iterator[ReplyEvent]:
        """Complete a call of an earlier attempt by one that begins as it did."""
        sent = "".join(unfinished.texts)
        if call.name == unfinished.name and whole.startswith(sent):
            yield from self._sender.input(whole[len(sent) :])
            yield from self._sender.ready(call)
            yield from self._end_after_call()
        else:
            self._faults.append(_Fault("call-not-ended", "another call came in its place", text))

    def _end_after_call(self) -> Iterator[ReplyEvent]:
        yield from self._late_thoughts()
        self._holds = False
        if not self._request.parallel:
            self.is_enough = True

    def _whole_input(self, call: Call) -> str:
        if call.name in self._request.free_text:
            return free_input(call.input)
        return _json(call.input)

    def _checked(self, call: Call, text: str) -> Call | None:
        """Return the call that may be sent; `None` for one that may not."""
        name = call.name
        if name not in self._allowed:
            tools = f"The tools are: {', '.join(sorted(self._allowed))}." if self._allowed else ""
            words = _UNKNOWN.format(name=name, tools=tools)
            self._faults.append(_Fault("unknown-tool", words, text))
            self._sender.remark("unknown-tool", name)
            self._hold_text(text)
            return None
        if name in self._request.strict and (why := self._unfit(call)):
            words = _UNFIT.format(name=name, why=why)
            self._faults.append(_Fault("input-unfit", words, text))
            self._sender.remark("input-unfit", f"{name}: {why}")
            self._hold_text(text)
            return None
        if self._firewall is None:
            return call
        verdict = self._firewall.judge(call, self._specs.get(name))
        why = "; ".join(verdict.reasons)
        if verdict.call is None:
            self._denied.append((call, why))
            self._sender.remark("denied", f"{name}: {why}")
        elif verdict.reasons:
            self._sender.remark("rewritten", f"{name}: {why}")
        return verdict.call

    def _unfit(self, call: Call) -> str:
        try:
            tool = next(iter(Registry.from_json([_plain_spec(self._specs[call.name])]).tools))
            faults = tool.check(call.input).faults
        except CallblocksError as error:
            raise GatewayFault(
                "invalid_request", f"the schema of {call.name}: {error}", field="tools"
            ) from error
        return "; ".join(f"{one.field}: {one.problem}".removeprefix(": ") for one in faults)

    def _break(self, event: Malformed) -> None:
        """Take a call that cannot be read."""
        if event.index is not None:
            self._open = None
        self._faults.append(_Fault(event.code, _NOT_READ.format(why=event.detail), event.text))
        self._sender.remark(event.code, event.detail)
        self._hold_text(event.text)

    def _refuse_call(self, code: str, call: Call, why: str, text: str) -> None:
        self._faults.append(_Fault(code, _NOT_READ.format(why=f"{call.name}: {why}"), text))
        self._sender.remark(code, call.name)
        self._hold_text(text)

    def _hold_text(self, text: str) -> None:
        # Of a call that was begun on the wire, the client has the input.
        if text and self._sender.open is None:
            self._held.append(Text(text, _EMPTY))

    def _text_of(self, call: Call) -> str:
        return self._raw.between(*call.span)

    # --- Calls in the API's own form ---

    def _native(self, delta: NativeDelta) -> Iterator[ReplyEvent]:
        call = self._slots.get(delta.slot)
        if call is None:
            call = self._slots[delta.slot] = _OpenCall(delta.slot, "", NATIVE)
            self._natives.append(call)
        if delta.name and not call.name:
            call.name = self._own_name(delta.name, remarks=True)
            is_first = self._natives[0] is call and self._open is None
            self._make_live(call, may_be=is_first and self._sender.open is None)
            if call.texts:
                yield from self._more(call, "".join(call.texts))
        if delta.text:
            call.texts.append(delta.text)
            if call.scan is not None:
                call.scan.feed(delta.text)
            if call.name:
                yield from self._more(call, delta.text)
        # Text behind a complete object cannot belong to it.
        while self._natives and (head := self._natives[0]).name and _is_whole(head):
            self._natives.popleft()
            del self._slots[head.key]
            yield from self._end_native(head)
            if self.is_enough:
                return

    def _end_natives(self) -> Iterator[ReplyEvent]:
        while self._natives and not self.is_enough:
            yield from self._end_native(self._natives.popleft())
        late, self._late = self._late, []
        for call, text in late:
            if not self.is_enough:
                yield from self._send(call, text)

    def _end_native(self, opened: _OpenCall) -> Iterator[ReplyEvent]:
        text = "".join(opened.texts)
        is_cut = self._stopped in ("length", "content_filter")
        try:
            if not opened.name:
                raise ValueError("it names no tool")
            given = read_native_input(text, is_cut=is_cut)
        except ValueError as error:
            shown = " ".join(filter(None, (opened.name, text)))
            why = f"{opened.name or 'a call'}: {error}"
            self._faults.append(_Fault("native.input", _NOT_READ.format(why=why), shown))
            self._sender.remark("native.input", why)
            self._hold_text(shown)
            return
        if self._prompt.has_signs:
            given = restore_input(given)
        call = Call(id="", name=opened.name, input=given, dialect=NATIVE)
        if opened.deltas is not None and self._sender.open is not None:
            yield from self._finish(opened, call)
        else:
            yield from self._send(call, text)

    # --- The verdict ---

    @property
    def _has_sent(self) -> bool:
        return self._sender.calls > self._sent_before and self._sender.open is None

    def again(self, *, can_ask: bool, denials: int) -> Again | None:
        """Return why and how the model is to be asked again; `None` if the reply stands."""
        if self._denied:
            # A reply that was cut is not asked for again, but a refusal is never silent.
            return self._after_denials(0 if self._is_cut or self.stop_text else denials)
        if self._is_cut or self.stop_text:
            return None
        if not can_ask or self._has_sent:
            return None
        return self._complaint()

    def _after_denials(self, denials: int) -> Again | None:
        if not self._has_sent and denials > 0:
            return self._denial()
        # Beside calls that pass, the person is told, and so the model of the next turn.
        words = [f"\n(refused: {call.name}: {why})\n" for call, why in self._denied]
        self._held += [Text(text, _EMPTY) for text in words]
        return None

    def _complaint(self) -> Again | None:
        if self._faults:
            return self._ask(self._faults[0].words, self._faults[0].code)
        if self._sender.calls:
            return None
        if self._request.choice.demand == "required":
            names = ", ".join(sorted(self._allowed))
            return self._ask(_NOT_CALLED.format(names=names), "choice-not-held")
        if why := self._json_fault():
            return self._ask(_NOT_JSON.format(why=why), "answer-not-json")
        # Behind results a model may have nothing to add.
        if not self.length and self._request.tools and self._request.messages[-1].role == "user":
            return self._ask(_NOTHING_SAID, "empty-reply")
        return None

    def _ask(self, words: str, code: str) -> Again:
        said = str(self._raw) or "\n".join(fault.text for fault in self._faults)
        # What an attempt wrote in vain is no prose of the reply.
        self._held.clear()
        messages = (
            Message("assistant", (TextPart(said or "(nothing)"),)),
            Message("user", (TextPart(words),)),
        )
        return Again(code, messages)

    def _denial(self) -> Again:
        prose = "".join(event.text for event in self._held)
        self._held.clear()
        calls = tuple(replace(call, id=call_id()) for call, _ in self._denied)
        results = (
            Message("tool", (TextPart(_DENIED.format(why=why)),), call_id=call.id)
            for call, (_, why) in zip(calls, self._denied, strict=True)
        )
        parts = (TextPart(prose),) if prose else ()
        return Again("denied", (Message("assistant", parts, calls), *results), is_denial=True)

    def _json_fault(self) -> str:
        """Return why the answer is not the JSON that the client demands, or ""; judged once."""
        if self._answer_fault is None:
            form, text = self._request.json_format, "".join(event.text for event in self._held)
            fault = answer_fault(text, form) if form is not None and self._held else AnswerFault()
            if fault.schema_problem:
                self._sender.remark("schema-not-checked", fault.schema_problem)
            self._answer_fault = fault.why
        return self._answer_fault

    @property
    def _is_cut(self) -> bool:
        return self._stopped in ("length", "content_filter")

    def rest(self) -> Iterator[ReplyEvent]:
        """Yield what waited, in its order: the reply stands as it is."""
        if not self._sender.calls and (why := self._json_fault()):
            self._sender.remark("answer-not-json", why)
        text = self._taken()
        if self._request.json_format is not None and (value := json_answer(text)):
            if value[1] != text.strip():
                self._sender.remark("answer-unwrapped", "what stood around the JSON was left out")
            text = value[1]
        if text and self._sender.open is None:
            yield Text(text, _EMPTY)

    def reason(self, sender: Sender) -> FinishReason:
        """Return the reason for the end, as clients need it."""
        if self._stopped == "content_filter":
            return "filter"
        if self._stopped == "length" or sender.open is not None:
            return "length"
        if sender.calls:
            return "calls"
        if self._request.choice.demand == "required":
            sender.remark("choice-not-held", "the model made no call")
        return "stop"


# --- Values ---


def free_input(given: dict[str, Any]) -> str:
    """Return the input of a free-text tool as its text."""
    value = given.get("input")
    return value if isinstance(value, str) and len(given) == 1 else _json(given)


def _inner_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names of tools by their inner ones, where these tell them apart.

    What stands before an inner name is a namespace: `files.` or `mcp__files__`.
    """
    found: dict[str, str] = {}
    for name in names:
        inner = name.rpartition(".")[2].rpartition("__")[2]
        if inner not in ("", name):
            found[inner] = "" if inner in found else name
    return {inner: name for inner, name in found.items() if name}


def _is_bare(text: str) -> bool:
    """Return whether the text of a call is a JSON object, alone or in a code fence."""
    text = text.lstrip()
    if text.startswith("```"):
        text = text.partition("\n")[2].lstrip()
    return text.startswith("{")


def _is_whole(call: _OpenCall) -> bool:
    return call.scan is not None and call.scan.complete


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def _plain_spec(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}


def _fingerprint(call: Call) -> str:
    return json.dumps([call.name, call.input], sort_keys=True, default=repr)
