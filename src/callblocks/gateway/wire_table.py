"""The wires of a gateway, by their names. Each is a module with a value `WIRE`."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from callblocks.gateway.wires.wire import Wire

__all__ = ("all_wires",)

_NAMES = ("chat", "responses", "messages", "ollama")


def all_wires() -> dict[str, Wire]:
    """Return every wire."""
    modules = (f"callblocks.gateway.wires.{name}" for name in _NAMES)
    wires = [import_module(module).WIRE for module in modules if find_spec(module)]
    return {wire.name: wire for wire in wires}
