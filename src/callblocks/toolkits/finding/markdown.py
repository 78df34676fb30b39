"""Markdown: a part for each section, with the headings that lead to it.

    # Plan            Plan
    ## Tides          Plan › Tides

A `#` inside a fence of code is no heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from callblocks.toolkits.finding.chunks import MOST, Part

__all__ = ("read_markdown",)

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST = 120


def read_markdown(text: str) -> tuple[str, list[Part]]:
    """Return the first heading and the sections."""
    lines = text.split("\n")
    starts = list(islice(_headings(lines), MOST))
    title = starts[0][2] if starts else ""
    return title, list(_sections(lines, starts))


def _sections(lines: list[str], starts: list[tuple[int, int, str]]) -> Iterator[Part]:
    """Yield the text before the first heading, then each section."""
    first = starts[0][0] if starts else len(lines)
    yield Part(text="\n".join(lines[:first]), line=1)
    trail: dict[int, str] = {}
    ends = [*(start for start, _, _ in starts[1:]), len(lines)]
    for (start, level, heading), end in zip(starts, ends, strict=False):
        # A heading ends all headings of its own level and below. Skipped levels are fine: the trail
        # is a map, not a list.
        trail = {above: words for above, words in trail.items() if above < level}
        trail[level] = heading
        where = " › ".join(words for words in trail.values() if words)
        yield Part(text="\n".join(lines[start:end]), heading=where, line=start + 1)


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the line, the level and the text of each heading."""
    fence = ""
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            # A closing fence is at least as long as the opening one and has no info string
            # (CommonMark 4.5).
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif mark:
            fence = mark[1]
        elif found := _HEADING.match(line):
            yield at, len(found[1]), (found[2] or "").strip(" \t#")[:_LONGEST]
