"""How much of a text a parser takes for calls. What passes a limit is `Malformed`, text kept."""

from __future__ import annotations

import msgspec

__all__ = ("Limits",)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Nesting of JSON and YAML, characters of one call's input, calls in one text."""

    depth: int = 100
    input_size: int = 10 * 1024 * 1024
    calls: int = 1000
