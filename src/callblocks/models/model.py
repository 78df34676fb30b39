"""The protocol of a language model: messages in, text out, piece by piece.

    async with aclosing(model.reply(request)) as pieces:
        async for piece in pieces: ...

A model that cannot be reached, stalls or breaks raises `ModelError` with a code of
`callblocks.models.model`, after all the text that came.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable
from time import perf_counter
from typing import Any, Literal, Protocol, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from callblocks.core.blocks import Part, TextPart
from callblocks.core.calls import Call
from callblocks.core.specs import ToolSpec

__all__ = (
    "CALL_MODES",
    "MODEL_CODES",
    "NATIVE",
    "CallMode",
    "FairTurns",
    "LinkedImage",
    "Message",
    "Model",
    "ModelFacts",
    "NativeDelta",
    "NativeNames",
    "Piece",
    "Request",
    "Role",
    "Sampled",
    "SampledToken",
    "Scenario",
    "Spoken",
    "Stopped",
    "Thinking",
    "ToolsUnheard",
    "Usage",
    "UsedMode",
    "context_of",
    "facts_of",
    "mode_of",
    "scenarios_of",
)

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

# How a model is given tools and gives calls.
#
#     text     the prompt teaches a dialect; calls are read from the text
#     native   the server gets `tools` and answers with `tool_calls`; text is only text
#     mixed    the server gets `tools`; calls are read from `tool_calls` and from the text
#     auto     mixed, until the server answers that it has no tools; text from then on
CallMode: TypeAlias = Literal["auto", "text", "native", "mixed"]
# The mode of one request; `auto` is one of these at any time.
UsedMode: TypeAlias = Literal["text", "native", "mixed"]
CALL_MODES: tuple[CallMode, ...] = get_args(CallMode)


class Message(msgspec.Struct, frozen=True):
    """A message of one side: text, images and documents in their order.

    In the native form an assistant's message also carries its `calls` and the `reasoning` that led
    to them, and a message of the role `tool` is the result of the call `call_id`.
    """

    role: Role
    parts: tuple[Part, ...]
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    reasoning: str = ""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a model.

    `prompt` is the person's message in this turn, `round` counts the requests in it, from 1, and
    `results` are the outputs of the previous round, by call, as text: a model that plays a script
    uses them. It plays `scenario` where one is named, and has `translate` put its text into the
    dialect of the turn. `grammar` constrains the reply to a GBNF grammar, where a model can do
    that. `chat` names the conversation. `tools` go to the server in the API's own form; where there
    are none, the prompt teaches them or the model has none. `temperature` is for a model behind an
    address whose settings name none. `extra` are more fields of the body for such a model
    (`{"top_p": 0.9}`); the settings' own have precedence.
    """

    messages: tuple[Message, ...]
    prompt: str = ""
    round: int = 1
    results: tuple[tuple[str, str], ...] = ()
    chat: str = ""
    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    grammar: str = ""
    scenario: str = ""
    translate: Callable[[str], str] | None = None
    tools: tuple[ToolSpec, ...] = ()
    extra: dict[str, Any] = {}


class LinkedImage(TextPart, frozen=True, tag="text"):
    """An image by its address; a text with this address to every model that takes none."""

    url: str = ""


class Spoken(msgspec.Struct, frozen=True):
    """A piece of the reply."""

    text: str


class Thinking(msgspec.Struct, frozen=True):
    """A piece of reasoning that the model gives apart from its reply."""

    text: str


# The dialect of a call that came in the API's own form.
NATIVE = "native"


class NativeDelta(msgspec.Struct, frozen=True):
    """A part of a call in the API's own form.

    Deltas with the same `slot` make up one call: the first one with a name opens it, and the `text`
    of all of them, joined, is its input as JSON. `id` is "" where the server gives none.
    """

    slot: int
    id: str = ""
    name: str = ""
    text: str = ""


class ToolsUnheard(msgspec.Struct, frozen=True):
    """The model did not see its tools: its server ignored them, as its token counts show.

    If the reply calls none, `give_up_tools` of the model switches it to text mode.
    """


# Counts are the server's own; they are missing where a server sends none.
class Usage(msgspec.Struct, frozen=True):
    """The cost of the reply, in tokens.

    `tokens_cached` are those of `tokens_in` that came from a cache, and `tokens_reasoning` those of
    `tokens_out` that are reasoning.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_reasoning: int = 0


class SampledToken(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token that the model chose: its text, its id and the logarithm of its probability."""

    text: str = ""
    id: int | None = None
    logprob: float | None = None


class Sampled(msgspec.Struct, frozen=True):
    """Tokens of the reply, from a server that was asked for them (`logprobs`) and gives them.

    Their text is that of other pieces; whoever only reads the reply ignores them.
    """

    tokens: tuple[SampledToken, ...]


class Stopped(msgspec.Struct, frozen=True):
    """The reason why the reply ended: `stop`, `length` where it was cut, or the server's
    own word.
    """

    reason: str


Piece: TypeAlias = Spoken | Thinking | NativeDelta | Usage | ToolsUnheard | Sampled | Stopped


class Model(Protocol):
    """A language model. `name` is for people; one model serves any number of turns at once.

    `writes_results`: its text may carry the results of its calls, which count as such. It is false
    for every real model: a result that such a model writes is made up.
    """

    @property
    def name(self) -> str: ...

    @property
    def writes_results(self) -> bool: ...

    def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it arrives; closing it ends the request."""
        ...

    async def close(self) -> None:
        """Release connections and memory."""
        ...


def context_of(model: Model) -> int | None:
    """Return the number of tokens a model takes in and writes together; `None` where unknown."""
    return getattr(model, "context", None)


def mode_of(model: Model) -> UsedMode:
    """Return the mode for the next request; text for a model without modes."""
    return getattr(model, "mode", "text")


class ModelFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person may be shown of a model's settings: never its key, only the hint about it."""

    address: str = ""
    key_hint: str = ""
    temperature: float | None = None


def facts_of(model: Model) -> ModelFacts:
    """Return what is known of a model's server; nothing for a model without one."""
    return getattr(model, "facts", None) or ModelFacts()


# --- Scenarios of a model that plays scripts: one for each script, with a first prompt ---


class Scenario(msgspec.Struct, frozen=True):
    """A script by its name; `prompt` is what a person would say to see it."""

    name: str
    title: str
    prompt: str


def scenarios_of(model: Model) -> tuple[Scenario, ...]:
    """Return the scenarios of a model; none for a real one."""
    return tuple(getattr(model, "scenarios", ()))


# --- Codes of a `ModelError`, with their meaning ---

MODEL_CODES = {
    "model_unreachable": "no connection to the model's server, or it broke",
    "model_timeout": "the model's server said nothing for too long",
    "model_refused": "the model's server refused the request: a wrong key, model or field",
    "model_no_tools": "the model's server takes no tools; in `auto` the prompt teaches them",
    "model_busy": "the model's server has too much to do; try again",
    "model_failed": "the model's server failed",
    "model_broken": "the model's server sent what is no reply: half an event, or no JSON",
    "model_context_full": "prompt and reply do not fit into the model's context; send less",
    "model_too_long": "a line or a reply passes the limit",
    "model_missing": "a package or a file that this model needs is not there",
}


# --- Names of tools as native APIs allow them: letters, digits, `_` and `-`, at most 64 of them ---
#
#     react.write        react_write
#     mcp:search/web     mcp_search_web
#     a.b and a_b        a_b_2 and a_b       the names that need no change keep theirs
#
# A model that is given tools natively knows them by these names only, also where it writes a call
# as
# text. So one mapping per turn is used in both directions.

_LONGEST = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]")


class NativeNames:
    """The mapping between tools and their native names."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        known = list(tools)
        self._native: dict[str, str] = {}
        self._own: dict[str, str] = {}
        # The number that the last name of this beginning got: thousands may have the same.
        self._numbers: dict[str, int] = {}
        # Names that need no change come first, so that they keep theirs and only the others get a
        # suffix.
        for spec in sorted(known, key=lambda spec: _short(spec.name) != spec.name):
            native = self._free(_short(spec.name))
            self._native[spec.name], self._own[native] = native, spec.name
        # The tools under their native names.
        self.specs = tuple(replace(spec, name=self._native[spec.name]) for spec in known)
        # The tools that a call in text may name: by either of the two names.
        self.read_specs = (*self.specs, *(one for one in known if one.name not in self._own))

    def native(self, call: Call) -> Call:
        """Return the call under the native name of its tool; any other name is made valid."""
        return replace(call, name=self._native.get(call.name) or _short(call.name))

    def own(self, name: str) -> str:
        """Return the name of the tool that has this native name; any other name stays."""
        # Models of the Harmony format put their namespace before it.
        plain = name.removeprefix("functions.")
        return self._own.get(name) or self._own.get(plain) or name

    def _free(self, name: str) -> str:
        free, number = name, self._numbers.get(name, 1)
        while free in self._own:
            number += 1
            end = f"_{number}"
            free = name[: _LONGEST - len(end)] + end
        self._numbers[name] = number
        return free


def _short(name: str) -> str:
    return _OTHER.sub("_", name)[:_LONGEST] or "_"


# --- Fair turns on the event loop, for a task that may never have to wait ---
#
#     turns = FairTurns()
#     async for piece in pieces:
#         turns.begin()
#         …                    # work, in small parts
#         await turns.pass_on()
#
# A reply that is there already is read without a pause, however long it is, and text of a model may
# take milliseconds to read: every other stream would wait. So a task that has worked for
# `_LONGEST_WORK` seconds in all gives the others a turn. One that works for a tenth of a
# millisecond and
# then waits for its next piece pays for that once in fifty pieces.

_LONGEST_WORK = 0.005


class FairTurns:
    """The time that one task has held the event loop."""

    def __init__(self) -> None:
        self._held = 0.0
        self._since = 0.0

    def begin(self) -> None:
        """Begin to work, behind a wait."""
        self._since = perf_counter()

    async def pass_on(self) -> None:
        """Count the work since `begin`, or since this was last called; pass the turn on if due."""
        now = perf_counter()
        self._held += now - self._since
        self._since = now
        if self._held > _LONGEST_WORK:
            self._held = 0.0
            import asyncio

            await asyncio.sleep(0)
            self._since = perf_counter()
