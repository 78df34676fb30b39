"""Matching of a person's words to scripts.

    match:
      - list the files            # each of these words occurs in what the person says
      - /\\b(read|show) .*\\.md\\b/   # a regular expression, without regard to case

The score of a match is the number of words it covers: those of the phrase, or those that the
expression matched.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TypeAlias

__all__ = ("Pattern", "Phrase", "Regex", "best_cover", "read_pattern")

# An expression is searched in the start of a long text only, which bounds its backtracking.
_LONGEST = 10_000
_WORD = re.compile(r"\w+")


# Words in any order, because people rarely repeat a phrase word for word.
class Phrase:
    """Words that all occur, in any order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = _words(text)
        if not self._words:
            raise ValueError(f"there is no word in the phrase {text!r:.60}")

    def cover(self, said: str) -> int:
        """Return the number of words it covers; 0 where it does not match."""
        return len(self._words) if self._words <= _words(said) else 0


class Regex:
    """A regular expression between slashes."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._pattern = re.compile(text[1:-1], re.IGNORECASE)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"{text:.60} is no regular expression: {error}") from error

    def cover(self, said: str) -> int:
        """Return the number of words it covers, one at least; 0 where it does not match."""
        found = self._pattern.search(said[:_LONGEST])
        return max(1, len(_words(found[0]))) if found else 0


Pattern: TypeAlias = Phrase | Regex


def read_pattern(text: str) -> Pattern:
    """Return a phrase, or an expression between slashes; `ValueError` describes a fault."""
    is_regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
    return Regex(text) if is_regex else Phrase(text)


# The best single pattern, not the sum: a script with many synonyms must not win by their number.
def best_cover(patterns: Iterable[Pattern], said: str) -> int:
    """Return the number of words that the best of several patterns covers."""
    return max((pattern.cover(said) for pattern in patterns), default=0)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(unicodedata.normalize("NFC", text).casefold()))
