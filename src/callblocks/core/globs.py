"""Patterns for names and values, paths, and hosts.

    name, value   `*` any text, `?` one character, `[ab]` one of these; case counts
    path          the same within a segment; `**` any number of segments, also none:
                  `notes/**` is the folder notes and all below it, `**/x` an x at any depth
    host          `example.org` that host, `*.example.org` any below it, `*` any

In a command, a wildcard must not match shell metacharacters: see `holds_command`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

__all__ = (
    "holds_command",
    "holds_host",
    "holds_path",
    "holds_text",
    "is_exact",
    "segments",
)

_WILDCARDS = re.compile(r"[*?\[]")
# A class of one character such as `[*]` is an escape for it; any longer class is a wildcard.
_ESCAPED = re.compile(r"\[([^!\]])\]|\[[!]?\]?[^\]]*\]|[*?]", re.DOTALL)
# Characters without a meaning to any shell, beside letters and digits. A blank only separates
# words.
_PLAIN = frozenset(" _-./:,=+@")


def is_exact(pattern: str) -> bool:
    """Return whether the pattern has no wildcard."""
    return _WILDCARDS.search(pattern) is None


def holds_text(pattern: str, text: str) -> bool:
    """Return whether a pattern matches the whole text."""
    return fnmatchcase(text, pattern)


def holds_command(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a command with its wildcards matching plain text only.

    `git log*` matches `git log --oneline`, but not `git log; reboot`: metacharacters such as `;`,
    `|`, `$`, quotes and line breaks must stand in the pattern itself. Each metacharacter in the
    pattern matches exactly one in the text, so equal counts leave none to the wildcards.
    """
    return fnmatchcase(text, pattern) and _signs(text) == _signs(_ESCAPED.sub(r"\1", pattern))


def _signs(text: str) -> int:
    return sum(not (char.isalnum() or char in _PLAIN) for char in text)


def segments(path: str) -> tuple[str, ...]:
    """Return the segments of a path; the workspace itself has none."""
    return tuple(name for name in path.split("/") if name not in ("", "."))


def holds_path(pattern: str, path: str) -> bool:
    """Return whether a path pattern matches a path; both are relative to the workspace."""
    # A nondeterministic automaton over segments: `places` is the set of positions in the pattern
    # that the segments read so far can have reached. Backtracking over several `**` would be
    # exponential.
    wanted = segments(pattern)
    places = _skip(wanted, {0})
    for name in segments(path):
        places = _skip(wanted, _step(wanted, places, name))
    return len(wanted) in places


def _step(wanted: tuple[str, ...], places: Iterable[int], name: str) -> set[int]:
    reached: set[int] = set()
    for place in places:
        if place == len(wanted):
            continue
        if wanted[place] == "**":
            reached.add(place)
        elif fnmatchcase(name, wanted[place]):
            reached.add(place + 1)
    return reached


def _skip(wanted: tuple[str, ...], places: set[int]) -> set[int]:
    """Add the epsilon closure: `**` also matches zero segments."""
    for place, name in enumerate(wanted):
        if name == "**" and place in places:
            places.add(place + 1)
    return places


def holds_host(pattern: str, host: str) -> bool:
    """Return whether a host pattern matches a host in lower case."""
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return pattern in ("*", host)
