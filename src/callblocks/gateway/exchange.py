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
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

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
    `choice-not-held`, `answer-not-json`, `schema-not-checked`, `unknown-tool`, `input-unfit`,
    `input-differs`, `call-twice`, `call-not-ended`, `written-result`, `denied`, `rewritten`.
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
