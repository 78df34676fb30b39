"""The model that plays scripts: a folder of Markdown transcripts, matched to a person's words.

    model = ScriptedModel()                      # the scripts that come with callblocks
    model = ScriptedModel(Path("talks"), pace=0)

See `callblocks.models.script` for the form of a transcript. A fence that carries its own output is
a call with its result; that is why this model, alone of all, writes results.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
import unicodedata
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from pathlib import Path

from callblocks.core.blocks import Part, TextPart, text_of
from callblocks.core.errors import CallerError
from callblocks.models.model import Piece, Request, Scenario, Spoken, Stopped, Usage
from callblocks.models.script import DEFAULT, Script, ScriptFolder

__all__ = (
    "NATURAL",
    "ScriptedModel",
    "fill",
    "paced",
    "plain_line",
    "split_pieces",
)

# --- A text as the pieces that a model would write, at its pace ---
#
#     async for piece in paced("Well, I will look.", pace=180): ...     Well|,| I| will| look|.
#
# Pieces are like tokens: a word with the blanks before it, some signs, a part of a long word. They
# never split a grapheme cluster. The pauses are seeded by the text: the same text is always paced
# alike.

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


# --- Placeholders in the text of a script, filled with prompt and results ---
#
#     {{prompt}}       the person's message
#     {{result}}       the last result of the previous round
#     {{result:ID}}    that of one call, by its id, or by its number in that round from 1 on
#
# Any other name stays as it is, and so does one without a value.
#
# The text of a person or of a tool must not open a call where a script repeats it. So it becomes
# one line of at most 200 characters, without the characters of any dialect's marker, a quoted value
# or a Markdown fence, and never stands at the start of a line. In a call it belongs between quotes:
# a plain value of YAML may end at other characters.

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


# --- The model that plays scripts: Markdown transcripts, matched to a person's words ---

EMBEDDED = Path(__file__).with_name("scripts")
_CLOSING = "That is all that my script says."
_LOST = "I play scripts, and none of mine fits what you said."
_A_TOKEN = 4  # characters, as a rule of thumb


class ScriptedModel:
    """A model that replies from a folder of scripts; `None` is the built-in one.

    `more` are further folders, whose scripts are among them by their names. `context` is the number
    of tokens that it pretends to accept. `pace` is in characters per second and overrides the
    script's: 0 is at once, `None` the script's own pace, or a natural one.
    """

    writes_results = True

    def __init__(
        self,
        folder: Path | None = None,
        *,
        pace: float | None = None,
        more: Iterable[Path] = (),
        context: int | None = None,
    ) -> None:
        if pace is not None and not (math.isfinite(pace) and pace >= 0):
            raise CallerError(f"the pace is in characters a second, from 0 on, not {pace}")
        self._scripts = ScriptFolder(EMBEDDED if folder is None else folder, more)
        self._pace = pace
        self.context = context
        self.name = "scripted" if folder is None else f"scripted:{folder.absolute().name}"

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Return prompts that a person may try, one for each script."""
        scripts = self._scripts.scripts
        return tuple(dict.fromkeys(one.prompt for one in scripts if one.name != DEFAULT))

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Return the scenarios, one for each script."""
        return tuple(
            Scenario(one.name, one.title, one.prompt)
            for one in self._scripts.scripts
            if one.name != DEFAULT
        )

    @property
    def broken(self) -> dict[str, str]:
        """Return the files of the folder that are no scripts, with the reason."""
        return self._scripts.broken

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply of the script that matches the person's message, for this round."""
        said = request.prompt or _last_said(request)
        # A named scenario is played whatever the person says; a page can thus offer it as a button.
        script = self._scripts.named(request.scenario) or self._scripts.find(said)
        whole = self._text(script, said, request)
        text, reason = _cut(whole, request)
        written = 0
        async for piece in paced(text, self._pace_of(script)):
            written += len(piece)
            yield Spoken(piece)
        asked = sum(_length(part) for message in request.messages for part in message.parts)
        yield Usage(tokens_in=_tokens(asked), tokens_out=_tokens(written))
        yield Stopped(reason)

    async def close(self) -> None:
        """Do nothing: there are no resources."""

    def _text(self, script: Script | None, said: str, request: Request) -> str:
        if script is None:
            return self._lost()
        if request.round > len(script.replies):
            return _CLOSING
        reply = script.replies[max(0, request.round - 1)]
        translated = reply if request.translate is None else request.translate(reply)
        return fill(translated, said, request.results)

    def _lost(self) -> str:
        known = self.suggestions
        lines = "".join(f"- {plain_line(prompt)}\n" for prompt in known)
        tried = f"Try one of these:\n\n{lines}" if known else "There are none in my folder yet."
        broken = [f"- {plain_line(f'{name}: {why}')}\n" for name, why in self.broken.items()]
        about = f"\n\nThese files are no scripts:\n\n{''.join(broken)}" if broken else ""
        return f"{_LOST} {tried.rstrip() if about else tried}{about}"

    def _pace_of(self, script: Script | None) -> float:
        if self._pace is not None:
            return self._pace
        return NATURAL if script is None or script.pace is None else script.pace


def _last_said(request: Request) -> str:
    said = [text_of(list(one.parts)) for one in request.messages if one.role == "user"]
    return said[-1] if said else ""


def _cut(text: str, request: Request) -> tuple[str, str]:
    """Return the text up to a stop word or the most tokens, and the reason of its end."""
    for word in request.stop:
        text = text.partition(word)[0] if word else text
    most = len(text) if request.max_tokens is None else request.max_tokens * _A_TOKEN
    return text[:most], "length" if most < len(text) else "stop"


def _length(part: Part) -> int:
    return len(part.text) if isinstance(part, TextPart) else len(text_of([part]))


def _tokens(characters: int) -> int:
    return math.ceil(characters / _A_TOKEN)
