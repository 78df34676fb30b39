"""Values between the parts of the gateway: one request, one stream of events, one fault.

    body ─► wire.read ─► GatewayRequest ─► engine ─► ReplyEvent … ─► wire.writer ─► bytes

A `GatewayRequest` holds what every wire can say, and no word of any wire. The events are those of
the parser (`callblocks.core.events`), with three promises that strict clients need:

    CallStarted   has an id, unique in the conversation, and an index: 0, 1, 2 … without a gap
    CallInput     is JSON, not the text as written: all of one call, joined, are its whole input,
                  and each beginning of it is the beginning of valid JSON. For a free-text tool
                  (`GatewayRequest.free_text`) it is the plain text of the body
    CallReady     ends each call whose input is whole; `call.input` is what was sent

Calls do not interleave: one ends before the next begins. The last event is one `Finished`. A call
without a `CallReady` before `Finished` was cut off: the reason is then "length".

An error of a model's server becomes a fault here (`fault_of`), and a request gets the name of the
conversation that it belongs to (`conversation_of`).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.core.blocks import text_of
from callblocks.core.errors import ModelError
from callblocks.core.events import CallInput, CallReady, CallStarted, Reasoning, Text
from callblocks.core.specs import ToolSpec
from callblocks.models.model import Message, Usage

__all__ = (
    "ANY_TOOL",
    "Demand",
    "FaultKind",
    "FinishReason",
    "Finished",
    "GatewayFault",
    "GatewayRequest",
    "JsonFormat",
    "Remark",
    "ReplyEvent",
    "ReplyHead",
    "ToolChoice",
    "conversation_of",
    "fault_of",
)

Demand: TypeAlias = Literal["auto", "none", "required"]


class ToolChoice(msgspec.Struct, frozen=True):
    """The tools that the reply may or must call.

    `names` are the tools that may be called; empty for all. A client that names one tool demands
    it: `ToolChoice("required", ("search",))`.
    """

    demand: Demand = "auto"
    names: tuple[str, ...] = ()


# The choice of a request that makes none.
ANY_TOOL = ToolChoice()


class JsonFormat(msgspec.Struct, frozen=True):
    """The form of an answer in JSON; `schema` is `None` where any object will do."""

    schema: dict[str, Any] | None = None
    name: str = ""
    strict: bool = False


class GatewayRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request of any wire.

    `messages` are in the client's order, with system messages wherever they stand ("developer" is
    "system"); each result of a call is a message of the role "tool" of its own. `free_text` names
    tools whose input is one text: their `ToolSpec` has one parameter, `input`, and their calls in
    `messages` have `{"input": text}`. `strict` names the tools whose input must fit its schema.
    `left_out` describes tools of kinds that the gateway cannot give, for a log and for the model.
    `fields` are passed on to the model's server as they are, by their names in the chat completions
    API (`top_p`, `seed`, `logprobs`, …). `max_tokens`, `temperature` and `stop` are apart because
    every wire has them. `thinks` says that the client shows reasoning. `conversation` names the
    conversation where the client does, else it is "". `options` are what a wire needs again when it
    writes the reply, such as `{"include_usage": true}`: nobody else looks at them.
    """

    wire: str
    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    free_text: frozenset[str] = frozenset()
    strict: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()
    choice: ToolChoice = ANY_TOOL
    parallel: bool = True
    json_format: JsonFormat | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    fields: dict[str, Any] = {}
    streams: bool = False
    thinks: bool = True
    conversation: str = ""
    options: dict[str, Any] = {}


class ReplyHead(msgspec.Struct, frozen=True):
    """What a wire needs to begin a reply: an id without a prefix, the time, the model's name."""

    id: str
    created: int
    model: str


FinishReason: TypeAlias = Literal["stop", "calls", "length", "filter"]


class Remark(msgspec.Struct, frozen=True):
    """One thing that the gateway mended or refused in a reply, countable by its code.

    `code` is that of the parser's problem (`repaired-quotes`), or of the gateway: `asked-again`,
    `choice-not-held`, `answer-not-json`, `answer-unwrapped`, `schema-not-checked`, `unknown-tool`,
    `name-completed`, `input-unfit`, `input-differs`, `call-twice`, `call-not-ended`,
    `written-result`, `denied`, `rewritten`.
    """

    code: str
    detail: str = ""


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The end of a reply. `stop_text` is the stop sequence that ended it, where that is known."""

    reason: FinishReason
    usage: Usage = Usage()
    remarks: tuple[Remark, ...] = ()
    stop_text: str = ""


ReplyEvent: TypeAlias = Text | Reasoning | CallStarted | CallInput | CallReady | Finished

FaultKind: TypeAlias = Literal[
    "invalid_request",  # 400
    "authentication",  # 401
    "permission",  # 403
    "not_found",  # 404
    "too_large",  # 413
    "rate_limit",  # 429
    "internal",  # 500
    "upstream",  # 502
    "overloaded",  # 503
    "timeout",  # 504
]
STATUS: dict[FaultKind, int] = {
    "invalid_request": 400,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "too_large": 413,
    "rate_limit": 429,
    "internal": 500,
    "upstream": 502,
    "overloaded": 503,
    "timeout": 504,
}


class GatewayFault(Exception):
    """Ends a request with an error; each wire writes it in its own shape.

    `field` names the field of the request that is at fault; `retry_after` is in seconds. `public`
    is the message for clients with keys, where `message` names servers and settings of the gateway.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        field: str = "",
        code: str = "",
        retry_after: float | None = None,
        public: str = "",
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.status = STATUS[kind]
        self.message = message
        self.field = field
        self.code = code
        self.retry_after = retry_after
        self.public = public or message

    def for_strangers(self) -> GatewayFault:
        """Return the fault as a client may see it that does not own the gateway."""
        return GatewayFault(
            self.kind,
            self.public,
            field=self.field,
            code=self.code,
            retry_after=self.retry_after,
        )


# --- Faults of a model's server ---


_FAULT_KINDS: dict[str, FaultKind] = {
    "model_unreachable": "upstream",
    "model_timeout": "timeout",
    "model_refused": "upstream",
    "model_no_tools": "upstream",
    "model_busy": "overloaded",
    "model_failed": "upstream",
    "model_broken": "upstream",
    "model_context_full": "invalid_request",
    "model_too_long": "upstream",
    "model_missing": "internal",
}
# Statuses of a model's server that are the client's to mend, and not the gateway's.
_OF_CLIENT: dict[int, FaultKind] = {
    400: "invalid_request",
    404: "not_found",
    413: "too_large",
    422: "invalid_request",
    429: "rate_limit",
}


def fault_of(error: ModelError) -> GatewayFault:
    """Return the fault for an error of a model.

    A key that the model's server refuses is the gateway's own (502): the client's key is another.
    """
    kind = _FAULT_KINDS.get(error.code, "upstream")
    status = error.details.get("status")
    if isinstance(status, int) and error.code != "model_context_full":
        kind = _OF_CLIENT.get(status, kind)
    code = "context_length_exceeded" if error.code == "model_context_full" else error.code
    wait = error.details.get("retry_after")
    after = float(wait) if isinstance(wait, int | float) else None
    return GatewayFault(
        kind, error.message, code=code, retry_after=after, public=_public_words(error, kind)
    )


# The message of an error names the address of the server, variables with keys, and other models.
_PUBLIC_WORDS: dict[str, str] = {
    "model_unreachable": "cannot be reached",
    "model_timeout": "takes too long",
    "model_busy": "is too busy; try again later",
    "model_context_full": "has no room for the request in its context; send less",
    "model_broken": "sent what is no reply",
    "model_too_long": "sent more than fits",
}


def _public_words(error: ModelError, kind: FaultKind) -> str:
    """Return what happened without anything about the server but its words to this client."""
    said = f"the model {_PUBLIC_WORDS.get(error.code, 'failed')}"
    if kind == "invalid_request" and (words := error.details.get("words")):
        said = f"the model refused the request: {words}"
    return said


# --- Conversations ---


_NAME_LENGTH = 24


def conversation_of(request: GatewayRequest, client: str = "") -> str:
    """Return a name of letters and digits, the same for each request of one conversation.

    Where the client names none it is made of what stays the same: the client, the model, and the
    messages up to the first one of the user. Two conversations that begin alike share it.
    """
    known = sha256(f"{client}\0{request.conversation}".encode(errors="replace"))
    if not request.conversation:
        known.update(request.model.encode(errors="replace"))
        for message in request.messages:
            text = text_of(list(message.parts))
            known.update(f"\0{message.role}\0{text}".encode(errors="replace"))
            if message.role == "user":
                break
    return known.hexdigest()[:_NAME_LENGTH]
