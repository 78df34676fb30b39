"""OpenAI's completions: `POST /v1/completions`, which goes through as it is.

A prompt that a client wrote itself has no tools and no messages, so that nothing is converted. The
wire only finds the model, and writes faults.
"""

from __future__ import annotations

from typing import Any

import msgspec

from callblocks.gateway.exchange import GatewayFault
from callblocks.gateway.wires.fields import request_fields
from callblocks.gateway.wires.openai_error import openai_error
from callblocks.gateway.wires.reply import data_line

__all__ = ("Completion", "CompletionsWire")


class Completion(msgspec.Struct, frozen=True):
    """A request that goes through: its body is the client's, checked to be JSON."""

    model: str
    body: dict[str, Any]
    streams: bool


class CompletionsWire:
    """Reads the model of a completion, and writes faults."""

    name = "completions"
    media_type = "text/event-stream"

    def read(self, body: Any) -> Completion:
        fields = request_fields(body)
        return Completion(fields.needed_text("model"), fields.raw, fields.flag("stream"))

    def fault(self, fault: GatewayFault) -> dict[str, Any]:
        return openai_error(fault)

    def fail(self, fault: GatewayFault) -> bytes:
        """Return what ends a stream that has begun and cannot go on."""
        return data_line(openai_error(fault))
