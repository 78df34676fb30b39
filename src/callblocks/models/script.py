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
import re
from typing import Any, cast

import msgspec
import yaml

from callblocks.models.matching import Pattern, Phrase, read_pattern

__all__ = ("BadScript", "Script", "read_script")

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
