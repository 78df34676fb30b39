r"""Text of unknown origin, made safe to show: nothing in it steers a terminal.

    ESC [ 3 1 m      ␛[31m         controls, as their pictures
    U+009B           ⟨U+009B⟩      controls beyond ASCII
    U+202E           ⟨U+202E⟩      what turns the reading direction
    U+D800           ⟨U+D800⟩      half a character, which no encoding can write
    tab              four blanks

Line feeds stay. A carriage return that ends a line with its line feed goes; alone it is shown.
"""

from __future__ import annotations

import re

__all__ = ("visible", "visible_line")

_RETURN = re.compile(r"\r(?=\n)")
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_TAB, _DELETE, _PICTURES = "\t", "\x7f", 0x2400


def visible(text: str) -> str:
    """Make text safe, keeping its lines."""
    if text.isprintable():
        return text
    return _UNSAFE.sub(_picture, _RETURN.sub("", text))


def visible_line(text: str) -> str:
    """Make text safe and put it on one line."""
    return text if text.isprintable() else visible(" ".join(text.splitlines()))


def _picture(found: re.Match[str]) -> str:
    char = found[0]
    if char == _TAB:
        return "    "
    if char == _DELETE:
        return "␡"
    return chr(_PICTURES + ord(char)) if char < " " else f"⟨U+{ord(char):04X}⟩"
