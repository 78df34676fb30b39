"""The place in a passage where words were found, with each of them marked.

    … the «tide» table says that high «tide» is at …

The marks stand for found words only: where a text has such signs of its own, they are written as
‹ and ›, and a snippet is one line.
"""

from __future__ import annotations

from callblocks.toolkits.finding.query import Words
from callblocks.toolkits.finding.words import RUN, words_of

__all__ = ("snippet",)

_WIDTH = 280
_BEFORE = 60
_OWN = str.maketrans("«»", "‹›")


def snippet(text: str, words: Words, width: int = _WIDTH) -> str:
    """The best place of a text, in one line of about that width."""
    line = " ".join(text.translate(_OWN).split())
    places = _places(line, words)
    start = _best(places, width)
    start = _word_start(line, max(0, start - _BEFORE)) if start + width > _BEFORE else 0
    if len(line) - start < width:
        start = _word_start(line, max(0, len(line) - width))
    end = min(len(line), start + width)
    inside = [(left, right) for left, right in places if left >= start and right <= end]
    marked = _marked(line, start, end, inside)
    return f"{'… ' if start else ''}{marked.strip()}{' …' if end < len(line) else ''}"


def _places(line: str, words: Words) -> list[tuple[int, int]]:
    """Where found words stand; each sign of a script without spaces is one by itself."""
    found: list[tuple[int, int]] = []
    for run in RUN.finditer(line):
        start, end = run.span()
        own = words_of(run[0])
        if len(own) > 1 and not run[0].isascii():
            signs = range(start, end)
            found += [(at, at + 1) for at in signs if any(map(words.fit, words_of(line[at])))]
        elif any(map(words.fit, own)):
            found.append((start, end))
    return found


def _best(places: list[tuple[int, int]], width: int) -> int:
    """Where the most found words stand close together; the first of such places."""
    best, most, last = 0, 0, 0
    for first, (start, _) in enumerate(places):
        while last < len(places) and places[last][1] <= start + width - _BEFORE:
            last += 1
        if last - first > most:
            best, most = start, last - first
    return best


def _word_start(line: str, at: int) -> int:
    """The start of a word near a place; just the place where none is near."""
    blank = line.find(" ", at, at + _BEFORE // 2) if at else -1
    return blank + 1 if blank >= 0 else at


def _marked(line: str, start: int, end: int, places: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    for left, right in places:
        pieces += (line[start:left], "«", line[left:right], "»")
        start = right
    return "".join((*pieces, line[start:end])).replace("»«", "")
