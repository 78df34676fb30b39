r"""Read and write corpus files: one file a dialect, with exact texts and the events read from them.

    # hermes                                        the dialect
    tool={"name": "ping"}                           options of all cases, one a line

    ## a call in python is read                     a case: its title is its claim
    strict=true                                     its own options, over those of the file
    | Now:<U+0020>                                  its text, a line each
    | <tool_call>ping(n=1)</tool_call>
    text «Now: ⏎»                                   its events, a line each
    call-started «<tool_call>ping» name=ping
    call-input «(n=1)»
    call-ready «</tool_call>» input={"n": 1}

Characters
    Every line is made of visible characters. `<U+200B>` stands for any other one: controls, tabs,
    carriage returns, half surrogate pairs, marks that join what stands before them, the last blank
    of a line. A `<` that would begin such an escape is escaped too. `U+FE0F` makes an emoji of the
    sign before it, and is as hard to see there as to miss: it stands plain behind the signs that
    models write with it, and such a sign without it is escaped.

Texts
    A text is its lines, joined by line feeds. So a text that ends with a line feed has an empty
    last line `|`, and the empty text is that line alone. Nothing in a text can end it, for each of
    its lines has the prefix.

Options
    `name=JSON`; the tools are one line each, `tool=JSON`.

Events
    An event is its type, the text that its span covers, and its fields as `name=JSON`; a word needs
    no quotes. Spans tile the text (law 3), so the covered text is as good as numbers, and a change
    of one line changes the events of that line alone. A line feed in it is `⏎`; where it is empty,
    it is left out. So is a field with its usual value, which follows from the text and the events
    before it (`_State.usual`): the text of an event is what it covers, the call of an input is the
    open one. Nothing is lost: `events_of` gives the events back (tests/corpus/test_format.py).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ("CorpusCase", "CorpusFile", "event_lines", "events_of", "format_file", "parse_file")

EMOJI = "✂🛠"
"""Signs that stand in texts with `U+FE0F` behind them."""
SELECTOR = "\ufe0f"
_ESCAPE = re.compile(r"<U\+([0-9A-F]{4,6})>")
_SPECIAL = re.compile(rf"<U\+|[{EMOJI}]{SELECTOR}?|[^ -~\u4e00-\u9fff]")
_WORD = re.compile(r"(?!(?:true|false|null|NaN|Infinity)\b)[A-Za-z][\w.-]*", re.ASCII)
_EVENT = re.compile(r"([a-z-]+)(?: «([^»]*)»)?(?: (.*))?", re.DOTALL)
_FIELD = re.compile(r" ?([a-z_.]+)=")
_DECODER = json.JSONDecoder(strict=False)


@dataclass
class CorpusCase:
    """A text, how it is read, and the lines of its events; `line` is where it begins."""

    title: str
    text: str
    options: dict[str, Any] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    line: int = 0


@dataclass
class CorpusFile:
    """The cases of a dialect, and the options of all of them."""

    dialect: str
    options: dict[str, Any] = field(default_factory=dict)
    cases: list[CorpusCase] = field(default_factory=list)


def format_file(file: CorpusFile) -> str:
    """Return the text of a corpus file."""
    lines = [f"# {file.dialect}", *_option_lines(file.options)]
    for case in file.cases:
        lines += ["", f"## {case.title}", *_option_lines(case.options)]
        lines += [f"| {line}" if line else "|" for line in _visible_lines(case.text)]
        lines += case.events
    return "\n".join(lines) + "\n"


def parse_file(text: str) -> CorpusFile:
    """Return what a corpus file says; raise `ValueError` with the number of a line that is wrong.

    Characters that should be escaped are taken as they are: the next `--accept` escapes them.
    """
    file = CorpusFile("")
    options, case, number = file.options, None, 0
    written: list[str] = []
    try:
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
            if line.startswith("## "):
                _require(written or not case, "the case before has no text")
                case = CorpusCase(line[3:], "", line=number)
                file.cases.append(case)
                options, written = case.options, []
            elif line.startswith("# ") and number == 1:
                file.dialect = line[2:]
            elif line == "|" or line.startswith("| "):
                if case is None or case.events:
                    raise ValueError("a line of text stands outside of a text")
                written.append(_plain(line[2:]))
                case.text = "\n".join(written)
            elif line and case and written:
                case.events.append(line)
            elif line:
                _add_option(options, line)
        _require(written or not case, "the last case has no text")
        number = 1
        _require(file.dialect, "the first line is `# ` and the dialect")
        titles = [one.title for one in file.cases]
        _require(len(titles) == len(set(titles)), "two cases have one title")
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None
    return file


def _require(condition: object, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _option_lines(options: dict[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        if name == "tools" and value:
            yield from (f"tool={_value(tool)}" for tool in value)
        else:
            yield f"{name}={_value(value)}"


def _add_option(options: dict[str, Any], line: str) -> None:
    name, is_option, written = _plain(line).partition("=")
    _require(is_option and name.isidentifier(), f"no title, option or text: {line}")
    value, end = _read_value(written, 0)
    _require(end == len(written), f"more than a value: {line}")
    if name == "tool":
        options.setdefault("tools", []).append(value)
    else:
        options[name] = value


# Characters.


def _visible(text: str) -> str:
    """Escape what cannot be seen."""
    if text.isascii() and text.isprintable() and "<U+" not in text:
        return text
    return _SPECIAL.sub(_escape, text)


def _escape(hit: re.Match[str]) -> str:
    sign = hit[0]
    if sign == "<U+":
        return "<U+003C>U+"
    if len(sign) == 2:
        return sign
    is_seen = sign.isprintable() and sign not in EMOJI and unicodedata.category(sign)[0] != "M"
    return sign if is_seen else f"<U+{ord(sign):04X}>"


def _visible_lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        shown = _visible(line)
        yield f"{shown[:-1]}<U+0020>" if shown.endswith(" ") else shown


def _plain(text: str) -> str:
    """Return the text that was escaped."""
    return _ESCAPE.sub(lambda hit: chr(int(hit[1], 16)), text) if "<U+" in text else text


def _covered(text: str) -> str:
    """Return the text of a span in its quotes."""
    shown = _visible(text).replace("⏎", "<U+23CE>").replace("»", "<U+00BB>")
    return f"«{shown.replace('<U+000A>', '⏎')}»"


# Events.

_FIELDS = {
    "text": ("text",),
    "reasoning": ("text",),
    "call-started": ("index", "id", "name"),
    "call-input": ("index", "text"),
    "call-ready": ("index", "id", "name", "input", "dialect", "extra", "span", "ended"),
    "call-result": ("index", "id", "output", "error"),
    "malformed": ("code", "text", "detail", "index"),
    "problem": ("code", "detail", "place", "index"),
}
"""The fields of an event's line: its own but the span, and those of its call or result."""
_INNER = {"call-ready": "call", "call-result": "result"}
Fields = dict[str, Any]


def event_lines(dialect: str, text: str, events: Iterable[Fields]) -> list[str]:
    """Return a line for each event, which is given as an object of JSON, joined."""
    state, lines = _State(dialect, text), []
    for event in events:
        kind, (start, end) = event["type"], event["span"]
        _require(start == state.at, f"an event starts at {start}, and not at {state.at}")
        fields = {name: value for name, value in event.items() if name not in ("type", "span")}
        inner = fields.pop(_INNER.get(kind, ""), {})
        _require(fields.get("id", "") == inner.get("id", "") or kind != "call-result", "two ids")
        fields |= inner
        usual = {name: _value(value) for name, value in state.usual(kind, end).items()}
        written = {name: _value(fields[name]) for name in _FIELDS[kind]}
        told = (f"{name}={value}" for name, value in written.items() if usual.get(name) != value)
        lines.append(" ".join([kind, *([_covered(text[start:end])] if end > start else []), *told]))
        state.take(kind, fields, end)
    return lines


def events_of(dialect: str, text: str, lines: Iterable[str]) -> list[Fields]:
    """Return the events that lines tell of a text."""
    state = _State(dialect, text)
    return [_event(state, line) for line in lines]


def _event(state: _State, line: str) -> Fields:
    hit = _EVENT.fullmatch(line)
    if not hit or hit[1] not in _FIELDS:
        raise ValueError(f"no event: {line}")
    kind, covered = hit[1], _plain((hit[2] or "").replace("⏎", "\n"))
    _require(state.text.startswith(covered, state.at), f"not the text that follows: {line}")
    start, end = state.at, state.at + len(covered)
    fields = state.usual(kind, end) | _read_fields(_plain(hit[3] or ""))
    _require({*fields} == {*_FIELDS[kind]}, f"a field is missing or unknown: {line}")
    state.take(kind, fields, end)
    fields = {name: fields[name] for name in _FIELDS[kind]}
    if kind in _INNER:
        outer = {"index": fields.pop("index")} | (
            {} if kind == "call-ready" else {"id": fields["id"]}
        )
        fields = outer | {_INNER[kind]: fields}
    return {"type": kind, **fields, "span": [start, end]}


class _State:
    """What lines leave out: where the next event starts, and the call that it is about."""

    def __init__(self, dialect: str, text: str) -> None:
        self.dialect = dialect
        self.text = text
        self.at = 0
        self.count = 0
        self.call: Fields = {}
        self.is_open = False
        self.has_ended = False

    def usual(self, kind: str, end: int) -> Fields:
        """Return the values that fields of an event have unless its line says otherwise."""
        covered, opened = self.text[self.at : end], self.call if self.is_open else {}
        ended = self.call if self.has_ended else {}
        start, index = opened.get("start", self.at), opened.get("index")
        usual: dict[str, Fields] = {
            "text": {"text": covered},
            "reasoning": {"text": covered},
            "call-started": {"index": self.count, "id": _made_id(self.count)},
            "call-input": {"index": index, "text": covered},
            "call-ready": {
                "index": index,
                "id": opened.get("id") or _made_id(index or 0),
                "name": opened.get("name"),
                "dialect": self.dialect,
                "extra": {},
                "span": [start, end],
                "ended": True,
            },
            "call-result": {
                "index": self.call.get("index"),
                "id": self.call.get("id"),
                "output": None,
                "error": None,
            },
            "malformed": {"text": self.text[start:end], "detail": "", "index": index},
            "problem": {
                "detail": "",
                "place": ended.get("span", [end, end]),
                "index": ended.get("index"),
            },
        }
        return usual[kind]

    def take(self, kind: str, fields: Fields, end: int) -> None:
        """Go on behind an event."""
        match kind:
            case "call-started":
                self.call = {**fields, "start": self.at}
                self.is_open, self.count = True, self.count + 1
            case "call-ready" | "malformed" if self.is_open:
                self.call |= {"id": fields.get("id"), "span": [self.call["start"], end]}
                self.is_open = False
            case _:
                pass
        self.has_ended = kind in ("call-ready", "malformed", "problem", "call-result") and bool(
            self.call
        )
        self.at = end


def _made_id(index: int) -> str:
    return f"tool-call-{index + 1}"


def _value(value: Any) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value
    return _visible(json.dumps(value, ensure_ascii=False))


def _read_value(text: str, at: int) -> tuple[Any, int]:
    word = _WORD.match(text, at)
    return (word[0], word.end()) if word else _DECODER.raw_decode(text, at)


def _read_fields(text: str) -> Fields:
    fields: Fields = {}
    at = 0
    while at < len(text):
        name = _FIELD.match(text, at)
        if not name:
            raise ValueError(f"no field: {text[at:]}")
        fields[name[1]], at = _read_value(text, name.end())
    return fields
