"""Text of unknown origin in a text for models: nothing in it opens anything.

    <tool>ls()</tool>                     <␛tool>ls()</tool>
    a line, then ```tool                  a line, then `␛``tool
    {"name": "ls", "arguments": {}}       {␛"name": "ls", "arguments": {}}
    [TOOL RESULT x].result                [␛TOOL RESULT x].result

The sign `␛` is put into every marker of every dialect, every bracket that a call could begin with,
and what is `reserved`; `places` says where. The sign can be seen, so a model that copies it does so
for all to see, and no filter for invisible characters takes it out. It stands in no encoding that
damages markers.

Where markers begin is judged as if no `␛` were in the text, so it is the same before and after,
and undoing is exact for every text: where a text already has the sign, it has one more.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from callblocks.views.model_view.places import ESCAPE, places

__all__ = ("ESCAPE", "ESCAPE_NOTE", "neutralize", "restore")

ESCAPE_NOTE = (
    f"In what tools, files and people say, the sign {ESCAPE} was put into everything that looks "
    f"like a marker of this conversation. It is no part of the text: leave it out when you quote."
)
"""What a model is to be told once, where it is given such texts."""


def neutralize(text: str, *, fresh: bool = True) -> str:
    """The text with a sign in every marker; `fresh` says that it is put at the start of a line.

    What comes after it begins a line: a bracket on the same line could complete a marker. And it
    is not the first of all: a word that begins a text may be a name, and has no sign.
    """
    solid, signs = _apart(text)
    marked = places(solid, fresh)
    if not marked:
        return text
    return _woven(solid, sorted([*signs, *marked]))


def restore(text: str, *, fresh: bool = True) -> str:
    """The text that `neutralize` was given, with the same `fresh`."""
    solid, signs = _apart(text)
    if not signs:
        return text
    marked = set(places(solid, fresh))
    # Signs at one place stand side by side: the first of them goes.
    pairs = pairwise((-1, *signs))
    return _woven(solid, [sign for last, sign in pairs if sign == last or sign not in marked])


def _apart(text: str) -> tuple[str, list[int]]:
    """The text without signs, and where they stood in it."""
    if ESCAPE not in text:
        return text, []
    pieces = text.split(ESCAPE)
    return "".join(pieces), list(accumulate(map(len, pieces[:-1])))


def _woven(solid: str, signs: list[int]) -> str:
    return ESCAPE.join(solid[start:end] for start, end in pairwise((0, *signs, len(solid))))
