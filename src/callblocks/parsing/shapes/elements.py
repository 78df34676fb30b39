"""Text that is a row of elements: `<path>a.txt</path><content>…</content>`.

Only keys that are asked for are tags. A value may hold its own closing tag: the one that counts is
the first that a tag or the end follows, or else the last.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable
from typing import NamedTuple

__all__ = ("Elements", "read_elements")

_TAG = re.compile(r"<(/?)([A-Za-z_][\w.:-]*)>")
_SOLID = re.compile(r"\S")


class Elements(NamedTuple):
    """Each key with its text; `repairs` are what is wrong with them, by code and detail."""

    found: list[tuple[str, str]]
    repairs: list[tuple[str, str]]


def read_elements(text: str, is_key: Callable[[str], bool]) -> Elements:
    """Read the elements whose names are keys; what else stands there is left out, and said so."""
    opens = [tag for tag in _TAG.finditer(text) if not tag[1] and is_key(tag[2])]
    places = {tag.start() for tag in opens}
    ends: dict[str, deque[re.Match[str]]] = defaultdict(deque)
    for tag in _TAG.finditer(text):
        if tag[1]:
            ends[tag[2]].append(tag)
    found: list[tuple[str, str]] = []
    repairs: list[tuple[str, str]] = []
    at = 0
    for number, tag in enumerate(opens, 1):
        if tag.start() < at:
            continue
        if text[at : tag.start()].strip():
            repairs.append(("stray-text", f"{text[at : tag.start()].strip()!r:.60}"))
        end = _end(text, tag, ends[tag[2]], places)
        if end is None:
            stop = opens[number].start() if number < len(opens) else len(text)
            repairs.append(("missing-closer", f"</{tag[2]}> is missing"))
            found.append((tag[2], text[tag.end() : stop].rstrip("\r\n")))
            at = stop
        else:
            found.append((tag[2], text[tag.end() : end.start()]))
            at = end.end()
    rest = text[at:].strip()
    if rest:
        repairs.append(("stray-text", f"{rest!r:.60}"))
    return Elements(found, repairs)


def _end(
    text: str, tag: re.Match[str], ends: deque[re.Match[str]], places: set[int]
) -> re.Match[str] | None:
    """The closing tag that counts. What stood before this element is never looked at again."""
    while ends and ends[0].start() < tag.end():
        ends.popleft()
    for end in ends:
        solid = _SOLID.search(text, end.end())
        if solid is None or solid.start() in places:
            return end
    return ends[-1] if ends else None
