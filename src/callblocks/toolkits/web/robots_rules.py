"""Reduction of a robots.txt to the groups that apply to us.

    User-agent: googlebot      User-agent: another
    User-agent: *          →   User-agent: *
    Disallow: /private         Disallow: /private

All other agents are renamed to one. The parser stores each rule once per agent of its group, so a
small file that names thousands of both would exhaust memory.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protego import Protego

__all__ = ("AGENT", "for_us", "read_rules")

# The product token that a site's rules use for us.
AGENT = "callblocks"

_OTHERS = "another"
_NAMES = re.compile(
    r"\s*(?:user-agent|useragent|user\s+agent)(?:\s*:|\s)\s*(.*?)\s*", re.IGNORECASE
)


def read_rules(text: str) -> Protego:
    """Parse a robots.txt; ask the result what `AGENT` may read."""
    from protego import Protego

    return Protego.parse(for_us(text))


def for_us(text: str) -> str:
    """Return the text with all other agents renamed to one."""
    return "\n".join(map(_line, text.splitlines()))


def _line(line: str) -> str:
    named = _NAMES.fullmatch(line.partition("#")[0])
    if named is None:
        return line
    name = named[1].lower()
    # An empty name is kept as it is, since the parser decides its meaning; `callblocks*` names us
    # too.
    ours = name in ("", "*") or name.replace("*", "") == AGENT
    return f"User-agent: {name if ours else _OTHERS}"
