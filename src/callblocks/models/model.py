"""The protocol of a language model: messages in, text out, piece by piece.

    async with aclosing(model.reply(request)) as pieces:
        async for piece in pieces: ...

A model that cannot be reached, stalls or breaks raises `ModelError` with a code of
`callblocks.models.model`, after all the text that came.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args

import msgspec

from callblocks.core.blocks import ESCAPE, Part, text_of
from callblocks.core.calls import Call
from callblocks.core.errors import CallerError

if TYPE_CHECKING:
    from callblocks.core.specs import ToolSpec

__all__ = (
    "CALL_MODES",
    "MARKED",
    "MODEL_CODES",
    "NATIVE",
    "PROMPT_FORMATS",
    "CallMode",
    "Message",
    "Model",
    "NativeDelta",
    "Piece",
    "PromptFormat",
    "Request",
    "Role",
    "Scenario",
    "Spoken",
    "Stopped",
    "Thinking",
    "ToolsUnheard",
    "Usage",
    "UsedMode",
    "context_of",
    "mode_of",
    "prompt_format",
    "scenarios_of",
)

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

# How a model is given tools and gives calls.
#
# text     The prompt teaches a dialect; calls are read from the text. native   The server gets
# `tools` and answers with `tool_calls`; text is only text. mixed    The server gets `tools`; calls
# are read from `tool_calls` and from the text. auto     Mixed, until the server answers that it has
# no tools; text from then on.
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
    address whose settings name none.
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
    """The cost of the reply, in tokens."""

    tokens_in: int = 0
    tokens_out: int = 0


class Stopped(msgspec.Struct, frozen=True):
    """The reason why the reply ended: `stop`, `length` where it was cut, or the server's
    own word.
    """

    reason: str


Piece: TypeAlias = Spoken | Thinking | NativeDelta | Usage | ToolsUnheard | Stopped


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


# --- Messages as one text, for a model that only goes on writing ---
#
#     chatml    <|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n
#     llama3    <|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>…
#     mistral   [INST] Hello[/INST]
#     plain     User: Hello\n\nAssistant:
#
# No format writes the sign that begins a text (`<s>`, `<|begin_of_text|>`): servers put it there.
# An image or a document is one line.
#
# A content cannot end its message or begin another: the sign `␛` goes into every marker that stands
# in it, as in `<␛|im_end|>`. A session takes it out of what a model copies from there.

_BAR = re.compile(r"<(?=\|[A-Za-z0-9_]{1,64}\|>)")
_BRACKET = re.compile(
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|TOOL_ID"
    r"|CALL_ID|ARGS|THINK|MODEL_SETTINGS|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO|PREFIX|MIDDLE"
    r"|SUFFIX|REFERENCE_DOC_[0-9]{1,4})\])|<(?=/?(?:s|unk|pad)>)"
)
# At the start of a line, by any character that a model may take for a line end.
_NAME = re.compile(
    r"(?<![^\n\r\v\f\x1c-\x1e\x85\u2028\u2029])[^\S\n]{0,8}"
    r"(?:u(?=ser[^\S\n]*:)|a(?=ssistant[^\S\n]*:)|s(?=ystem[^\S\n]*:))",
    re.IGNORECASE,
)
# Matches wherever some format inserts a sign into a content.
MARKED = re.compile("|".join((_BAR.pattern, _BRACKET.pattern, f"(?i:{_NAME.pattern})")))


class PromptFormat(msgspec.Struct, frozen=True):
    """The form of a prompt: `prompt`, and the texts that end a reply.

    `trims` means that a reply begins with a blank that is not part of it.
    """

    name: str
    prompt: Callable[[Iterable[Message]], str]
    stops: tuple[str, ...]
    trims: bool = False


def prompt_format(name: str) -> PromptFormat:
    """Return the format of that name."""
    if name not in PROMPT_FORMATS:
        raise CallerError(f"no prompt format {name!r}; choose from: {', '.join(PROMPT_FORMATS)}")
    return PROMPT_FORMATS[name]


def _content(message: Message, marker: re.Pattern[str]) -> str:
    """Return the text of a message with a sign in each marker of the format."""
    text = text_of(list(message.parts)).strip("\n")
    return marker.sub(rf"\g<0>{ESCAPE}", text)


def _chatml(messages: Iterable[Message]) -> str:
    said = (f"<|im_start|>{one.role}\n{_content(one, _BAR)}<|im_end|>\n" for one in messages)
    return "".join((*said, "<|im_start|>assistant\n"))


def _llama3(messages: Iterable[Message]) -> str:
    said = (f"{_llama3_head(one.role)}{_content(one, _BAR)}<|eot_id|>" for one in messages)
    return "".join((*said, _llama3_head("assistant")))


def _llama3_head(role: str) -> str:
    return f"<|start_header_id|>{role}<|end_header_id|>\n\n"


def _mistral(messages: Iterable[Message]) -> str:
    """Return the prompt for two sides only: the system's text is put before the person's."""
    return "".join(_mistral_sides(messages))


def _mistral_sides(messages: Iterable[Message]) -> Iterator[str]:
    # The template has no system role and wants alternating sides, so neighbours of one side are
    # joined.
    for is_reply, group in groupby(messages, lambda one: one.role == "assistant"):
        text = "\n\n".join(_content(one, _BRACKET) for one in group)
        yield f" {text}</s>" if is_reply else f"[INST] {text}[/INST]"


def _plain(messages: Iterable[Message]) -> str:
    said = (f"{one.role.capitalize()}: {_content(one, _NAME)}\n\n" for one in messages)
    return "".join((*said, "Assistant:"))


# Every format, by its name.
PROMPT_FORMATS = {
    one.name: one
    for one in (
        PromptFormat("chatml", _chatml, ("<|im_end|>", "<|im_start|>", "<|endoftext|>")),
        PromptFormat("llama3", _llama3, ("<|eot_id|>", "<|end_of_text|>", "<|start_header_id|>")),
        PromptFormat("mistral", _mistral, ("</s>", "[INST]"), trims=True),
        PromptFormat("plain", _plain, ("\nUser:", "\nSystem:", "\nAssistant:"), trims=True),
    )
}
