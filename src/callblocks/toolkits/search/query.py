"""Parsing of a search query to FTS5 expressions.

    tide table          both words                 "low tide"     these words in this order
    tide OR ebb         one of them                tid*           words that start so
    tide -spring        not with this word

Every text is a valid query: meaningless syntax is read as words, and punctuation is ignored. Only
words made by `words_of` reach the index, each in quotes, so no input can inject FTS5 syntax.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.real_path import HERE
from callblocks.guard.files.root import Root
from callblocks.toolkits.search.chunks import KINDS

__all__ = (
    "DRIVE",
    "IDLE",
    "LONGEST",
    "RUN",
    "Query",
    "Scope",
    "SearchTerm",
    "Words",
    "fold",
    "path_of",
    "read_query",
    "read_scope",
    "tag_of",
    "words_of",
)

# --- Splitting and folding of text into words, for the index and for queries ---
#
#     Crème BRÛLÉE, ﬁne_tuned     creme brulee fine tuned
#     東京都                       東 京 都
#
# Case, accents and compatibility forms are ignored. Scripts without spaces give one word per
# character: a query of several characters is then a phrase, and is found inside of any text.

# Maximum length of a word; longer ones are cut, and found by their start.
LONGEST = 64

# Combining marks of Latin, Greek and Cyrillic, points of Hebrew and Arabic, and invisible
# characters are dropped. Japanese voice marks and Indic vowel signs are kept: they change the word.
_MARKS = re.compile(
    "[\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u2060\u20d0-\u20ff\ufe00-\ufe0f\ufeff]"
)
# Thai, Lao, Burmese, Khmer, kana, ideographs, Hangul.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Indic vowel signs stand inside of a word, but `\w` does not match them.
_SIGNS = "\u0900-\u0963\u0966-\u0dff"
_WORD = re.compile(rf"[^\W_{_SIGNS}]+(?:[{_SIGNS}]+[^\W_{_SIGNS}]*)*|[{_SIGNS}]+")
_ASCII_WORD = re.compile("[a-z0-9]+")

# English stop words of questions.
IDLE = frozenset(
    (
        *("a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be"),
        *("been", "but", "by", "can", "could", "did", "do", "does", "for", "from", "get", "had"),
        *("has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me", "my"),
        *("no", "not", "now", "of", "on", "or", "our", "please", "s", "should", "so", "some"),
        *("tell", "than", "that", "the", "their", "them", "then", "there", "these", "they"),
        *("this", "to", "today", "up", "us", "was", "we", "were", "what", "when", "where"),
        *("which", "who", "whom", "whose", "why", "will", "with", "would", "you", "your"),
    )
)

# A run of letters, digits and marks in the original text.
RUN = re.compile(
    rf"(?:[^\W_]|[{_SIGNS}]|[\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a"
    r"\u064b-\u065f\u0670\u200c\u200d])+"
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, without blanks and punctuation."""
    folded = fold(text)
    # ASCII text is by far the most frequent, and its pattern is several times faster.
    if folded.isascii():
        found = _ASCII_WORD.findall(folded)
    else:
        found = _WORD.findall(_UNSPACED.sub(r" \g<0> ", folded))
    return [word[:LONGEST] for word in found]


def fold(text: str) -> str:
    """Fold case, accents and compatibility forms."""
    if text.isascii():
        return text.lower()
    # NFKD twice: casefolding can produce characters that decompose again, such as İ. NFC last, so
    # that Hangul and kana with voice marks are single characters.
    plain = unicodedata.normalize("NFKD", text).casefold()
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", plain))
    return unicodedata.normalize("NFC", plain)


# --- Parsing of a search query to FTS5 expressions ---

# Bounds on terms, words of a phrase and characters: FTS5 expressions grow with them.
_TERMS = 32
_PHRASE = 32
_READ = 2_000
_QUOTES = str.maketrans("“”„«»", '"""""')
_PIECE = re.compile(r'(-?)"([^"]*)"?(\*?)|(\S+)')


class SearchTerm(msgspec.Struct, frozen=True):
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

    groups: tuple[tuple[SearchTerm, ...], ...] = ()
    without: tuple[SearchTerm, ...] = ()

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
    groups: list[tuple[SearchTerm, ...]] = []
    without: list[SearchTerm] = []
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
    return Query(tuple((SearchTerm((word,)),) for word in words))


def _term(text: str, prefix: bool) -> SearchTerm | None:
    words = tuple(words_of(text)[:_PHRASE])
    return SearchTerm(words, prefix) if words else None


def _is_idle(term: SearchTerm) -> bool:
    return len(term.words) == 1 and not term.prefix and term.words[0] in IDLE


def _open(term: SearchTerm) -> SearchTerm:
    return SearchTerm(term.words, prefix=True)


def _any(terms: Iterable[SearchTerm]) -> str:
    return f"({' OR '.join(term.expression for term in terms)})"


# --- The scope of a search: everything, a path, a kind of file, or a tag ---
#
#     all   files   documents   markdown   pdf   #harbour   notes   notes/plan.md

# The folder of the office's documents.
DRIVE = "office/drive"

_BELOW = "(files.path > ? and files.path < ?)"
_WORDS = ("all", "files", "documents", *KINDS)


class Scope(msgspec.Struct, frozen=True):
    """An SQL condition on files with its values; `tag` is the tag in it."""

    where: str = ""
    values: tuple[str, ...] = ()
    tag: str = ""


def path_of(scope: object) -> str:
    """Return the path that a policy judges: the whole workspace if the scope is no path."""
    is_path = isinstance(scope, str) and scope.strip() and not _is_word(scope.strip())
    return str(scope).strip() if is_path else HERE


def read_scope(text: str, root: Root) -> Scope:
    """Parse a scope; `invalid_input` if it means nothing."""
    word = text.strip()
    if word in ("", "all", HERE, "*"):
        return Scope()
    if word == "files":
        return Scope(f"not {_BELOW}", _range("office"))
    if word == "documents":
        return Scope(f"({_BELOW} or {_BELOW})", (*_range(DRIVE), *_range(word)))
    if word in KINDS:
        return Scope("files.kind = ?", (word,))
    if word.startswith("#"):
        return Scope("instr(files.tags, ?) > 0", (f" {tag_of(word)} ",), tag_of(word))
    return _of_path(word, root)


def tag_of(text: str) -> str:
    """Normalize a tag: casefolded, hyphens for blanks, no leading `#`."""
    return "-".join(text.casefold().lstrip("#").split())


def _is_word(scope: str) -> bool:
    return scope in _WORDS or scope.startswith("#") or scope == "*"


def _of_path(path: str, root: Root) -> Scope:
    try:
        entry = root.stat(path)
    except ToolError as error:
        if error.code != "path_not_found":
            raise
        words = f"nothing is at {brief(path)}; a scope is {', '.join(_WORDS)}, #tag or a path"
        raise ToolError("invalid_input", words, scope=words) from error
    if entry.path == HERE:
        return Scope()
    if entry.kind == "folder":
        return Scope(_BELOW, _range(entry.path))
    return Scope("files.path = ?", (entry.path,))


def _range(folder: str) -> tuple[str, str]:
    """Return the bounds of all paths below a folder: `0` is the character after `/`."""
    return f"{folder}/", f"{folder}0"
