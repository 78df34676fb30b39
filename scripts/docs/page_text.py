"""Markdown from values: tables, fences, and what docstrings say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from inspect import getdoc
from textwrap import dedent

__all__ = (
    "about",
    "amount",
    "code",
    "drawing",
    "fence",
    "first",
    "mark",
    "sentence",
    "spaced",
    "table",
)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a line of heads."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def code(text: str) -> str:
    """Text as code within a line."""
    return f"`{text}`"


def mark(yes: bool) -> str:
    """A yes, or a dash."""
    return "yes" if yes else "–"


def amount(number: float) -> str:
    """A number as people write it; whole KiB and MiB as such."""
    for size, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= size and number % size == 0:
            return f"{number // size} {unit}"
    return f"{number:,g}" if number < 1e6 else f"{number:,}"


def fence(text: str) -> str:
    """A text block whose fence is longer than any inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    run = "`" * max(3, longest + 1)
    return f"{run}text\n{text.strip(chr(10))}\n{run}"


def sentence(text: str) -> str:
    """Words as a sentence."""
    return _without_tags(f"{text[:1].upper()}{text[1:]}.")


def spaced(text: str) -> str:
    """Text on one line."""
    return re.sub(r"\s+", " ", text)


def about(thing: object) -> str:
    """The whole docstring, on one line."""
    return spaced(getdoc(thing) or "")


def first(thing: object) -> str:
    """The first sentence of a docstring."""
    return spaced((getdoc(thing) or "").partition("\n\n")[0]).rstrip(":")


def drawing(doc: str) -> str:
    """The part of a docstring that is set in from the left."""
    return dedent("\n".join(line for line in doc.splitlines() if line.startswith("    ")))


def _cell(text: str) -> str:
    return _without_tags(text.replace("|", "\\|").replace("\n", " "))


def _without_tags(text: str) -> str:
    """Text between backticks stands as it is; outside of them `<` would open a tag."""
    parts = text.split("`")
    return "`".join(part if at % 2 else part.replace("<", "&lt;") for at, part in enumerate(parts))
