r"""Text that somebody decides by, shown so that nothing in it is out of sight.

    U+200B          ⟨U+200B⟩            what takes no room, or covers its neighbours
    60 blanks       ⟨60 blanks⟩         what pushes the rest aside
    9 empty lines   ⟨9 empty lines⟩     what pushes the rest away
    CR LF           ␍ and a line end    a carriage return belongs to the word before it

Beside that it is as safe as all text that is shown.
"""

from __future__ import annotations

import re
import unicodedata

from callblocks.views.safe import visible

__all__ = ("exact", "exact_line")

_BLANKS = re.compile(r" {20,}")
_EMPTY = re.compile(r"\n(?:[ ␍]*\n){4,}")
# Letters and signs of no width or without ink that Unicode does not call formatting.
_INKLESS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_EMOJI_STYLE, _KEYCAP = "\ufe0f", "\u20e3"
_MARKS = 3
"""How many marks may stand on a letter; a higher stack covers the lines around it."""


def exact(text: str) -> str:
    """The text with all that cannot be seen named."""
    plain = text.replace("\r", "␍").replace("\t", " " * 4)
    folded = _EMPTY.sub(lambda run: f"\n⟨{run[0].count(chr(10)) - 1} empty lines⟩\n", plain)
    folded = _BLANKS.sub(lambda run: f"⟨{len(run[0])} blanks⟩", folded)
    if folded.isascii():
        return visible(folded)
    marks = 0
    seen: list[str] = []
    for char in folded:
        marks = marks + 1 if unicodedata.category(char) == "Mn" else 0
        seen.append(char if _is_seen(char) and marks <= _MARKS else _named(char))
    return visible("".join(seen))


def exact_line(text: str) -> str:
    """The same on one line."""
    return exact(text).replace("\n", "␊")


def _is_seen(char: str) -> bool:
    if char.isascii() or char in (_EMOJI_STYLE, _KEYCAP):
        return True
    if char in _INKLESS or "\ufe00" <= char <= "\ufe0e" or "\U000e0000" <= char <= "\U000e0fff":
        return False
    return unicodedata.category(char) not in ("Cf", "Zs", "Cn", "Co", "Me")


def _named(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"
