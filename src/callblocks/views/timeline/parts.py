"""What a model gets of a timeline, for a person: the text as it is, and where a cache may end.

    [TOOL CALL abc].call react.write
    …
    ── cache point ──

An image or a document stands as one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from callblocks.model.parts import Part, TextPart, binary_line
from callblocks.views.rows import Row, wrap
from callblocks.views.safe import visible, visible_line

__all__ = ("part_rows",)

_HEADER = re.compile(r"\[(?:TOOL (?:CALL|RESULT) |AI Agent |User )[^\]]*\]\S*")
_POINT: Row = (("mark", "── cache point ──"),)


def part_rows(parts: Iterable[Part], width: int | None) -> Iterator[Row]:
    """The rows of all parts; without a width, lines are as long as they are."""
    for part in parts:
        if isinstance(part, TextPart):
            for line in visible(part.text).removesuffix("\n").split("\n"):
                yield from _wrapped(_styled(line), width)
        else:
            yield from _wrapped((("key", visible_line(binary_line(part))),), width)
        if part.cache:
            yield _POINT


def _wrapped(row: Row, width: int | None) -> Iterable[Row]:
    return wrap(row, width) if width else (row,)


def _styled(line: str) -> Row:
    found = _HEADER.match(line)
    if found is None:
        return (("plain", line),)
    return (("name", found[0]), ("plain", line[found.end() :]))
