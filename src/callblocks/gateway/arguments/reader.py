"""The base of readers of a notation: a buffer of text that is not read yet, and a loop of steps.

A reader is a state machine. Its `step` reads one part at `pos` and returns True, or returns False
where it needs more text. What a step decides does not depend on how the text was cut. A step that
meets what the notation does not have stops the reader for good (`stop`).

Linear: a step that waits keeps a bounded stretch of text in the buffer (`MOST`), or remembers how
far it has looked (`seen`), or keeps parts in a list.

A reader tells what it read to a `JsonOutput`, which writes JSON that grows: nothing is taken back.

    - The output is written exactly as `json.dumps` writes the input, so that `finish` only has to
      append what follows the sent text in the JSON of the whole input.
    - The brace that ends the input is not sent before `finish`.
    - If the input turned out different (a key that was written twice, a repair of the parser), the
      open strings and brackets are closed and the changed keys are written again: of equal keys
      in a JSON object the last one counts, in every client. Only a key that the input does not have
      at all cannot be mended; `agrees` is then False.
    - Lone surrogates become U+FFFD, since clients refuse them.

A text that was written for a parameter is certain to stay a string (`certainty`) once its first
characters are none that another type can have: `typed` converts text by the schema, a number where
an integer is wanted, JSON where a list is.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from json.encoder import encode_basestring
from typing import Any, TypeAlias, cast

from callblocks.core.json_values import plain, same, whole
from callblocks.core.specs import ToolSpec
from callblocks.parsing.values.schema_shape import Schemas
from callblocks.parsing.values.typed import schema_of, types_of
from callblocks.views.model_view.neutral import ESCAPE, restore, restore_input

__all__ = (
    "MOST",
    "Certainty",
    "JsonOutput",
    "PlainOutput",
    "Reader",
    "Step",
    "TextOutput",
    "certainty",
    "dumps",
    "types_for",
)

Step: TypeAlias = Callable[[], bool]

# The most characters of a key, a tag, a number, or blanks.
MOST = 1000


class Reader(ABC):
    """A reader of one call's raw input."""

    def __init__(self, out: JsonOutput) -> None:
        self.out = out
        self.buf: str = ""
        self.pos: int = 0
        self.stopped = False
        self.step: Step = self.begin

    @abstractmethod
    def begin(self) -> bool:
        """Read the beginning of the input: the first step."""

    def feed(self, text: str) -> None:
        """Read more text."""
        if self.stopped:
            return
        self.buf = self.buf[self.pos :] + text
        self.pos = 0
        while not self.stopped and self.step():
            pass

    def stop(self) -> bool:
        """Read nothing more."""
        self.stopped = True
        self.buf, self.pos, self.step = "", 0, self._stopped
        return False

    def _stopped(self) -> bool:
        return False

    def wait(self) -> bool:
        """Wait for more text, unless too much waits already."""
        return self.stop() if len(self.buf) - self.pos > MOST else False

    def skip_blanks(self) -> str:
        """Skip blanks; return the character behind them, or "" where more text is needed."""
        buf, pos = self.buf, self.pos
        while pos < len(buf) and buf[pos] in " \t\r\n":
            pos += 1
        self.pos = pos
        return buf[pos : pos + 1]

    def ahead(self, pos: int) -> tuple[str, int]:
        """Return the character behind blanks at a position, and where it is."""
        buf = self.buf
        while pos < len(buf) and buf[pos] in " \t\r\n":
            pos += 1
        return buf[pos : pos + 1], pos


# --- Output ---


_encode = json.JSONEncoder(ensure_ascii=False).encode


def dumps(value: Any) -> str:
    """Return a value as JSON in the form of the output."""
    return _encode(value)


class TextOutput:
    """A text that grows; `restores` takes the signs of `neutral` out of it.

    A run of signs at the end waits: what they mean depends on the text behind them.
    """

    def __init__(self, *, restores: bool = False) -> None:
        self._restores = restores
        self._last = ""
        self._run: list[str] = []

    def certain(self, text: str) -> str:
        """Return the text that is certain now."""
        if self._restores:
            text = self._restored(text)
        return whole(text)

    def end(self) -> str:
        """Return the text that waited, and begin another text."""
        run = restore(self._last + "".join(self._run))[len(self._last) :]
        self._last = ""
        self._run.clear()
        return run

    def _restored(self, text: str) -> str:
        if not text or (not self._run and ESCAPE not in text):
            self._last = text[-1:] or self._last
            return text
        solid = text.rstrip(ESCAPE)
        if not solid:
            self._run.append(text)
            return ""
        # The character before decides what a run at the start means; it is no sign itself.
        before, self._last = self._last, solid[-1]
        certain = "".join((before, *self._run, solid))
        self._run = [text[len(solid) :]] if len(solid) < len(text) else []
        return restore(certain)[len(before) :]


class JsonOutput:
    """The JSON of one input, an object. Its members are told in order by a reader.

    `keys` are the keys that were sent, as written.
    """

    def __init__(self, *, restores: bool = False) -> None:
        self.keys: dict[str, None] = {}
        self.agrees = True
        self._restores = restores
        self._text = TextOutput(restores=restores)
        self._sent: list[str] = []
        self._new: list[str] = []

    def key(self, name: str) -> None:
        """Begin a member of the input; its value must follow."""
        before = ", " if self.keys else "{"
        self.keys[name] = None
        self._new.append(f"{before}{self.name(name)}: ")

    def name(self, name: str) -> str:
        """Return a key as JSON."""
        return _encode(whole(restore(name) if self._restores else name))

    def raw(self, text: str) -> None:
        """Append JSON."""
        self._new.append(text)

    def value(self, value: Any) -> None:
        """Append a complete value."""
        self._new.append(_encode(plain(restore_input(value) if self._restores else value)))

    def open(self) -> None:
        """Begin a string."""
        self._new.append('"')

    def text(self, text: str) -> None:
        """Append text to the open string."""
        if self._restores or not text.isascii():
            text = self._text.certain(text)
        self._new.append(encode_basestring(text)[1:-1])

    def close(self) -> None:
        """End the open string."""
        rest = self._text.end() if self._restores else ""
        self._new.append(f'{encode_basestring(rest)[1:-1]}"')

    def take(self) -> str:
        """Return what is new."""
        if not self._new:
            return ""
        new = "".join(self._new)
        self._new.clear()
        if new:
            self._sent.append(new)
        return new

    def finish(self, given: dict[str, Any]) -> str:
        """Return the rest of the input."""
        value = cast("dict[str, Any]", plain(restore_input(given) if self._restores else given))
        self.take()
        sent = "".join(self._sent)
        first = [whole(restore(key) if self._restores else key) for key in self.keys]
        wanted = _encode({**{key: value[key] for key in first if key in value}, **value})
        return wanted[len(sent) :] if wanted.startswith(sent) else self._mended(sent, value)

    def _mended(self, sent: str, value: dict[str, Any]) -> str:
        """Return the end of a text that is not the beginning of the input's JSON."""
        closing = _closing(sent)
        current = cast("dict[str, Any]", json.loads(f"{sent}{closing}}}"))
        self.agrees = current.keys() <= value.keys()
        rest = {
            key: one
            for key, one in value.items()
            if key not in current or not same(current[key], one)
        }
        members = _encode(rest)[1:-1]
        between = ", " if members and current else ""
        return f"{closing}{between}{members}}}"


class PlainOutput(JsonOutput):
    """The text of one member of an input; nothing else is told."""

    def __init__(self, member: str, *, restores: bool = False) -> None:
        super().__init__(restores=restores)
        self._member = member
        self._depth = 0

    def key(self, name: str) -> None:
        self.keys[name] = None

    def raw(self, text: str) -> None:
        """Count brackets: only a string that is the member itself is told."""
        for char in text if len(text) == 1 else "":
            self._depth += (char in "{[") - (char in "}]")

    def value(self, value: Any) -> None:
        pass

    def open(self) -> None:
        pass

    def text(self, text: str) -> None:
        if self._is_told:
            self._new.append(self._text.certain(text))

    def close(self) -> None:
        if self._is_told:
            self._new.append(self._text.end())

    @property
    def _is_told(self) -> bool:
        return not self._depth and next(reversed(self.keys), None) == self._member

    def finish(self, given: dict[str, Any]) -> str:
        """Return the rest of the text."""
        value = plain(restore_input(given) if self._restores else given)
        self.take()
        sent = "".join(self._sent)
        wanted = value.get(self._member, value or "")
        if not isinstance(wanted, str):
            wanted = dumps(wanted)
        self.agrees = wanted.startswith(sent)
        return wanted[len(sent) :] if self.agrees else ""


def _closing(sent: str) -> str:
    """Return what ends the open strings and brackets in JSON, but the first brace."""
    brackets: list[str] = []
    at, inside = 0, False
    while at < len(sent):
        char = sent[at]
        if inside:
            at += char == "\\"
            inside = char != '"'
        elif char == '"':
            inside = True
        elif char in "{[":
            brackets.append("}" if char == "{" else "]")
        elif char in "}]":
            brackets.pop()
        at += 1
    quote = '"' if inside else "null" if sent.endswith(": ") else ""
    return quote + "".join(reversed(brackets[1:]))


# --- Certainty of a text ---


_STRING_SCHEMA = {"type": "string"}
_WORDS = ("true", "false", "null", "none")


class Certainty(Enum):
    """The certainty that a value is a string: it is, it may be, or only its end will tell."""

    TEXT = "text"
    OPEN = "open"
    HELD = "held"


def types_for(spec: ToolSpec | None, key: str) -> set[str]:
    """Return the types that a parameter may have; none if nothing restricts them."""
    if spec is None:
        return set()
    schema = schema_of(spec, key)
    if schema == _STRING_SCHEMA:
        return {"string"}
    try:
        plain = Schemas(spec.parameters).plain(schema)
    except (RecursionError, ValueError):
        return {"unknown"}
    return {name for one in plain for name in types_of(one)}


def certainty(types: set[str], begun: str, *, untyped_is_json: bool) -> Certainty:
    """Return what is certain of a value that begins like this; `types` is what may be read.

    `untyped_is_json`: without a type in the schema, text that is JSON is read as JSON.
    """
    if types <= {"string"} and (types or not untyped_is_json):
        return Certainty.TEXT
    if types and "string" not in types:
        return Certainty.HELD
    bare = begun.strip().lower()
    if not bare:
        return Certainty.OPEN
    if bare[0] in '[{"-0123456789':
        return Certainty.HELD
    return Certainty.OPEN if any(word.startswith(bare) for word in _WORDS) else Certainty.TEXT
