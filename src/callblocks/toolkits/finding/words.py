"""Splitting and folding of text into words, for the index and for queries.

    Crème BRÛLÉE, ﬁne_tuned     creme brulee fine tuned
    東京都                       東 京 都

Case, accents and compatibility forms are ignored. Scripts without spaces give one word per
character: a query of several characters is then a phrase, and is found inside of any text.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ("IDLE", "LONGEST", "RUN", "fold", "words_of")

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
