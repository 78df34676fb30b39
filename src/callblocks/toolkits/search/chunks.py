"""Cutting of texts into passages, the units that are ranked and shown.

A passage ends at the end of a paragraph and never spans a heading or a page. A paragraph that is
too long is cut at a line, else at a sentence, else at a blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, TypeAlias, get_args

import msgspec

__all__ = (
    "APART",
    "KINDS",
    "LENGTH",
    "MOST",
    "Kind",
    "Part",
    "Passage",
    "Unreadable",
    "cut",
    "cut_all",
    "kind_of",
)

# Maximum length of a passage in characters.
LENGTH = 1_200

# Maximum number of passages of one file.
MOST = 20_000

_PARAGRAPH = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
# Preferred ends of a cut, best first.
_ENDS = ("\n", ". ", "。", "; ", " ")


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A coherent stretch of a file: a section, a page, some rows.

    `line` and `page` are where it starts, counted from 1; 0 if the format has no such thing.
    """

    text: str
    heading: str = ""
    page: int = 0
    line: int = 0


class Passage(Part, frozen=True, kw_only=True):
    """A part that is short enough to be ranked and shown as one."""


def cut_all(parts: Iterable[Part]) -> list[Passage]:
    """Return the passages of all parts of a file."""
    passages = (passage for part in parts for passage in cut(part))
    return list(islice(passages, MOST))


def cut(part: Part) -> Iterator[Passage]:
    """Yield the passages of one part; none if it is blank."""
    line, counted = part.line, 0
    for start, end in _stretches(part.text):
        text = _CONTROL.sub(" ", part.text[start:end])
        if not text.strip():
            continue
        # Count newlines only since the last passage: counting from the start each time is
        # quadratic.
        begin = start + len(text) - len(text.lstrip())
        line += part.text.count("\n", counted, begin)
        counted = begin
        where = line if part.line else 0
        yield Passage(text=text.strip(), heading=part.heading, page=part.page, line=where)


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield spans of as many consecutive pieces as fit into one passage."""
    start, end = 0, 0
    for piece_start, piece_end in _pieces(text):
        # Greedy packing. A single piece is never longer than a passage, because `_short` has cut
        # it.
        if end > start and piece_end - start > LENGTH:
            yield start, end
            start = piece_start
        end = piece_end
    if end > start:
        yield start, end


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of paragraphs, with those that are too long cut."""
    start = 0
    for gap in _PARAGRAPH.finditer(text):
        yield from _short(text, start, gap.start())
        start = gap.end()
    yield from _short(text, start, len(text))


def _short(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LENGTH:
        stop = _best_end(text, start, start + LENGTH)
        yield start, stop
        start = stop
    if end > start:
        yield start, end


def _best_end(text: str, start: int, latest: int) -> int:
    """Return the end of a line, sentence or word in the second half, else `latest`."""
    half = start + LENGTH // 2
    for sign in _ENDS:
        at = text.rfind(sign, half, latest)
        if at >= 0:
            return at + len(sign)
    return latest


# --- The kind of a file by its name, and the kinds that need a child process ---
#
#     notes.md  markdown      tides.csv  csv      page.html  html
#     a.pdf     pdf           a.docx     docx     all else   text, if it is
#
# Complex formats (HTML, PDF, DOCX) can be crafted to break a parser. They are parsed in a process
# of their own, and only when `file_ingest` requests it.

Kind: TypeAlias = Literal["text", "markdown", "csv", "html", "pdf", "docx"]

KINDS: tuple[Kind, ...] = get_args(Kind)
# The kinds that are parsed in a child process.
APART: frozenset[Kind] = frozenset(("html", "pdf", "docx"))

_BY_SUFFIX: dict[str, Kind] = {
    **dict.fromkeys(("md", "markdown", "mdown", "mkd"), "markdown"),
    **dict.fromkeys(("csv", "tsv"), "csv"),
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    "pdf": "pdf",
    "docx": "docx",
}


def kind_of(path: str) -> Kind:
    """Return the kind of a file by its suffix."""
    name = path.rpartition("/")[2]
    return _BY_SUFFIX.get(name.rpartition(".")[2].lower() if "." in name else "", "text")


# --- The exception of parsers, with a message for the model ---


class Unreadable(Exception):
    """The file is not what its name says, or passes a limit."""
