"""Parsing of a search query to FTS5 expressions.

    tide table          both words                 "low tide"     these words in this order
    tide OR ebb         one of them                tid*           words that start so
    tide -spring        not with this word

Every text is a valid query: meaningless syntax is read as words, and punctuation is ignored. Only
words made by `words_of` reach the index, each in quotes, so no input can inject FTS5 syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from callblocks.toolkits.finding.words import IDLE, words_of

__all__ = ("Query", "Term", "Words", "read_query")

# Bounds on terms, words of a phrase and characters: FTS5 expressions grow with them.
_TERMS = 32
_PHRASE = 32
_READ = 2_000
_QUOTES = str.maketrans("“”„«»", '"""""')
_PIECE = re.compile(r'(-?)"([^"]*)"?(\*?)|(\S+)')


class Term(msgspec.Struct, frozen=True):
    """A phrase; with `prefix` its last word may continue."""

    words: tuple[str, ...]
    prefix: bool = False

    @property
    def expression(self) -> str:
        """The term in FTS5 syntax."""
        return f'"{" ".join(self.words)}"{" *" if self.prefix else ""}'


class Words(msgspec.Struct, frozen=True):
    """The words to mark in snippets: whole words, and prefixes."""

    whole: frozenset[str] = frozenset()
    starts: frozenset[str] = frozenset()

    @property
    def opened(self) -> Words:
        """The same words, each also as a prefix."""
        return Words(self.whole, self.whole)

    def fit(self, word: str) -> bool:
        """Tell if a word is one of them."""
        return word in self.whole or any(word.startswith(start) for start in self.starts)


class Query(msgspec.Struct, frozen=True):
    """All of `groups` must match, each by one of its terms, and none of `without`."""

    groups: tuple[tuple[Term, ...], ...] = ()
    without: tuple[Term, ...] = ()

    @property
    def exact(self) -> str:
        """The expression for every group as written."""
        return self._excluding(" AND ".join(_any(group) for group in self.groups))

    @property
    def started(self) -> str:
        """The expression for every group, each word also as a prefix."""
        groups = [[_open(term) for term in group] for group in self.groups]
        return self._excluding(" AND ".join(_any(group) for group in groups))

    @property
    def loose(self) -> str:
        """The expression for any of the words, also as prefixes."""
        terms = [_open(term) for group in self.groups for term in group]
        return self._excluding(_any(terms))

    @property
    def words(self) -> Words:
        """The words to mark."""
        terms = [term for group in self.groups for term in group]
        starts = frozenset(term.words[-1] for term in terms if term.prefix)
        return Words(frozenset(word for term in terms for word in term.words), starts)

    @property
    def telling(self) -> Query:
        """The query without stop words such as `the`; unchanged if nothing else is left.

        Questions are often whole sentences, and a passage need not contain their stop words.
        """
        groups = tuple(group for group in self.groups if not all(map(_is_idle, group)))
        return Query(groups or self.groups, self.without)

    def _excluding(self, wanted: str) -> str:
        return f"({wanted}) NOT {_any(self.without)}" if self.without else wanted


def read_query(text: str) -> Query:
    """Parse a query; it has no groups if there is no word to look for."""
    groups: list[tuple[Term, ...]] = []
    without: list[Term] = []
    # The state between two terms: `joins` after OR, `excludes` after NOT. Each term resets both, so
    # a trailing operator has no effect.
    joins = excludes = False
    for minus, quoted, star, bare in _PIECE.findall(text[:_READ].translate(_QUOTES))[:_TERMS]:
        if bare in ("OR", "|", "AND", "&", "NOT"):
            joins, excludes = joins or bare in ("OR", "|"), bare == "NOT"
            continue
        term = _term(quoted or bare.lstrip("-"), bool(star) or bare.endswith("*"))
        if term is None:
            continue
        if minus or excludes or bare.startswith("-"):
            without.append(term)
        elif joins and groups:
            groups[-1] = (*groups[-1], term)
        else:
            groups.append((term,))
        joins = excludes = False
    return Query(tuple(groups), tuple(without)) if groups or without else _only_words(text)


def _only_words(text: str) -> Query:
    """Read a query that consists only of operators as plain words."""
    words = words_of(text[:_READ])[:_TERMS]
    return Query(tuple((Term((word,)),) for word in words))


def _term(text: str, prefix: bool) -> Term | None:
    words = tuple(words_of(text)[:_PHRASE])
    return Term(words, prefix) if words else None


def _is_idle(term: Term) -> bool:
    return len(term.words) == 1 and not term.prefix and term.words[0] in IDLE


def _open(term: Term) -> Term:
    return Term(term.words, prefix=True)


def _any(terms: Iterable[Term]) -> str:
    return f"({' OR '.join(term.expression for term in terms)})"
