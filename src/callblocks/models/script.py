"""One transcript that the scripted model plays: a Markdown file.

    ---
    title: A look around
    match: [list the files, /what is in .* folder/]
    prompt: List the files here
    pace: 200
    ---
    I will look.

    ```tool file_list look
    input: {path: .}
    ```

    <!-- results -->

    There is this: {{result}}

The part between the `---` lines is YAML, and may be left out: then the words of the file's name
are the phrase. `prompt` is what a page suggests to people, by default the first phrase; `pace` is
in characters a second, 0 for at once. A line `<!-- results -->` ends a reply: there the calls run,
and what follows is the reply of the next round.
"""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec
import yaml

from callblocks.core.errors import CallerError
from callblocks.core.text import brief

__all__ = (
    "BadScript",
    "Pattern",
    "Phrase",
    "Regex",
    "Script",
    "ScriptFolder",
    "best_cover",
    "read_pattern",
    "read_script",
)

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


class _File(msgspec.Struct, frozen=True):
    stamp: tuple[int, int]
    script: Script | None
    fault: str = ""


class ScriptFolder:
    """The scripts of a folder, by file name; those of `more` are among them."""

    def __init__(self, folder: Path, more: Iterable[Path] = ()) -> None:
        self.folder = folder
        self._folders = (folder, *more)
        self._files: dict[Path, _File] = {}
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

    def _file(self, path: Path) -> _File:
        try:
            found = path.stat()
            # Time and size together: an editor may save twice within the resolution of the clock.
            stamp = (found.st_mtime_ns, found.st_size)
            known = self._files.get(path)
            return known if known is not None and known.stamp == stamp else _load(path, stamp)
        except OSError as error:
            return _File((0, 0), None, error.strerror or type(error).__name__)


def _load(path: Path, stamp: tuple[int, int]) -> _File:
    if not path.is_file():
        return _File(stamp, None, "it is no file")
    if stamp[1] > _LARGEST:
        return _File(stamp, None, f"it has {stamp[1]} bytes; a script has at most {_LARGEST}")
    try:
        return _File(stamp, read_script(path.stem, path.read_text("utf-8-sig")))
    except BadScript as error:
        return _File(stamp, None, str(error))
    except UnicodeDecodeError as error:
        return _File(stamp, None, f"it is not UTF-8: byte {error.start}")
