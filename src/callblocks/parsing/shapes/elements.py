"""A reader for a row of elements: `<path>a.txt</path><content>…</content>`.

Only keys that the caller accepts are tags. A value may contain its own closing tag: the first one
that a tag or the end of the text follows counts, else the last one. If a dialect `escapes` tags in
text, `<![CDATA[…]]>` holds text, and a doubled closing tag belongs to no value.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ("Elements", "read_elements")

_BLANKS = r"[ \t\r\n]{0,100}"
_ATTRIBUTE = (
    r"[ \t\r\n]{1,100}[\w:.-]{1,100}=(?:\"[^\"<>]{0,400}\"|'[^'<>]{0,400}'|[^\s\"'<>/]{1,400})"
)
# A CDATA section as a whole, so that tags inside of it are skipped, or a tag: its slash, blanks
# before the name, the name, attributes, and the slash of an empty element.
_TAG = re.compile(
    r"<!\[CDATA\[.*?\]\]>"
    rf"|<(?P<ends>/?)(?P<early>{_BLANKS})(?P<name>[A-Za-z_][\w.:-]*)"
    rf"(?P<more>(?:{_ATTRIBUTE}){{0,20}}{_BLANKS})(?P<whole>/?)>",
    re.DOTALL,
)
_SOLID = re.compile(r"\S")


class Elements(NamedTuple):
    """The keys with their texts, and the repairs, each a code and a detail."""

    found: list[tuple[str, str]]
    repairs: list[tuple[str, str]]


def read_elements(text: str, is_key: Callable[[str], bool], *, escapes: bool = False) -> Elements:
    """Read the elements whose names are keys; other text is dropped and reported."""
    # All tags are found first. Closing tags are queued per name, and those before the current
    # element are dropped for good (`_end`): they are not searched again for the next element.
    tags = list(_tags(text, escapes))
    opens = [tag for tag in tags if not tag["ends"] and _is_opening(tag) and is_key(tag["name"])]
    places = {tag.start() for tag in opens}
    ends: dict[str, deque[re.Match[str]]] = defaultdict(deque)
    for tag in tags:
        if tag["ends"] and not tag["whole"]:
            ends[tag["name"]].append(tag)
    found: list[tuple[str, str]] = []
    repairs: list[tuple[str, str]] = []
    at = 0
    for number, tag in enumerate(opens, 1):
        if tag.start() < at:
            continue
        name = tag["name"]
        if stray := text[at : tag.start()].strip():
            repairs.append(("stray-text", f"{stray!r:.60}"))
        if tag[0] != f"<{name}>":
            repairs.append(("misspelt-tag", f"{tag[0]!r:.80} stands for <{name}>"))
        end = tag if tag["whole"] else _end(text, tag, ends[name], places)
        if end is None:
            stop = opens[number].start() if number < len(opens) else len(text)
            repairs.append(("missing-closer", f"</{name}> is missing"))
            found.append((name, text[tag.end() : stop].rstrip("\r\n")))
            at = stop
        else:
            value = text[tag.end() : end.start()] if end is not tag else ""
            if escapes and (doubled := _doubled(value, name)):
                repairs.append(("stray-text", f"</{name}> closes nothing"))
                value = value[: doubled.start()]
            found.append((name, value))
            at = end.end()
    rest = text[at:].strip()
    if rest:
        repairs.append(("stray-text", f"{rest!r:.60}"))
    return Elements(found, repairs)


def _tags(text: str, escapes: bool) -> Iterator[re.Match[str]]:
    """Yield the tags of a text, in order."""
    hit = _TAG.search(text)
    while hit:
        if hit["name"]:
            yield hit
        hit = _TAG.search(text, hit.end() if escapes or hit["name"] else hit.start() + 1)


def _is_opening(tag: re.Match[str]) -> bool:
    """Return whether a tag may open an element: `< name/>` may, `< name>` may not."""
    return not tag["early"] or bool(tag["whole"])


def _end(
    text: str, tag: re.Match[str], ends: deque[re.Match[str]], places: set[int]
) -> re.Match[str] | None:
    """Return the closing tag that counts; tags before this element are removed for good."""
    while ends and ends[0].start() < tag.end():
        ends.popleft()
    for end in ends:
        solid = _SOLID.search(text, end.end())
        if solid is None or solid.start() in places:
            return end
    return ends[-1] if ends else None


def _doubled(value: str, name: str) -> re.Match[str] | None:
    """Return the closing tags at the end of a value that close nothing in it, or None."""
    if value.count(f"</{name}>") <= value.count(f"<{name}>"):
        return None
    return re.search(rf"(?:\s*</{re.escape(name)}>)+\s*\Z", value)
