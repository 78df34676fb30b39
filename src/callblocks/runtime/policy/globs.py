"""Patterns: names and values, paths, hosts.

    name, value   `*` any text, `?` one character, `[ab]` one of these; upper case is not lower
    path          the same within a segment; `**` any number of segments, also none:
                  `notes/**` is the folder notes and all below it, `**/x` an x at any depth
    host          `example.org` that host, `*.example.org` any below it, `*` any

In a command, a wildcard must not stand for what a shell acts on: see `holds_command`.
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
# One character in brackets is that character; any longer class is a wildcard.
_ESCAPED = re.compile(r"\[([^!\]])\]|\[[!]?\]?[^\]]*\]|[*?]", re.DOTALL)
# What no shell gives a meaning, beside letters and digits: a space only parts words.
_PLAIN = frozenset(" _-./:,=+@")


def is_exact(pattern: str) -> bool:
    """Whether the pattern stands for itself only."""
    return _WILDCARDS.search(pattern) is None


def holds_text(pattern: str, text: str) -> bool:
    """Whether a pattern fits the whole text."""
    return fnmatchcase(text, pattern)


def holds_command(pattern: str, text: str) -> bool:
    """Whether a pattern fits a command with its wildcards standing for plain text only.

    `git log*` fits `git log --oneline`, but not `git log; reboot`: signs such as `;`, `|`, `$`,
    quotes and line breaks must be written in the pattern itself. As each sign in the pattern
    takes one in the text, equal numbers leave none to the wildcards.
    """
    return fnmatchcase(text, pattern) and _signs(text) == _signs(_ESCAPED.sub(r"\1", pattern))


def _signs(text: str) -> int:
    return sum(not (char.isalnum() or char in _PLAIN) for char in text)


def segments(path: str) -> tuple[str, ...]:
    """The names that a path goes through; the workspace itself has none."""
    return tuple(name for name in path.split("/") if name not in ("", "."))


def holds_path(pattern: str, path: str) -> bool:
    """Whether a path pattern fits a path; both are relative to the workspace."""
    # The places in the pattern that the names read so far may have led to.
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
    """With all places behind a `**`, which may stand for no name at all."""
    for place, name in enumerate(wanted):
        if name == "**" and place in places:
            places.add(place + 1)
    return places


def holds_host(pattern: str, host: str) -> bool:
    """Whether a host pattern fits a host in lower case."""
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return pattern in ("*", host)
