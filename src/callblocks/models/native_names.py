"""Names of tools as native APIs allow them: letters, digits, `_` and `-`, at most 64 of them.

    react.write        react_write
    mcp:search/web     mcp_search_web
    a.b and a_b        a_b_2 and a_b       the names that need no change keep theirs

A model that is given tools natively knows them by these names only, also where it writes a call as
text. So one mapping per turn is used in both directions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from callblocks.core.calls import Call
from callblocks.core.specs import ToolSpec

__all__ = ("NativeNames",)

_LONGEST = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]")


class NativeNames:
    """The mapping between tools and their native names."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        known = list(tools)
        self._native: dict[str, str] = {}
        self._own: dict[str, str] = {}
        # The number that the last name of this beginning got: thousands may have the same.
        self._numbers: dict[str, int] = {}
        # Names that need no change come first, so that they keep theirs and only the others get a
        # suffix.
        for spec in sorted(known, key=lambda spec: _short(spec.name) != spec.name):
            native = self._free(_short(spec.name))
            self._native[spec.name], self._own[native] = native, spec.name
        # The tools under their native names.
        self.specs = tuple(replace(spec, name=self._native[spec.name]) for spec in known)
        # The tools that a call in text may name: by either of the two names.
        self.read_specs = (*self.specs, *(one for one in known if one.name not in self._own))

    def native(self, call: Call) -> Call:
        """Return the call under the native name of its tool; any other name is made valid."""
        return replace(call, name=self._native.get(call.name) or _short(call.name))

    def own(self, name: str) -> str:
        """Return the name of the tool that has this native name; any other name stays."""
        # Models of the Harmony format put their namespace before it.
        plain = name.removeprefix("functions.")
        return self._own.get(name) or self._own.get(plain) or name

    def _free(self, name: str) -> str:
        free, number = name, self._numbers.get(name, 1)
        while free in self._own:
            number += 1
            end = f"_{number}"
            free = name[: _LONGEST - len(end)] + end
        self._numbers[name] = number
        return free


def _short(name: str) -> str:
    return _OTHER.sub("_", name)[:_LONGEST] or "_"
