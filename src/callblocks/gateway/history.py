"""The request of a client, as the model is asked: messages in the form that it writes itself.

    text            the system prompt teaches the tools; calls and results of earlier turns stand in
                    the model's dialect
    native, mixed   tools, calls and results are fields of the API

Invariants
    - The messages are a pure function of the request, and of the settings and the habits of the
      model. The same history gives the same bytes, so the prompt of turn n is a prefix of the
      prompt of turn n + 1, and prompt caches hit. Nothing random and no time stands in a prompt. A
      habit is learned once, from the first call.
    - Calls of earlier turns stand as the model writes them itself. Small models that leave out the
      markers they are taught stop calling once they are shown calls with markers.
    - Results are text of others: a sign stands in all of them that acts (`Neutral`). A result can
      neither forge a call nor end its own tags. The signs are taken out of what a model copies.
    - The system prompt comes first and once, and the roles alternate in text mode, as chat
      templates demand. A system message that stands later becomes a part of the user's message.

What is not kept: thoughts of earlier turns (templates of every family drop them), and ids of calls
where the dialect writes none.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import structs
from msgspec.structs import replace

from callblocks.core.blocks import ESCAPE, Part, TextPart, text_of
from callblocks.core.calls import Call, Item, Result
from callblocks.core.errors import Unwritable
from callblocks.core.json_values import json_text
from callblocks.core.specs import ToolSpec
from callblocks.dialects import dialects
from callblocks.dialects.families import is_small
from callblocks.gateway.exchange import GatewayRequest
from callblocks.gateway.upstreams import Hold, Upstream, takes_image_links
from callblocks.models.model import (
    LinkedImage,
    Message,
    NativeNames,
    Request,
    Role,
    UsedMode,
    context_of,
)
from callblocks.parser import reply_parser
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.loop import Engine
from callblocks.parsing.teaching import EXAMPLE_LEAD, compact_spec
from callblocks.session.model_choice import DEFAULT_DIALECT, Offered, known_dialect
from callblocks.views.model_view.neutral import ESCAPE_NOTE, Neutral, signed

__all__ = ("ModelPrompt", "dialect_for", "prompt_of")

# Below so many tokens of context the full schemas of many tools take too much room.
_SHORT_CONTEXT = 16_384
# Up to so many characters they are taught in full to every model: a small one calls more often by
# an example in JSON than by signatures.
_SHORT_TEACHING = 4000
# Servers default to 0.7 or more, at which a small model often misses the form of a call.
_SMALL_TEMPERATURE = 0.3
# The markers of thoughts, beside those of the dialects.
_REASONING = (("<think>", "</think>"),)

_CALLING = (
    "Call a tool whenever it can give what is needed. When you call tools, end your reply after "
    "the calls: the results come in the next message. Never write a result yourself."
)
_LEFT_OUT = "These tools are not available here: "
_ONLY = "In this reply you may call only: "
_MUST = "In this reply you must call a tool."
_MUST_ONE = "In this reply you must call one of these tools: "
_ONE_CALL = "Make at most one call in this reply."
_NO_BEGINNING = "(the beginning is not shown)"
_NO_RESULT = "(no result is known)"
_SYSTEM_PART = "[System]: "
# Small models no longer follow the system prompt after a few turns.
_CALL_REMINDER = "\n(Use a tool if one fits. You do not know its result before you call it.)\n"
_ANSWER_REMINDER = (
    "Answer the question in words with this result. Only if a part of it is still unknown, call "
    "the tool for that part.\n"
)
_REPEATED_REMINDER = (
    "You made this call before. Do not call again: answer the question in words now.\n"
)
_JSON_ANSWER = (
    "When you answer, and call no tool, the whole answer is one JSON value, without a code fence "
    "and without any other word."
)


# --- What is kept between requests, however large they are ---

_Value = TypeVar("_Value")


class SizedCache(Generic[_Value]):
    """The newest values, at most so many, and of at most so many characters together.

    Long prompts are made in threads.
    """

    def __init__(self, most: int, characters: int) -> None:
        self._most = most
        self._characters = characters
        self._known: OrderedDict[Hashable, tuple[_Value, int]] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def get(self, key: Hashable) -> _Value | None:
        """Return a value, `None` where it is not kept."""
        with self._lock:
            found = self._known.get(key)
            if found is None:
                return None
            self._known.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: _Value, size: int) -> None:
        """Keep a value of a size; one that is larger than all that is kept is not."""
        if size > self._characters:
            return
        with self._lock:
            _, known = self._known.pop(key, (value, 0))
            self._known[key] = value, size
            self.size += size - known
            while len(self._known) > self._most or self.size > self._characters:
                _, (_, gone) = self._known.popitem(last=False)
                self.size -= gone


class ModelPrompt(NamedTuple):
    """What a model is asked, and how its reply is read.

    `dialect` is the one that the prompt teaches; `None` where the server is given the tools.
    `own_name` gives the client's name of a tool for the one that the model knows. `has_signs` says
    that the model is shown texts with signs, which are taken out of its inputs.
    """

    mode: UsedMode
    request: Request
    dialect: Dialect | None
    parser: Engine
    native_names: NativeNames | None
    has_signs: bool

    def own_name(self, name: str) -> str:
        """Return the client's name of a tool."""
        return self.native_names.own(name) if self.native_names else name


def dialect_for(upstream: Upstream) -> Dialect:
    """Return the dialect that the model is taught: the one named for it, or its family's."""
    known = known_dialect(Offered(upstream.model, upstream.dialect))
    return dialects[known or DEFAULT_DIALECT]


def prompt_of(
    request: GatewayRequest,
    upstream: Upstream,
    mode: UsedMode,
    after: Sequence[Message] = (),
    hold: Hold | None = None,
    *,
    bare: bool = False,
) -> ModelPrompt:
    """Return the prompt of a request in one mode.

    `after` are messages behind those of the client: a reply that was not good, and why. `hold` is
    how the server holds the reply. A `bare` request has no field for what the client demands: the
    server refuses one of them.
    """
    tools = () if request.choice.demand == "none" else request.tools
    known: Sequence[Message] = (*request.messages, *after)
    if not takes_image_links(upstream):
        known = [_without_links(message) for message in known]
    if mode == "text" or not tools:
        return _text_prompt(request, upstream, tools, known, hold, bare=bare)
    return _native_prompt(request, upstream, mode, tools, known, bare=bare)


# --- Text mode ---


def _text_prompt(
    request: GatewayRequest,
    upstream: Upstream,
    tools: tuple[ToolSpec, ...],
    known: Sequence[Message],
    hold: Hold | None,
    *,
    bare: bool,
) -> ModelPrompt:
    dialect = hold.dialect if hold else dialect_for(upstream)
    system, rest = _split_system(known)
    taught = _taught_tools(dialect.name, _interned(tools), upstream) if tools else ""
    small = is_small(upstream.model.name)
    writer = _TextWriter(
        dialect,
        request.tools,
        reminds=bool(tools) and small,
        bare_calls=upstream.habits.bare_calls,
    )
    messages = [*_alternating(writer.messages(rest))]
    demand = _demand(request) if tools else ""
    # Held by a grammar, a small model that was told so last calls on and on.
    if demand and hold is None and messages[-1].role == "user":
        messages[-1] = _with_demand(messages[-1], demand)
        demand = ""
    rules = _rules(request, tools, small=small)
    words = [upstream.settings.system, *system, taught, *rules, demand]
    top = "\n\n".join(filter(None, (text.strip() for text in words)))
    sent = ((Message("system", (TextPart(top),)),) if top else ()) + tuple(messages)
    parser = (
        reply_parser(dialect.name, tools, reasoning=_REASONING)
        if tools
        else Engine((), reasoning=_REASONING)
    )
    fields = dict(hold.fields) if hold else {}
    if not tools and not bare and request.json_format is not None:
        fields["response_format"] = _json_format_field(request)
    asked = replace(
        _request(request, upstream, sent, stop=() if tools else request.stop),
        grammar=hold.grammar if hold else "",
        extra={**fields, **request.fields},
    )
    return ModelPrompt("text", asked, dialect if tools else None, parser, None, writer.has_signs)


def _rules(request: GatewayRequest, tools: tuple[ToolSpec, ...], *, small: bool) -> Iterator[str]:
    """Yield what stands below the tools: how calling works here, and the form of the answer.

    A small model is not told of signs: it would not go by it, and forgets to call instead.
    """
    if tools:
        yield _CALLING
        if not small:
            yield ESCAPE_NOTE
    if request.left_out:
        yield _LEFT_OUT + ", ".join(request.left_out)
    if request.json_format is not None:
        schema = request.json_format.schema
        form = f" It fits this JSON Schema: {json_text(schema)}" if schema is not None else ""
        yield _JSON_ANSWER + form


def _with_demand(message: Message, demand: str) -> Message:
    """Return the last message with what holds for this reply alone.

    Clients often demand a call in the first request of a turn only. In the system prompt it would
    change the beginning of the prompt, and with it everything that a server has cached.
    """
    parts = [*message.parts, TextPart(f"{_SYSTEM_PART}{demand}\n")]
    if len(parts) > 1 and isinstance(parts[-2], TextPart) and not parts[-2].text.endswith("\n"):
        parts.insert(-1, TextPart("\n\n"))
    return replace(message, parts=tuple(parts))


def _demand(request: GatewayRequest) -> str:
    choice, names = request.choice, ", ".join(request.choice.names)
    words: list[str] = []
    if choice.demand == "required":
        words.append(f"{_MUST_ONE}{names}." if names else _MUST)
    elif names:
        words.append(f"{_ONLY}{names}.")
    if not request.parallel:
        words.append(_ONE_CALL)
    return " ".join(words)


class _TextWriter:
    """Writes messages of a client as text in one dialect. `has_signs` is true once a sign stood.

    With `reminds` a reminder stands below each message of the user, and below results: a small
    model stops calling otherwise, or repeats its calls. With `bare_calls` calls are JSON objects
    without the markers of the dialect.
    """

    def __init__(
        self,
        dialect: Dialect,
        tools: tuple[ToolSpec, ...],
        *,
        reminds: bool = False,
        bare_calls: bool = False,
    ) -> None:
        self._reminds = reminds
        self._bare_calls = bare_calls
        self._made: set[str] = set()
        self._repeats = False
        self._dialect = dialect
        self._tools = _interned(tools)
        self._calls: dict[str, Call] = {}
        self.has_signs = False

    def messages(self, known: Iterable[Message]) -> Iterator[Message]:
        """Yield the messages; neighbouring results are one message."""
        for role, group in groupby(known, key=_role):
            own = list(group)
            match role:
                case "assistant":
                    for message in own:
                        yield self._assistant(message)
                case "tool":
                    yield Message("user", (*self._results(own), *self._result_end()))
                case "system":
                    texts = (text_of(list(one.parts)).strip() for one in own)
                    yield Message("user", tuple(TextPart(f"{_SYSTEM_PART}{t}\n") for t in texts))
                case _:
                    self._made.clear()
                    end = (TextPart(_CALL_REMINDER),) if self._reminds else ()
                    yield from (Message("user", (*one.parts, *end)) for one in own)

    def _result_end(self) -> Iterator[Part]:
        if self._reminds:
            yield TextPart(_REPEATED_REMINDER if self._repeats else _ANSWER_REMINDER)

    def _assistant(self, message: Message) -> Message:
        text = text_of(list(message.parts))
        if not message.calls:
            return Message("assistant", (TextPart(text),))
        calls = [replace(call, input=self._shown_input(call)) for call in message.calls]
        made = {json_text([call.name, call.input]) for call in calls}
        self._repeats = made <= self._made
        self._made |= made
        self._calls |= {call.id: call for call in calls}
        prose = f"{text.rstrip()}\n" if text.strip() else ""
        return Message("assistant", (TextPart(self._written(prose, calls)),))

    def _written(self, prose: str, calls: Sequence[Call]) -> str:
        """Write prose and calls in the dialect; each call that it cannot write in another form."""
        if self._bare_calls:
            return self._neutral(prose) + "\n".join(map(_bare_call, calls))
        items: list[Item] = [prose, *calls] if prose else list(calls)
        try:
            return self._dialect.write(items, self._tools)
        except Unwritable:
            pass
        written = [self._one(call) for call in calls]
        # Prose may be what cannot be written: a text that itself reads as a call.
        return self._neutral(prose) + "\n".join(written)

    def _one(self, call: Call) -> str:
        for dialect in (self._dialect, dialects[DEFAULT_DIALECT]):
            try:
                return dialect.write([call], self._tools)
            except Unwritable:
                continue
        return self._neutral(f"(a call of {call.name} with {json_text(call.input)})\n")

    def _results(self, messages: Sequence[Message]) -> Iterator[Part]:
        tags = self._dialect.result_tags
        texts = [self._neutral(text_of(list(one.parts))).rstrip("\n") for one in messages]
        if tags is not None:
            for text in texts:
                yield TextPart(f"{tags[0]}\n{text}\n{tags[1]}\n")
        else:
            yield TextPart(self._written_results(messages, texts))
        for message in messages:
            yield from (part for part in message.parts if not isinstance(part, TextPart))

    def _written_results(self, messages: Sequence[Message], texts: Sequence[str]) -> str:
        """Write results as the dialect does, each behind its call, or below headings."""
        items: list[Item] = []
        for message, text in zip(messages, texts, strict=True):
            call = self._calls.get(message.call_id)
            if call is None:
                break
            items += [call, Result(id=call.id, output=text), "\n"]
        else:
            try:
                return self._dialect.write(items, self._tools)
            except Unwritable:
                pass
        names = (self._calls[m.call_id].name if m.call_id in self._calls else "" for m in messages)
        pairs = zip(names, texts, strict=True)
        return "".join(f"[TOOL RESULT {name}]\n{text}\n" for name, text in pairs)

    def _shown_input(self, call: Call) -> dict[str, Any]:
        shown = _shown_value(call.input, self._dialect.name, self._tools)
        self.has_signs = self.has_signs or ESCAPE in repr(shown)
        return shown

    def _neutral(self, text: str) -> str:
        shown = _neutral_text(text, self._dialect.name, self._tools)
        self.has_signs = self.has_signs or signed((shown,))
        return shown


def _bare_call(call: Call) -> str:
    return json.dumps({"name": call.name, "arguments": call.input}, ensure_ascii=False)


# Reading a long result for what acts in it takes milliseconds, and a client sends all earlier
# results again with each request.
def _neutral_text(text: str, dialect: str, tools: _ToolKey) -> str:
    key = (text, dialect, tools)
    known = _KNOWN_TEXTS.get(key)
    if known is None:
        known = _neutral(dialect, tools)(text)
        _KNOWN_TEXTS.put(key, known, len(text) + len(known))
    return known


_KNOWN_TEXTS: SizedCache[str] = SizedCache(4096, 32 << 20)


def _shown_value(value: dict[str, Any], dialect: str, tools: _ToolKey) -> Any:
    return _neutral(dialect, tools).input(value)


# --- Native and mixed mode ---


def _native_prompt(
    request: GatewayRequest,
    upstream: Upstream,
    mode: UsedMode,
    tools: tuple[ToolSpec, ...],
    known: Sequence[Message],
    *,
    bare: bool,
) -> ModelPrompt:
    short = map(compact_spec, tools) if is_compact(upstream) else tools
    names = NativeNames(short)
    system, rest = _split_system(known)
    words = [upstream.settings.system, *system, *_native_rules(request)]
    top = "\n\n".join(filter(None, (text.strip() for text in words)))
    writer = _NativeWriter(names, dialect_for(upstream).name)
    messages = tuple(writer.messages(rest))
    sent = ((Message("system", (TextPart(top),)),) if top else ()) + messages
    asked = replace(
        _request(request, upstream, sent, stop=request.stop),
        tools=names.specs,
        extra={**({} if bare else _server_fields(request, names)), **request.fields},
    )
    first = known_dialect(Offered(upstream.model, upstream.dialect))
    parser = (
        Engine((), reasoning=_REASONING)
        if mode == "native"
        else reply_parser(first, names.read_specs, reasoning=_REASONING)
    )
    return ModelPrompt(mode, asked, None, parser, names, writer.has_signs)


def _native_rules(request: GatewayRequest) -> Iterator[str]:
    if request.left_out:
        yield _LEFT_OUT + ", ".join(request.left_out)
    if request.choice.names:
        yield _demand(request)


def _server_fields(request: GatewayRequest, names: NativeNames) -> dict[str, Any]:
    """Return what the server itself may hold: the choice of tools, and the form of the answer."""
    fields: dict[str, Any] = {}
    choice = request.choice
    if choice.demand == "required":
        only = choice.names[0] if len(choice.names) == 1 else ""
        name = names.native(Call(id="", name=only)).name if only else ""
        named = {"type": "function", "function": {"name": name}}
        fields["tool_choice"] = named if name else "required"
    if not request.parallel:
        fields["parallel_tool_calls"] = False
    if request.json_format is not None:
        fields["response_format"] = _json_format_field(request)
    return fields


def _json_format_field(request: GatewayRequest) -> dict[str, Any]:
    """Return the form of the answer as the chat completions API has it."""
    form = request.json_format
    if form is None or form.schema is None:
        return {"type": "json_object"}
    schema = {"name": form.name or "answer", "schema": form.schema, "strict": form.strict}
    return {"type": "json_schema", "json_schema": schema}


class _NativeWriter:
    """Writes messages for a server that takes tools.

    Such servers refuse a call without a result, and a result without a call.
    """

    def __init__(self, names: NativeNames, dialect: str) -> None:
        self._names = names
        self._dialect = dialect
        self._tools = _interned(names.read_specs)
        self.has_signs = False

    def messages(self, known: Sequence[Message]) -> Iterator[Message]:
        """Yield the messages, with a result behind each call."""
        waiting: dict[str, Call] = {}
        for message in known:
            if message.role == "tool" and message.call_id in waiting:
                del waiting[message.call_id]
                yield replace(message, parts=tuple(map(self._shown, message.parts)))
                continue
            if message.role != "tool":
                yield from self._unanswered(waiting)
                waiting = {call.id: call for call in message.calls}
            match message.role:
                case "assistant":
                    yield replace(message, calls=tuple(map(self._names.native, message.calls)))
                case "tool":
                    yield Message("user", tuple(map(self._shown, message.parts)))
                case "system":
                    text = text_of(list(message.parts))
                    yield Message("user", (TextPart(f"{_SYSTEM_PART}{text}\n"),))
                case _:
                    yield message
        yield from self._unanswered(waiting)

    def _unanswered(self, calls: dict[str, Call]) -> Iterator[Message]:
        for id in calls:
            yield Message("tool", (TextPart(_NO_RESULT),), call_id=id)

    def _shown(self, part: Part) -> Part:
        if not isinstance(part, TextPart):
            return part
        text = _neutral_text(part.text, self._dialect, self._tools)
        self.has_signs = self.has_signs or signed((text,))
        return TextPart(text)


# --- Parts of both modes ---


class _ToolKey(tuple[ToolSpec, ...]):
    """Tools as a key of caches.

    The same tools are one object (`_interned`), so two keys are compared by identity. Equality of
    the tools would not do: to Python `{"minimum": 1}` equals `{"minimum": true}`.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


# Clients send the same tools with each request. The key is their text: two clients may have tools
# of the same names.
def _interned(tools: tuple[ToolSpec, ...]) -> _ToolKey:
    if isinstance(tools, _ToolKey):
        return tools
    key = json.dumps([structs.astuple(one) for one in tools], default=repr)
    known = _KNOWN_TOOLS.get(key)
    if known is None:
        known = _ToolKey(tools)
        _KNOWN_TOOLS.put(key, known, len(key))
    return known


_KNOWN_TOOLS: SizedCache[_ToolKey] = SizedCache(256, 16 << 20)


def _split_system(known: Sequence[Message]) -> tuple[list[str], Sequence[Message]]:
    """Return the texts of the system messages at the start, and all other messages."""
    count = next((at for at, one in enumerate(known) if one.role != "system"), len(known))
    return [text_of(list(one.parts)) for one in known[:count]], known[count:]


def _alternating(messages: Iterable[Message]) -> Iterator[Message]:
    """Join neighbours of one role; the first message is the user's."""
    is_first = True
    for role, group in groupby(messages, key=_role):
        if is_first and role != "user":
            yield Message("user", (TextPart(_NO_BEGINNING),))
        is_first = False
        parts: list[Part] = []
        for message in group:
            # Two messages of one side must not run into one word.
            if parts and isinstance(parts[-1], TextPart) and not parts[-1].text.endswith("\n"):
                parts.append(TextPart("\n\n"))
            parts += message.parts
        yield Message(role, tuple(parts))
    if is_first:
        yield Message("user", (TextPart(_NO_BEGINNING),))


def _without_links(message: Message) -> Message:
    if not any(isinstance(part, LinkedImage) for part in message.parts):
        return message
    parts = (TextPart(p.text) if isinstance(p, LinkedImage) else p for p in message.parts)
    return replace(message, parts=tuple(parts))


def _role(message: Message) -> Role:
    return message.role


def _request(
    request: GatewayRequest,
    upstream: Upstream,
    messages: tuple[Message, ...],
    *,
    stop: tuple[str, ...],
) -> Request:
    small = bool(request.tools) and is_small(upstream.model.name)
    users = [at for at, one in enumerate(request.messages) if one.role == "user"]
    last = users[-1] if users else 0
    answers = sum(one.role == "assistant" for one in request.messages[last:])
    return Request(
        messages=messages,
        # A model that plays scripts goes by these.
        prompt=text_of(list(request.messages[last].parts)) if users else "",
        round=1 + answers,
        results=tuple(_last_results(request.messages)),
        chat=request.conversation,
        max_tokens=request.max_tokens,
        temperature=(
            request.temperature
            if request.temperature is not None
            else (_SMALL_TEMPERATURE if small else None)
        ),
        stop=stop,
    )


def _last_results(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    for message in reversed(messages):
        if message.role != "tool":
            return
        yield message.call_id, text_of(list(message.parts))


def is_compact(upstream: Upstream) -> bool:
    """Return whether tools are taught by signatures alone: as set, else for a small model."""
    if upstream.settings.compact is not None:
        return upstream.settings.compact
    context = context_of(upstream.model)
    return is_small(upstream.model.name) or (context is not None and context < _SHORT_CONTEXT)


def _taught_tools(dialect: str, tools: _ToolKey, upstream: Upstream) -> str:
    """Return the part of the system prompt that teaches the tools, short where it must be."""
    taught = _taught(dialect, tools, False)
    is_long = upstream.settings.compact is not None or len(taught) > _SHORT_TEACHING
    if is_long and is_compact(upstream):
        taught = _taught(dialect, tools, True)
    # A small model copies the words of the example, too: then it writes them instead of calls.
    return taught.replace(EXAMPLE_LEAD, "", 1) if is_small(upstream.model.name) else taught


@lru_cache(maxsize=64)
def _taught(dialect: str, tools: _ToolKey, compact: bool) -> str:
    return dialects[dialect].teach(tuple(tools), compact=compact)


@lru_cache(maxsize=64)
def _neutral(dialect: str, tools: _ToolKey) -> Neutral:
    return Neutral(tuple(tools), [dialects[dialect]])
