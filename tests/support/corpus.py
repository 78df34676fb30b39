"""The texts of the corpus, for laws that need something to begin with."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ("CORPUS", "fragments", "texts_of")

CORPUS = Path(__file__).parent.parent / "corpus"


@cache
def texts_of(dialect: str) -> tuple[str, ...]:
    """The texts of a dialect's cases."""
    cases = sorted((CORPUS / dialect).glob("*.txt"))
    return tuple(case.read_bytes().decode("utf-8", "surrogatepass") for case in cases)


@cache
def fragments(dialect: str) -> tuple[str, ...]:
    """Tags, words, blanks and marks of a dialect's cases: what a random text of it is made of."""
    found = (
        part
        for text in texts_of(dialect)
        for part in re.findall(r"<[^<>\n]*>|\w+|\s+|[^\w\s]+", text)
    )
    return tuple(dict.fromkeys(found))[:200]
