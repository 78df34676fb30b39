"""What a language model is to the rest: messages in, text out, piece by piece.

    async with aclosing(model.reply(request)) as pieces:
        async for piece in pieces: ...

A model that cannot be reached, stalls or breaks raises `ModelError` with a code of
`callblocks.models.codes`, after all the text that came.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args

import msgspec

from callblocks.model.calls import Call
from callblocks.model.parts import Part

if TYPE_CHECKING:
    from callblocks.model.specs import ToolSpec

__all__ = (
    "CALL_MODES",
    "NATIVE",
    "CallMode",
    "Message",
    "Model",
    "NativeDelta",
    "Piece",
    "Request",
    "Role",
    "Spoken",
    "Stopped",
    "Thinking",
    "ToolsUnheard",
    "Usage",
    "UsedMode",
    "context_of",
    "mode_of",
)

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

CallMode: TypeAlias = Literal["auto", "text", "native", "mixed"]
"""How a model is given tools and gives calls.

    text     The prompt teaches a dialect; calls are read from the text.
    native   The server gets `tools` and answers with `tool_calls`; text is only text.
    mixed    The server gets `tools`; calls are read from `tool_calls` and from the text.
    auto     Mixed, until the server answers that it has no tools; text from then on.
"""
UsedMode: TypeAlias = Literal["text", "native", "mixed"]
"""The mode of one request; `auto` is one of these at any time."""
CALL_MODES: tuple[CallMode, ...] = get_args(CallMode)


class Message(msgspec.Struct, frozen=True):
    """What one side said: text, images and documents in their order.

    In the native form an assistant's message also carries its `calls` and the `reasoning` that led
    to them, and a message of the role `tool` is the result of the call `call_id`.
    """

    role: Role
    parts: tuple[Part, ...]
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    reasoning: str = ""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked.

    `prompt` is what the person says in this turn, `round` counts how often the model is asked in
    it, from 1, and `results` are the outputs of the round before, by call, as text: a model that
    plays a script goes by them. It plays `scenario` where one is named, and has `translate` put
    its text into the dialect of the turn. `grammar` holds the reply to a GBNF grammar, where a
    model can do that. `chat` names the conversation. `tools` go to the server in the API's own
    form; where there are none, the prompt teaches them or the model has none. `temperature` is for
    a model behind an address whose settings name none.
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


class Spoken(msgspec.Struct, frozen=True):
    """A piece of the reply."""

    text: str


class Thinking(msgspec.Struct, frozen=True):
    """A piece of reasoning that the model gives apart from its reply."""

    text: str


NATIVE = "native"
"""The dialect of a call that came in the API's own form."""


class NativeDelta(msgspec.Struct, frozen=True):
    """A part of a call in the API's own form.

    Deltas with the same `slot` make up one call: the first one with a name opens it, and the
    `text` of all of them, joined, is its input as JSON. `id` is "" where the server gives none.
    """

    slot: int
    id: str = ""
    name: str = ""
    text: str = ""


class ToolsUnheard(msgspec.Struct, frozen=True):
    """The model was not told of its tools: its server passed over them, as its counts show.

    If the reply calls none, `give_up_tools` of the model makes it one that is asked in text.
    """


class Usage(msgspec.Struct, frozen=True):
    """What the reply cost, in tokens."""

    tokens_in: int = 0
    tokens_out: int = 0


class Stopped(msgspec.Struct, frozen=True):
    """Why the reply ended: `stop`, `length` where it was cut, or what the model's server says."""

    reason: str


Piece: TypeAlias = Spoken | Thinking | NativeDelta | Usage | ToolsUnheard | Stopped


class Model(Protocol):
    """Something that replies. `name` is for people; one model serves any number of turns at once.

    `writes_results`: its text may carry the results of its calls, which count as such. It is false
    for every model that thinks for itself: what such a one writes as a result is made up.
    """

    @property
    def name(self) -> str: ...

    @property
    def writes_results(self) -> bool: ...

    def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """The reply, as it arrives; closing it ends the request."""
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...


def context_of(model: Model) -> int | None:
    """Return how many tokens a model takes in and writes together; None where it does not say."""
    return getattr(model, "context", None)


def mode_of(model: Model) -> UsedMode:
    """Return the mode in which a model is asked next; one that does not say is asked in text."""
    return getattr(model, "mode", "text")
