"""Snippets: the best place of a passage, with the found words marked.

    … the «tide» table says that high «tide» is at …

The marks stand for found words only: marks in the text itself are written as ‹ and ›. A snippet is
one line.
"""

from __future__ import annotations

from callblocks.toolkits.finding.query import Words
from callblocks.toolkits.finding.words import RUN, words_of

__all__ = ("snippet",)

_WIDTH = 280
_BEFORE = 60
_OWN = str.maketrans("«»", "‹›")


def snippet(text: str, words: Words, width: int = _WIDTH) -> str:
    """Return the best place of a text as one line of about that width."""
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
    """Return the spans of found words; in unspaced scripts each character is a word."""
    found: list[tuple[int, int]] = []
    for run in RUN.finditer(line):
        start, end = run.span()
        # A run of an unspaced script has several words, and each of them is one character.
        own = words_of(run[0])
        if len(own) > 1 and not run[0].isascii():
            signs = range(start, end)
            found += [(at, at + 1) for at in signs if any(map(words.fit, words_of(line[at])))]
        elif any(map(words.fit, own)):
            found.append((start, end))
    return found


def _best(places: list[tuple[int, int]], width: int) -> int:
    """Return the start of the window with the most found words; the first of equals."""
    # Two pointers: both only move forward, so the search is linear in the number of places.
    best, most, last = 0, 0, 0
    for first, (start, _) in enumerate(places):
        while last < len(places) and places[last][1] <= start + width - _BEFORE:
            last += 1
        if last - first > most:
            best, most = start, last - first
    return best


def _word_start(line: str, at: int) -> int:
    """Return the start of a word near a position, or the position."""
    blank = line.find(" ", at, at + _BEFORE // 2) if at else -1
    return blank + 1 if blank >= 0 else at


def _marked(line: str, start: int, end: int, places: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    for left, right in places:
        pieces += (line[start:left], "«", line[left:right], "»")
        start = right
    # Neighbouring marked characters of an unspaced script become one marked run.
    return "".join((*pieces, line[start:end])).replace("»«", "")
