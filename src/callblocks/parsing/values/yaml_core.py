r"""YAML 1.2 with its core types, read as a JSON-like value: dict, list, str, number, bool, None.

    state: on           # "on": only true and false (and True, TRUE ...) are booleans
    when: 2024-01-02    # a string, as are 12:30:45, 1_000 and 0b1
    count: 017          # 17; 0o17 is 15, 0x1f is 31, 1e3 is 1000.0
    none:               # None, as are ~ and null
    1: one              # keys are strings, as written: "1"

One document, no anchors, no aliases, no tags, no duplicate key, no key that is a list or a mapping;
`<<` is a key like any other. libyaml produces the events; this module builds the value from them.

Why not `yaml.safe_load`: it reads YAML 1.1 (`on` is a boolean, `12:30:45` a number), accepts
duplicate keys and aliases (a short text can then stand for an exponentially large value), and
recurses per level. Changing its resolvers would change them for every user of PyYAML in the
process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

if TYPE_CHECKING:
    from yaml.events import AliasEvent, Event, MappingStartEvent, ScalarEvent, SequenceStartEvent

__all__ = (
    "Doubts",
    "YamlError",
    "dump",
    "load",
    "read_plain",
    "read_with_libyaml",
)

Doubts: TypeAlias = "list[tuple[str, str]]"
"""Codes of problems, and their details."""


class YamlError(ValueError):
    """An error in the YAML text, or a value that YAML cannot represent; dialects translate it."""

    def __init__(self, reason: str, code: Literal["yaml", "too-deep"] = "yaml") -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


def load(text: str, max_depth: int = 100, doubts: Doubts | None = None) -> Any:
    """Read one document; a text without one is None. Every fault is a `YamlError`.

    `doubts` takes what is YAML and looks like damage, by code and detail: lines that YAML joins
    because nothing says that a list or a text of several lines begins, and keys with two colons.
    """
    plain = read_plain(text, max_depth)
    return read_with_libyaml(text, max_depth, doubts) if plain is None else plain


def read_with_libyaml(text: str, max_depth: int = 100, doubts: Doubts | None = None) -> Any:
    """Read one document of any form, as `load` does."""
    hidden = _hide_breaks(text)
    shown = {code: ord(char) for char, code in hidden.items()}
    builder = _Builder(max_depth, shown, [] if doubts is None else doubts)
    for event in _events(text.translate(str.maketrans(hidden)) if hidden else text):
        builder.take(event)
    return builder.value


def _events(text: str) -> Iterator[Event]:
    from yaml import CSafeLoader, YAMLError

    try:
        loader = CSafeLoader(text)
        while (event := loader.get_event()) is not None:
            yield event
    except YAMLError as error:
        raise YamlError(_explain(error)) from error
    except UnicodeEncodeError as error:
        raise YamlError("a lone surrogate is not a character") from error


def _explain(error: Exception) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    mark = getattr(error, "problem_mark", None)
    return f"{problem}, line {mark.line + 1}" if mark else str(problem)


# NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR.
_OLD_BREAKS = "\x85\u2028\u2029"
_LONG_ESCAPE = re.compile(r"\\U([0-9a-fA-F]{8})")


def _hide_breaks(text: str) -> dict[str, int]:
    """Return placeholders for the characters that break lines in YAML 1.1, but not in 1.2.

    libyaml treats them as line ends: they would be folded away, or end a block. A placeholder is a
    private-use character that neither occurs in the text nor is escaped there.
    """
    found = [char for char in _OLD_BREAKS if char in text]
    if not found:
        return {}
    used = set(map(ord, text))
    used.update(int(code, 16) for code in _LONG_ESCAPE.findall(text))
    free = (code for code in range(0xF0000, 0xFFFFE) if code not in used)
    return dict(zip(found, free, strict=False))


# --- A mapping as most models write it ---
#
#     name: notes.txt
#     size: 3
#     place:
#       city: Oslo
#     content: |
#       a line
#
# Keys are words, values are plain scalars in one line, literal blocks, or such mappings. libyaml
# takes five times as long for it. Whatever else a line holds, and each fault, is left to libyaml:
# then the answer is None. Values have no `:`, `#` or quotes, so YAML cannot read them otherwise.

_LINE = re.compile(
    r"( {0,20})([A-Za-z_][A-Za-z0-9_]{0,60}):"
    r"(?:\n+|\Z| (?:([A-Za-z0-9_./](?:[A-Za-z0-9_./ +=(),;@%$^-]*[A-Za-z0-9_./)])?)(?:\n+|\Z)"
    r"|(\|-?)\n(?= )))"
)
_FIRST_ROW = re.compile(r" +(?=[^ \t\n])")
# A longer one may be a number that is too long.
_LONGEST_SCALAR = 1000


@lru_cache(maxsize=64)
def _rows(margin: int) -> Callable[[str, int], re.Match[str] | None]:
    """Return the pattern of the rows of a literal block with a margin."""
    return re.compile(rf"(?: {{{margin}}}[^\n]*(?:\n|\Z)|\n)+").match


def read_plain(text: str, max_depth: int = 100) -> dict[str, Any] | None:
    """Return a mapping without anything unusual; None if it has something, or is none."""
    at = len(text) - len(text.lstrip("\n"))
    if not _BLOCK.fullmatch(text) or at == len(text):
        return None
    root: dict[str, Any] = {}
    # The open mappings with their margins. `empty` is the key that has no value so far.
    margins, mappings, empty = [-1], [root], ""
    while at < len(text):
        line = _LINE.match(text, at)
        if line is None:
            return None
        margin, key, at = len(line[1]), line[2], line.end()
        if margins[-1] < 0:
            margins[-1] = margin
        elif empty and margin > margins[-1]:
            mappings[-1][empty] = inner = dict[str, Any]()
            margins.append(margin)
            mappings.append(inner)
        while margin < margins[-1] and len(margins) > 1:
            margins.pop()
            mappings.pop()
        if margin != margins[-1] or key in mappings[-1] or len(margins) > max_depth:
            return None
        value, empty = None, "" if line[3] or line[4] else key
        if line[3]:
            if len(line[3]) > _LONGEST_SCALAR:
                return None
            value = _resolve(line[3])
        elif line[4]:
            first = _FIRST_ROW.match(text, at)
            rows = first and len(first[0]) > margin and _rows(len(first[0]))(text, at)
            if not first or not rows:
                return None
            at, value = rows.end(), _block_text(rows[0], first[0], keep=line[4] == "|")
        mappings[-1][key] = value
    return root


def _block_text(rows: str, margin: str, *, keep: bool) -> str:
    """Return the text of a literal block without its margin; `keep` keeps its last newline."""
    text = rows[len(margin) :].replace(f"\n{margin}", "\n")
    body = text.rstrip("\n")
    return f"{body}\n" if keep and len(body) < len(text) else body


class _Builder:
    """A builder of the value from events. It does not recurse, so depth costs no stack."""

    def __init__(self, max_depth: int, shown: dict[int, int], doubts: Doubts) -> None:
        from yaml import events

        self.value: Any = None
        self._doubts = doubts
        self._shown = shown
        self._max_depth = max_depth
        self._documents = 0
        self._open: list[list[Any] | dict[str, Any]] = []
        # For each open container the key whose value comes next; None in a list, and in a mapping
        # where a key comes next. `_wants_key` relies on that.
        self._keys: list[str | None] = []
        self._takers: dict[type, Callable[[Any], None]] = {
            events.ScalarEvent: self._scalar,
            events.MappingStartEvent: lambda event: self._start(event, {}),
            events.SequenceStartEvent: lambda event: self._start(event, []),
            events.MappingEndEvent: self._end,
            events.SequenceEndEvent: self._end,
            events.AliasEvent: self._alias,
            events.DocumentStartEvent: self._document,
        }

    def take(self, event: Event) -> None:
        taker = self._takers.get(type(event))
        if taker is not None:
            taker(event)

    def _document(self, _event: Event) -> None:
        self._documents += 1
        if self._documents > 1:
            raise YamlError("more than one document")

    def _alias(self, event: AliasEvent) -> None:
        raise YamlError(f"aliases are not taken: *{event.anchor}")

    def _scalar(self, event: ScalarEvent) -> None:
        _refuse_properties(event)
        text = event.value.translate(self._shown) if self._shown else event.value
        if self._wants_key():
            self._key(text)
            if text.endswith(":") and not event.style:
                self._doubts.append(("unlikely-key", f"{text!r:.60} ends with a colon"))
        elif event.style:
            self._put(text)
        else:
            self._put(_resolve(text))
            if event.start_mark.line != event.end_mark.line:
                self._doubts.append(("joined-lines", f"{text!r:.60} stands on several lines"))

    def _start(
        self, event: MappingStartEvent | SequenceStartEvent, value: list[Any] | dict[str, Any]
    ) -> None:
        _refuse_properties(event)
        if self._wants_key():
            raise YamlError("a key is one string, not a list or a mapping")
        self._put(value)
        self._open.append(value)
        self._keys.append(None)
        if len(self._open) > self._max_depth:
            raise YamlError(f"nested deeper than {self._max_depth}", "too-deep")

    def _end(self, _event: Event) -> None:
        self._open.pop()
        self._keys.pop()

    def _wants_key(self) -> bool:
        return bool(self._open) and self._keys[-1] is None and isinstance(self._open[-1], dict)

    def _key(self, key: str) -> None:
        if key in self._open[-1]:
            raise YamlError(f"the key {key!r:.80} stands twice")
        self._keys[-1] = key

    def _put(self, value: Any) -> None:
        if not self._open:
            self.value = value
            return
        parent, key = self._open[-1], self._keys[-1]
        if isinstance(parent, list):
            parent.append(value)
        else:
            parent[str(key)] = value
            self._keys[-1] = None


def _refuse_properties(event: ScalarEvent | MappingStartEvent | SequenceStartEvent) -> None:
    if event.anchor is not None:
        raise YamlError(f"anchors are not taken: &{event.anchor}")
    if event.tag is not None:
        raise YamlError(f"tags are not taken: {event.tag}")


def _resolve(text: str) -> Any:
    """Return a plain scalar with the type that the core schema gives it."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "+-.0123456789":
        for pattern, read in _NUMBERS:
            if pattern.fullmatch(text):
                return _read_number(text, read)
    return text


def _read_number(text: str, read: Callable[[str], float]) -> float:
    try:
        return read(text)
    except ValueError as error:
        raise YamlError(f"a number of {len(text)} characters is too long") from error


def _based(text: str) -> int:
    value = int(text, 0)
    # A hexadecimal number may have more decimal digits than Python converts (4300). Raise here, in
    # the reader, and not later where the value is shown.
    str(value)
    return value


def _endless(text: str) -> float:
    return float(text.replace(".", ""))


_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# Numbers of the core schema, in the order in which they are tried. `017` is decimal, unlike in
# YAML 1.1, and `1_000` and `0b1` are strings.
_NUMBERS: tuple[tuple[re.Pattern[str], Callable[[str], float]], ...] = (
    (re.compile(r"[-+]?[0-9]+"), int),
    (re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+"), _based),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), float),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"), _endless),
)


# --- A writer of JSON-like values as readable YAML that reads back as the same value ---
#
#     query: cats
#     exact: "yes"            # quoted: a YAML 1.1 reader would see a boolean
#     results:
#       - title: All About Cats
#         tags: []
#     script: |
#       print("one")
#       print("two")
#
# A string is written plain only if it begins like a word and no reader of YAML 1.1 or 1.2 could
# read anything else. A string of several lines is written as a literal block. Any other is in
# double quotes, with escapes for control characters and for all else that a reader could change.

# Words that are booleans or null to YAML 1.1 or 1.2 do not stand plain. What begins with
# a letter, `_` or `/` is no number, date or indicator to either; `: ` and ` #` end it.
_PLAIN = re.compile(
    r"""(?!(?:y|n|yes|no|on|off|true|false|null)\Z)
        (?:[^\W\d]|/)
        (?:[\w./\\()\[\]{}<>"'`,;+*=&%$@!?|~^\#-]++ | :(?=[^ ]) | [ ](?=[^ \#:]))*""",
    re.IGNORECASE | re.VERBOSE,
)
# Characters that a reader keeps as they are: printable ones, without U+FEFF, which is a byte order
# mark, and without the line breaks of YAML 1.1.
_VISIBLE = " -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_BLOCK = re.compile(rf"[\t\n{_VISIBLE}]*")
_ESCAPED = re.compile(rf'["\\]|[^{_VISIBLE}]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}

# A reader looks for the `:` of a key within 1,024 characters; a longer key follows a `?`.
_LONGEST_KEY = 1000


class _Entry(NamedTuple):
    """An item or a member: its head is `-`, `key:`, or `:` behind a line with a long key."""

    head: str
    value: Any
    before: str = ""


def dump(value: Any, max_depth: int = 100) -> str:
    """Write a JSON-like value so that `load` gives it back, with the same types and key order.

    Raise `YamlError` for a lone surrogate, a number that is too long for Python to convert, a value
    that is not JSON-like, and more nesting than `max_depth`.
    """
    # Depth-first with a stack of iterators (`open_`) and not by recursion: the depth of the stack
    # is the indentation, and a deep value cannot exhaust Python's stack.
    entries = _entries(value)
    if not entries:
        return _scalar(value) + "\n"
    lines: list[str] = []
    lead = ""  # the `- ` of open lists, written on the line of the first entry inside of them
    open_ = [iter(entries)]
    while open_:
        if len(open_) > max_depth:
            raise YamlError(f"nested deeper than {max_depth}", "too-deep")
        entry = next(open_[-1], None)
        if entry is None:
            open_.pop()
            continue
        margin = "  " * (len(open_) - 1)
        if entry.before:
            lines.append((lead or margin) + entry.before)
            lead = ""
        line, lead = (lead or margin) + entry.head, ""
        entries = _entries(entry.value)
        if not entries:
            lines += _scalar_lines(line, entry.value, margin + "  ")
            continue
        open_.append(iter(entries))
        if entry.head == "-":
            lead = line + " "
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _entries(value: Any) -> list[_Entry]:
    """Return the entries of a list or a mapping; none for anything else."""
    if isinstance(value, list):
        return [_Entry("-", item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return [_member(key, item) for key, item in cast("dict[object, Any]", value).items()]
    return []


def _member(key: object, item: Any) -> _Entry:
    if not isinstance(key, str):
        raise YamlError(f"a key is a string, not {type(key).__name__}")
    written = _quote(key)
    if len(written) > _LONGEST_KEY:
        return _Entry(":", item, before=f"? {written}")
    return _Entry(f"{written}:", item)


def _scalar_lines(line: str, value: Any, margin: str) -> list[str]:
    if isinstance(value, str) and "\n" in value and value.strip() and _BLOCK.fullmatch(value):
        head, *rows = _block(value)
        return [f"{line} {head}", *(row and margin + row for row in rows)]
    return [f"{line} {_scalar(value)}"]


def _block(text: str) -> list[str]:
    """Write a literal block: its head, and its rows without their margin."""
    body = text.rstrip("\n")
    newlines = len(text) - len(body)
    # A reader detects the margin by the first row; if that is blank or indented, state it.
    margin = "2" if text[0] in " \t\n" else ""
    keep = "-" if not newlines else "+" if newlines > 1 else ""
    return [f"|{margin}{keep}", *body.split("\n"), *[""] * (newlines - 1)]


def _scalar(value: Any) -> str:
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise YamlError(f"not a JSON-like value: {type(value).__name__}")


def _integer(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError as error:
        raise YamlError("the number is too long") from error


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    digits, e, exponent = float.__repr__(value).partition("e")
    # YAML 1.1 reads `1e5` without a point as a string.
    return digits + (".0" if "." not in digits else "") + e + exponent


def _quote(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if "\ud800" <= char <= "\udfff":
        raise YamlError("a lone surrogate is not a character")
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"


_WRITERS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (str, _quote),
    (bool, lambda value: "true" if value else "false"),
    (int, _integer),
    (float, _float),
    (type(None), lambda _none: "null"),
    (list, lambda _empty: "[]"),
    (dict, lambda _empty: "{}"),
)
