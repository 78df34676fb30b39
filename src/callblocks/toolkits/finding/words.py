"""The words of a text, as the index keeps them and as a query means them.

    Crème BRÛLÉE, ﬁne_tuned     creme brulee fine tuned
    東京都                       東 京 都

Case, accents and forms of one letter do not count. Scripts that put no space between words give
one word for each sign: a query of several of them is a phrase, so it is found inside any text.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ("IDLE", "LONGEST", "RUN", "fold", "words_of")

# Characters of a word that count; one that is longer is found by its start.
LONGEST = 64

# Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic, and what is not seen. The
# voice marks of Japanese and the vowel signs of India are letters: they change the word.
_MARKS = re.compile(
    "[\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u2060\u20d0-\u20ff\ufe00-\ufe0f\ufeff]"
)
# Thai, Lao, Burmese, Khmer, kana, ideographs, Hangul.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]"
)
# A vowel sign of India stands inside a word; `\w` does not know that.
_SIGNS = "\u0900-\u0963\u0966-\u0dff"
_WORD = re.compile(rf"[^\W_{_SIGNS}]+(?:[{_SIGNS}]+[^\W_{_SIGNS}]*)*|[{_SIGNS}]+")
_ASCII_WORD = re.compile("[a-z0-9]+")

# Words of English that questions are made of, and that say nothing of what is asked for.
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

# A run of letters, digits and their marks in a text as it was written.
RUN = re.compile(
    rf"(?:[^\W_]|[{_SIGNS}]|[\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a"
    r"\u064b-\u065f\u0670\u200c\u200d])+"
)


def words_of(text: str) -> list[str]:
    """The words of a text in their order; none has a blank or a sign of punctuation."""
    folded = fold(text)
    if folded.isascii():
        found = _ASCII_WORD.findall(folded)
    else:
        found = _WORD.findall(_UNSPACED.sub(r" \g<0> ", folded))
    return [word[:LONGEST] for word in found]


def fold(text: str) -> str:
    """The text without case, accents and other ways to write the same letters."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text).casefold()
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", plain))
    return unicodedata.normalize("NFC", plain)
