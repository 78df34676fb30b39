"""The protocol of a wire: reading requests, writing replies and faults.

request = wire.read(body, headers)              GatewayFault where it cannot be read
writer = wire.writer(request, head)
writer.begin(); writer.write(event) …; writer.fail(fault)
wire.whole(request, head, events)               the body of a reply that is not streamed
wire.fault(fault)                               the body of an error
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from callblocks.gateway.exchange import GatewayFault, GatewayRequest, ReplyEvent, ReplyHead

__all__ = ("StreamWriter", "Wire")


class StreamWriter(Protocol):
    """Writes one streamed reply. Each method returns whole events as bytes, perhaps none."""

    def begin(self) -> bytes:
        """Return what stands before the first event."""
        ...

    def write(self, event: ReplyEvent) -> bytes:
        """Return what an event becomes; `Finished` ends the stream."""
        ...

    def fail(self, fault: GatewayFault) -> bytes:
        """Return what ends a stream that has begun and cannot go on."""
        ...

    def keep_alive(self) -> bytes:
        """Return what may be sent while nothing comes, and changes nothing for any client."""
        ...


class Wire(Protocol):
    """A protocol of clients."""

    @property
    def name(self) -> str: ...

    @property
    def media_type(self) -> str:
        """Return the media type of a stream."""
        ...

    def read(self, body: Any, headers: Mapping[str, str]) -> GatewayRequest:
        """Read a decoded JSON body; raise `GatewayFault` (`invalid_request`) with the field."""
        ...

    def writer(self, request: GatewayRequest, head: ReplyHead) -> StreamWriter: ...

    def whole(
        self, request: GatewayRequest, head: ReplyHead, events: Iterable[ReplyEvent]
    ) -> dict[str, Any]:
        """Return the body of a reply that is not streamed."""
        ...

    def fault(self, fault: GatewayFault) -> dict[str, Any]:
        """Return the body of an error."""
        ...
