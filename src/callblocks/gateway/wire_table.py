"""The wires of a gateway, by their names."""

from __future__ import annotations

from callblocks.gateway.wires.chat import ChatWire
from callblocks.gateway.wires.messages import MessagesWire
from callblocks.gateway.wires.ollama import OllamaWire
from callblocks.gateway.wires.responses import ResponsesWire
from callblocks.gateway.wires.wire import Wire

__all__ = ("all_wires",)


def all_wires() -> dict[str, Wire]:
    """Return one of each wire."""
    wires: tuple[Wire, ...] = (ChatWire(), ResponsesWire(), MessagesWire(), OllamaWire())
    return {wire.name: wire for wire in wires}
