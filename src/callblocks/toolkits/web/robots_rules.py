"""What of a robots.txt counts for us: the groups that name us, and those for everybody.

    User-agent: googlebot      User-agent: another
    User-agent: *          →   User-agent: *
    Disallow: /private         Disallow: /private

All other programs become one. A rule is noted for each program that its group names, so a small
file that names thousands of both would take all memory there is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protego import Protego

__all__ = ("AGENT", "for_us", "read_rules")

# The name that rules of a site may call us by.
AGENT = "callblocks"

_OTHERS = "another"
_NAMES = re.compile(
    r"\s*(?:user-agent|useragent|user\s+agent)(?:\s*:|\s)\s*(.*?)\s*", re.IGNORECASE
)


def read_rules(text: str) -> Protego:
    """The rules of a robots.txt, to be asked what `AGENT` may read."""
    from protego import Protego

    return Protego.parse(for_us(text))


def for_us(text: str) -> str:
    """The same rules for us; of the others it is only said that they are others."""
    return "\n".join(map(_line, text.splitlines()))


def _line(line: str) -> str:
    named = _NAMES.fullmatch(line.partition("#")[0])
    if named is None:
        return line
    name = named[1].lower()
    ours = name in ("", "*") or name.replace("*", "") == AGENT
    return f"User-agent: {name if ours else _OTHERS}"
