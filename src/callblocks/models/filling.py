"""What came back, put into the text of a script.

    {{prompt}}       what the person said
    {{result}}       the last result of the round before
    {{result:ID}}    that of one call, by its id, or by its number in that round from 1 on

Any other name stays as it is, and so does one that nothing came back for.

The text of a person or of a tool must not open a call where a script repeats it. So it becomes
one line of at most 200 characters, without the signs that any dialect's marker, a quoted value or
a Markdown fence is made of, and never stands at the start of a line. In a call it belongs between
quotes: a plain value of YAML may end at other signs.
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
# Before the text there is only what opens a line's fence, or the sign that opens a tag.
_OPENING = re.compile(r"(?:^[\s`~]*|<)\Z", re.MULTILINE)
_ARROW = "→ "


def fill(reply: str, prompt: str, results: Sequence[tuple[str, str]]) -> str:
    """The reply with every place filled that something is known for."""
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
        before = reply[reply.rfind("\n", 0, place.start()) + 1 : place.start()]
        return (_ARROW if _OPENING.search(before) else "") + plain_line(text)

    return _PLACE.sub(filled, reply)


def plain_line(text: str) -> str:
    """A text as one short line that no reader takes for anything but words."""
    line = " ".join(text[: LONGEST * 20].split())
    short = len(line) <= LONGEST and len(text) <= LONGEST * 20
    shown = line if short else line[: LONGEST - 1] + "…"
    return "".join(map(_visible, shown.translate(_SIGNS))) or "(nothing)"


def _visible(char: str) -> str:
    """Control and format characters and lone surrogates are shown as lost."""
    return (
        "\ufffd" if unicodedata.category(char) in ("Cc", "Cf", "Cs") and char != _JOINER else char
    )
