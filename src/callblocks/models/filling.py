"""Placeholders in the text of a script, filled with prompt and results.

    {{prompt}}       the person's message
    {{result}}       the last result of the previous round
    {{result:ID}}    that of one call, by its id, or by its number in that round from 1 on

Any other name stays as it is, and so does one without a value.

The text of a person or of a tool must not open a call where a script repeats it. So it becomes one
line of at most 200 characters, without the characters of any dialect's marker, a quoted value or a
Markdown fence, and never stands at the start of a line. In a call it belongs between quotes: a
plain value of YAML may end at other characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

__all__ = ("fill", "plain_line")

LONGEST = 200
_PLACE = re.compile(r"\{\{(prompt|result)(?::([^{}\s]{1,200}))?\}\}")
_SIGNS = str.maketrans("`'\"\\~<>[]{}🛠✂🔧", "‘’”⧵∼‹›()()⚒✁⚒")
_JOINER = "\u200d"
# Only a fence's start, or the opening of a tag, stands before the text in its line.
_OPENING = re.compile(r"(?:^[\s`~]*|<)\Z", re.MULTILINE)
_ARROW = "→ "


def fill(reply: str, prompt: str, results: Sequence[tuple[str, str]]) -> str:
    """Return the reply with every placeholder filled that has a value."""
    numbered = {str(number): text for number, (_, text) in enumerate(results, 1)}
    known = {**numbered, **dict(results)}

    def text_of(place: re.Match[str]) -> str | None:
        name, id_ = place.groups()
        if name == "prompt":
            return None if id_ else prompt
        if id_:
            return known.get(id_)
        return results[-1][1] if results else None

    def filled(place: re.Match[str]) -> str:
        text = text_of(place)
        if text is None:
            return place[0]
        # Judged on the script's own text: what was filled in before it is already harmless.
        before = reply[reply.rfind("\n", 0, place.start()) + 1 : place.start()]
        return (_ARROW if _OPENING.search(before) else "") + plain_line(text)

    return _PLACE.sub(filled, reply)


def plain_line(text: str) -> str:
    """Return a text as one short line that no parser takes for anything but words."""
    line = " ".join(text[: LONGEST * 20].split())
    short = len(line) <= LONGEST and len(text) <= LONGEST * 20
    shown = line if short else line[: LONGEST - 1] + "…"
    return "".join(map(_visible, shown.translate(_SIGNS))) or "(nothing)"


def _visible(char: str) -> str:
    """Return U+FFFD for control and format characters and lone surrogates."""
    return (
        "\ufffd" if unicodedata.category(char) in ("Cc", "Cf", "Cs") and char != _JOINER else char
    )
