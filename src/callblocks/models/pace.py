"""A text as the pieces that a model would write, at its pace.

    async for piece in paced("Well, I will look.", pace=180): ...     Well|,| I| will| look|.

Pieces are like tokens: a word with the blanks before it, some signs, a part of a long word. They
never split a grapheme cluster. The pauses are seeded by the text: the same text is always paced
alike.
"""

from __future__ import annotations

import asyncio
import random
import re
import unicodedata
from collections.abc import AsyncGenerator, Iterator

__all__ = ("NATURAL", "paced", "split_pieces")

# Characters per second: about forty tokens.
NATURAL = 180.0

_TOKEN = re.compile(r"\s{0,40}(?:\w{1,8}|[^\w\s]{1,3})|\s{1,40}")
_LATE = 0.25  # seconds; a reader that is slower than this is not caught up with
_BREATH = 32  # pieces between two looks at the loop, where there is no pause
_ALWAYS_JOINED = re.compile("[\u200c\u0e33\u0eb3\u1160-\u11ff\ud7b0-\ud7ff\U0001f3fb-\U0001f3ff]")
_HANGUL_START = re.compile("[\u1100-\u115f\ua960-\ua97f]")
_FLAG_LETTER = re.compile("[\U0001f1e6-\U0001f1ff]")


async def paced(text: str, pace: float = NATURAL) -> AsyncGenerator[str, None]:
    """Yield the pieces, with pauses that give `pace` characters per second; 0 is without pauses."""
    jitter = random.Random(text)
    clock = asyncio.get_running_loop().time
    due = clock()
    for number, piece in enumerate(split_pieces(text), 1):
        yield piece
        if pace > 0:
            # A schedule instead of a sleep per piece: small delays of the loop do not add up, and a
            # long stall is not made up by a burst.
            due = max(due, clock() - _LATE) + len(piece) / pace * jitter.uniform(0.5, 1.5)
            await asyncio.sleep(max(0.0, due - clock()))
        # Without pauses the loop must still get a turn now and then, or one reply would block all
        # others.
        elif number % _BREATH == 0:
            await asyncio.sleep(0)


def split_pieces(text: str) -> Iterator[str]:
    """Yield the pieces; joined they are the text."""
    start = 0
    for token in _TOKEN.finditer(text):
        end = token.end()
        if end == len(text) or not _joined(text[end - 1], text[end]):
            yield text[start:end]
            start = end


def _joined(before: str, after: str) -> bool:
    """Return whether two characters may form one grapheme; errs towards yes."""
    return (
        unicodedata.category(after)[0] == "M"
        or _ALWAYS_JOINED.match(after) is not None
        or unicodedata.category(before) in ("Cf", "Cs")  # joiners, and marks that stand in front
        or unicodedata.category(after) == "Cf"
        or unicodedata.combining(before) == 9  # a virama binds the next letter
        or before + after == "\r\n"
        or _HANGUL_START.match(before) is not None
        or (_FLAG_LETTER.match(before) is not None and _FLAG_LETTER.match(after) is not None)
    )
