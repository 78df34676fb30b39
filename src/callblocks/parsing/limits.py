"""Limits of a parser. A call that exceeds one becomes `Malformed`, and its text is kept."""

from __future__ import annotations

import msgspec

from callblocks.core.errors import CallerError

__all__ = ("USUAL", "Limits")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Nesting of JSON and YAML, characters of one call's input, calls in one text."""

    depth: int = 100
    input_size: int = 10 * 1024 * 1024
    calls: int = 1000

    def __post_init__(self) -> None:
        """Raise `CallerError` for a value that is no limit."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise CallerError(f"the limit `{name}` is a number from 0 on, not {value!r:.40}")


# The default limits.
USUAL = Limits()
