"""The input of one call as JSON that grows, and the body of a free-text call as text that grows.

The reader is that of the call's dialect. The first character decides first: models write JSON
where tags should stand, and the parser reads both. Dialects whose raw input is no input
(scissors-cat shows its whole item, chat-blocks its line) have no reader: all comes with `finish`.

Some calls have words in their head and a body of text: `🛠️[write a.txt]` body `🛠️[/end]`. The head
is known before the body. `bind` itself is asked what the words and a body mean: it is given a body
that no text has, and the parameter that gets this body is the one that streams.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.dialects import dialects
from callblocks.gateway.arguments.json_notation import BraceReader, JsonReader, QuotedJsonReader
from callblocks.gateway.arguments.python_notation import PythonReader
from callblocks.gateway.arguments.reader import MOST, JsonOutput, PlainOutput, Reader
from callblocks.gateway.arguments.tag_notation import ElementReader, TagReader
from callblocks.gateway.arguments.yaml_notation import YamlReader
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.readers.announce import BadBody
from callblocks.parsing.shapes.brace_calls import BraceCalls
from callblocks.parsing.shapes.element_bodies import ElementBodies
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from callblocks.parsing.values.binding import bind, may_be_whole
from callblocks.parsing.values.yaml_core import load

__all__ = ("ArgumentDeltas", "TextDeltas")

# The parameter of a free-text tool (`GatewayRequest.free_text`).
FREE_TEXT = "input"


class ArgumentDeltas:
    """The input of one call as JSON that grows.

    `dialect` is that of the call (`Call.dialect`); `opening` is the text of the `CallStarted`'s
    span, which some dialects need because arguments stand in it. `restores`: the model was shown
    texts with the sign of `neutral`, which strings then lose. `agrees` is False if what was sent
    is not the input after all.
    """

    def __init__(
        self,
        dialect: str,
        spec: ToolSpec | None,
        *,
        opening: str = "",
        restores: bool = False,
        out: JsonOutput | None = None,
    ) -> None:
        self._out = JsonOutput(restores=restores) if out is None else out
        self._dialect, self._spec, self._opening = dialect, spec, opening
        self._reader: Reader | None = None
        self._stopped = False
        self._begun = ""

    @property
    def agrees(self) -> bool:
        """Return whether what was sent could be made equal to the input."""
        return self._out.agrees

    def feed(self, raw: str) -> str:
        """Take more raw input; return the JSON to append, "" while nothing is certain."""
        reader = self._reader
        if reader is None:
            if self._stopped:
                return ""
            reader, raw = self._choose(raw)
            if reader is None:
                return ""
        reader.feed(raw)
        return self._out.take()

    def finish(self, given: dict[str, Any]) -> str:
        """Take the input as the parser read it; return the rest of its JSON."""
        return self._out.finish(given)

    def _choose(self, raw: str) -> tuple[Reader | None, str]:
        """Return the reader for the input once its first character is known, and its text."""
        self._begun += raw
        if len(self._begun) > MOST and not self._begun[:MOST].strip():
            self._stopped = True
            return None, ""
        char = self._begun.lstrip(" \t\r\n")[:1]
        if not char:
            return None, ""
        text, self._begun = self._begun, ""
        self._reader = _reader_of(self._dialect, self._spec, self._out, char, self._opening)
        self._stopped = self._reader is None
        return self._reader, text


class TextDeltas:
    """The text of a free-text call as it grows: the value of its only parameter.

    It has the interface of `ArgumentDeltas`, and gives plain text in place of JSON.
    """

    def __init__(
        self,
        dialect: str,
        spec: ToolSpec | None,
        *,
        opening: str = "",
        restores: bool = False,
    ) -> None:
        names = list(spec.properties) if spec else []
        self._key = names[0] if len(names) == 1 else FREE_TEXT
        self._out = PlainOutput(self._key, restores=restores)
        self._deltas = ArgumentDeltas(dialect, spec, opening=opening, out=self._out)

    @property
    def agrees(self) -> bool:
        """Return whether what was sent could be made equal to the text."""
        return self._out.agrees

    def feed(self, raw: str) -> str:
        """Take more raw input; return the text to append."""
        return self._deltas.feed(raw)

    def finish(self, given: dict[str, Any]) -> str:
        """Take the input as the parser read it; return the rest of the text.

        An input without the parameter, or with a value that is no text, is given as JSON.
        """
        return self._deltas.finish(given)


# --- Readers by dialect ---


_UNSEEN = frozenset(("scissors-cat", "chat-blocks"))
_BODIES = frozenset(("emoji-bracket", "emoji-bracket+"))
_YAML_DEPTH = 100
_BY_CHAR: dict[str, Callable[[JsonOutput, ToolSpec | None], Reader]] = {
    "{": JsonReader,
    '"': QuotedJsonReader,
    "(": PythonReader,
}


def _reader_of(
    dialect: str, spec: ToolSpec | None, out: JsonOutput, char: str, opening: str
) -> Reader | None:
    """Return the reader for an input that begins with this character; None if there is none."""
    if dialect in _UNSEEN:
        return None
    if dialect in _BODIES:
        return _BodyReader(out, spec, opening) if opening else None
    shape = dialects.get(dialect)
    if shape is not None and (own := _own_reader(shape, spec, out, char)):
        return own
    usual = _BY_CHAR.get(char)
    return usual(out, spec) if usual else None


def _own_reader(shape: Dialect, spec: ToolSpec | None, out: JsonOutput, char: str) -> Reader | None:
    if isinstance(shape, BraceCalls):
        return BraceReader(out, shape.quote, spec)
    if shape.name == "tool-fence":
        return YamlReader(out, _read_yaml, header="input:")
    if shape.name == "yaml_xml" and isinstance(shape, ElementBodies):
        return YamlReader(out, _YamlMember(shape, spec)) if char not in "<{" else None
    if isinstance(shape, ElementBodies):
        before = "]<]minimax[>[" if shape.nests else ""
        skips = "parameters" if shape.name == "claude_legacy" else ""
        return ElementReader(out, shape, spec, before=before, skips=skips)
    if isinstance(shape, XmlParameters) and char not in '{"(':
        return TagReader(out, shape, spec)
    return None


def _read_yaml(name: str, text: str) -> Any:
    return load(text, _YAML_DEPTH)[name]


class _YamlMember:
    """Reads one member of `yaml_xml`, whose schema may want a number as it is written."""

    def __init__(self, shape: ElementBodies, spec: ToolSpec | None) -> None:
        self._shape, self._spec = shape, spec

    def __call__(self, name: str, text: str) -> Any:
        try:
            value, _ = self._shape.read_body(text, self._spec, _YAML_DEPTH)
        except BadBody as bad:
            raise ValueError(bad.detail) from bad
        return value[name]


# --- Bodies of text ---


_PROBE = "a body\nthat stands for any other"
# An escaped end marker: one backslash more than the body has.
_ESCAPED = re.compile(r"\[(?:\\(?:(\\*/end\])|\\*(?:/(?:e(?:n(?:d)?)?)?)?\Z)|\Z)")
_TOOL_SIGNS = ("\U0001f6e0", "\U0001f6e0\ufe0f")


class _BodyReader(Reader):
    """A reader of a body; `opening` is the text of the call's head."""

    def __init__(self, out: JsonOutput, spec: ToolSpec | None, opening: str) -> None:
        super().__init__(out)
        self._spec = spec
        self._head = opening
        self._before = ""

    def begin(self) -> bool:
        """Read the words of the head, and tell what they are bound to."""
        start, end = self._head.find("["), self._head.rfind("]")
        if not 0 <= start < end:
            return self.stop()
        bare = self._head[start + 1 : end].lstrip()
        name = bare.split(maxsplit=1)[0] if bare else ""
        args = bare[len(name) + 1 :]
        members = self._members(args)
        if members is None:
            return self.stop()
        # The body itself must not decide what it is bound to.
        char, _ = self.ahead(self.pos)
        if not char:
            return self.wait()
        spec = self._spec
        if spec and char == "{" and not args.strip() and may_be_whole(spec):
            return self.stop()
        target = ""
        for key, value in members.items():
            if value == _PROBE:
                target = key
            else:
                self.out.key(key)
                self.out.value(value)
        self.out.key(target)
        self.out.open()
        self.step = self._text
        return True

    def _members(self, args: str) -> dict[str, Any] | None:
        """Return the input for the probe as the body; None if that says nothing for others."""
        spec = self._spec
        if spec is None:
            return {"args": args, "body": _PROBE}
        if "[" in args or spec.body_is_json or spec.body_is_lines:
            return None
        bound = bind(args, _PROBE, spec)
        value = bound.value
        if value is None or bound.misfits or list(value.values()).count(_PROBE) != 1:
            return None
        # The body comes last: what the words say is known, it is not.
        target = next(key for key, one in value.items() if one == _PROBE)
        return {**{key: one for key, one in value.items() if key != target}, target: _PROBE}

    def _text(self) -> bool:
        found = _ESCAPED.search(self.buf, self.pos)
        end = found.start() if found else len(self.buf)
        self._tell(self.buf[self.pos : end])
        self.pos = end
        if found is None:
            return False
        if found[1] is None:
            return self.wait()
        if not self._before.endswith(_TOOL_SIGNS):
            return self.stop()
        self._tell(f"[{found[1]}")
        self.pos = found.end()
        return True

    def _tell(self, text: str) -> None:
        if text:
            self.out.text(text)
            self._before = (self._before + text)[-4:]
