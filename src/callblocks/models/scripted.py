"""The model that plays scripts: a folder of Markdown transcripts, matched to a person's words.

    model = ScriptedModel()                      # the scripts that come with callblocks
    model = ScriptedModel(Path("talks"), pace=0)

The form of a transcript is described below. A fence that carries its own output is
a call with its result; that is why this model, alone of all, writes results.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import re
import unicodedata
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec
import yaml

from callblocks.core.blocks import Part, TextPart, text_of
from callblocks.core.errors import CallerError
from callblocks.core.text import brief
from callblocks.models.model import Piece, Request, Scenario, Spoken, Stopped, Usage

__all__ = (
    "NATURAL",
    "BadScript",
    "Pattern",
    "Phrase",
    "Regex",
    "Script",
    "ScriptFolder",
    "ScriptedModel",
    "best_cover",
    "fill",
    "paced",
    "plain_line",
    "read_pattern",
    "read_script",
    "split_pieces",
)

# --- One transcript that the scripted model plays: a Markdown file ---
#
#     ---
#     title: A look around
#     match: [list the files, /what is in .* folder/]
#     prompt: List the files here
#     pace: 200
#     ---
#     I will look.
#
#     ```tool file_list look
#     input: {path: .}
#     ```
#
#     <!-- results -->
#
#     There is this: {{result}}
#
# The part between the `---` lines is YAML, and may be left out: then the words of the file's name
# are the phrase. `prompt` is what a page suggests to people, by default the first phrase; `pace`
# is in characters a second, 0 for at once. A line `<!-- results -->` ends a reply: there the calls
# run, and what follows is the reply of the next round.


# --- Matching of a person's words to scripts ---
#
#     match:
#       - list the files            # each of these words occurs in what the person says
#       - /\b(read|show) .*\.md\b/   # a regular expression, without regard to case
#
# The score of a match is the number of words it covers: those of the phrase, or those that the
# expression matched.

# An expression is searched in the start of a long text only, which bounds its backtracking.
_LONGEST = 10_000
_WORD = re.compile(r"\w+")


# Words in any order, because people rarely repeat a phrase word for word.
class Phrase:
    """Words that all occur, in any order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = _words(text)
        if not self._words:
            raise ValueError(f"there is no word in the phrase {text!r:.60}")

    def cover(self, said: str) -> int:
        """Return the number of words it covers; 0 where it does not match."""
        return len(self._words) if self._words <= _words(said) else 0


class Regex:
    """A regular expression between slashes."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._pattern = re.compile(text[1:-1], re.IGNORECASE)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"{text:.60} is no regular expression: {error}") from error

    def cover(self, said: str) -> int:
        """Return the number of words it covers, one at least; 0 where it does not match."""
        found = self._pattern.search(said[:_LONGEST])
        return max(1, len(_words(found[0]))) if found else 0


Pattern: TypeAlias = Phrase | Regex


def read_pattern(text: str) -> Pattern:
    """Return a phrase, or an expression between slashes; `ValueError` describes a fault."""
    is_regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
    return Regex(text) if is_regex else Phrase(text)


# The best single pattern, not the sum: a script with many synonyms must not win by their number.
def best_cover(patterns: Iterable[Pattern], said: str) -> int:
    """Return the number of words that the best of several patterns covers."""
    return max((pattern.cover(said) for pattern in patterns), default=0)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(unicodedata.normalize("NFC", text).casefold()))


# --- One transcript that the scripted model plays: a Markdown file ---

_FRONT = re.compile(r"---[ \t]*\n(?:(.*?)\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)
_RESULTS = re.compile(r"^<!-- results -->[ \t]*$", re.MULTILINE)
_KEYS = ("title", "match", "prompt", "pace")


class BadScript(ValueError):
    """A text that is no script; the message says why."""


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """The model's replies, round by round, and the patterns that select them."""

    name: str
    title: str
    prompt: str
    patterns: tuple[Pattern, ...]
    replies: tuple[str, ...]
    pace: float | None = None


def read_script(name: str, text: str) -> Script:
    """Parse the text of a file; `name` is the file's, without its ending."""
    front, body = _split(text)
    patterns = _patterns(front, name)
    title = _text(front, "title") or _spoken(name)
    return Script(
        name=name,
        title=title,
        prompt=_text(front, "prompt") or _first_phrase(patterns) or title,
        patterns=patterns,
        replies=_replies(body),
        pace=_pace(front),
    )


def _split(text: str) -> tuple[dict[str, Any], str]:
    # A file without front matter is a script too: its name is the phrase.
    if text.partition("\n")[0].rstrip() != "---":
        return {}, text
    found = _FRONT.match(text)
    if found is None:
        raise BadScript("the front matter has no closing line `---`")
    return _read_front(found[1] or ""), text[found.end() :]


def _read_front(text: str) -> dict[str, Any]:
    try:
        # `safe_load`: a script may come from anyone, and a YAML tag must not construct objects.
        front: Any = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise BadScript(f"the front matter is no YAML: {said:.200}") from error
    if front is None:
        return {}
    if not isinstance(front, dict):
        raise BadScript(f"the front matter names {', '.join(_KEYS)}; it is {front!r:.60}")
    front = cast("dict[Any, Any]", front)
    for key in front:
        if key not in _KEYS:
            raise BadScript(f"the front matter has no key {key!r:.60}: only {', '.join(_KEYS)}")
    return front


def _text(front: dict[str, Any], key: str) -> str:
    value = front.get(key, "")
    if not isinstance(value, str):
        raise BadScript(f"`{key}` is text, not {value!r:.60}; quote it")
    return " ".join(value.split())


def _patterns(front: dict[str, Any], name: str) -> tuple[Pattern, ...]:
    given: Any = front.get("match", _spoken(name))
    phrases = cast("list[Any]", given if isinstance(given, list) else [given])
    if not phrases:
        raise BadScript("`match` names no phrase")
    return tuple(map(_pattern, phrases))


def _pattern(phrase: Any) -> Pattern:
    if not isinstance(phrase, str):
        raise BadScript(f"`match` is a list of phrases, not of {phrase!r:.60}; quote it")
    try:
        return read_pattern(phrase)
    except ValueError as error:
        raise BadScript(f"`match`: {error}") from error


def _first_phrase(patterns: tuple[Pattern, ...]) -> str:
    return next((one.text for one in patterns if isinstance(one, Phrase)), "")


def _pace(front: dict[str, Any]) -> float | None:
    value: Any = front.get("pace")
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise BadScript(f"`pace` is characters a second, from 0 on, not {value!r:.60}")
    return value


def _replies(body: str) -> tuple[str, ...]:
    replies = tuple(_trim(reply) for reply in _RESULTS.split(body))
    if not any(replies):
        raise BadScript("there is nothing that the model would write")
    return replies


def _trim(reply: str) -> str:
    return reply.lstrip("\n").rstrip()


def _spoken(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name)) or name


# --- A folder of scripts in its current state: changed files are read again ---
#
# Files that end in `.md` are scripts. `default.md` answers where no other matches. A file that
# cannot be read is left out, and `broken` says why.

DEFAULT = "default"
_LARGEST = 1_000_000  # bytes


class _ScriptFile(msgspec.Struct, frozen=True):
    stamp: tuple[int, int]
    script: Script | None
    fault: str = ""


class ScriptFolder:
    """The scripts of a folder, by file name; those of `more` are among them."""

    def __init__(self, folder: Path, more: Iterable[Path] = ()) -> None:
        self.folder = folder
        self._folders = (folder, *more)
        self._files: dict[Path, _ScriptFile] = {}
        try:
            self._read()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise CallerError(
                f"{brief(str(folder))} is no folder of scripts: {why}; give one with .md files"
            ) from error

    @property
    def scripts(self) -> tuple[Script, ...]:
        """Return the playable scripts, in the order of their file names."""
        self._refresh()
        return tuple(file.script for file in self._files.values() if file.script is not None)

    @property
    def broken(self) -> dict[str, str]:
        """Return the other files, with the reason."""
        self._refresh()
        return {path.name: file.fault for path, file in self._files.items() if file.fault}

    def named(self, name: str) -> Script | None:
        """Return the script of a name."""
        return next((one for one in self.scripts if one.name == name), None) if name else None

    def find(self, said: str) -> Script | None:
        """Return the script that matches best; else the default, if there is one."""
        scripts = self.scripts
        best = max(scripts, key=lambda script: best_cover(script.patterns, said), default=None)
        if best is not None and best_cover(best.patterns, said):
            return best
        return next((script for script in scripts if script.name == DEFAULT), None)

    def _refresh(self) -> None:
        try:
            self._read()
        except OSError:
            # The folder vanished during a conversation: the scripts read before stay known.
            return

    def _read(self) -> None:
        paths: list[Path] = []
        for folder in self._folders:
            with os.scandir(folder) as entries:
                paths += [folder / entry.name for entry in entries if entry.name.endswith(".md")]
        paths.sort(key=lambda path: path.name)
        self._files = {path: self._file(path) for path in paths}

    def _file(self, path: Path) -> _ScriptFile:
        try:
            found = path.stat()
            # Time and size together: an editor may save twice within the resolution of the clock.
            stamp = (found.st_mtime_ns, found.st_size)
            known = self._files.get(path)
            return known if known is not None and known.stamp == stamp else _load(path, stamp)
        except OSError as error:
            return _ScriptFile((0, 0), None, error.strerror or type(error).__name__)


def _load(path: Path, stamp: tuple[int, int]) -> _ScriptFile:
    if not path.is_file():
        return _ScriptFile(stamp, None, "it is no file")
    if stamp[1] > _LARGEST:
        return _ScriptFile(stamp, None, f"it has {stamp[1]} bytes; a script has at most {_LARGEST}")
    try:
        return _ScriptFile(stamp, read_script(path.stem, path.read_text("utf-8-sig")))
    except BadScript as error:
        return _ScriptFile(stamp, None, str(error))
    except UnicodeDecodeError as error:
        return _ScriptFile(stamp, None, f"it is not UTF-8: byte {error.start}")


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
