r"""Reports of unread calls: names of declared tools that stand in prose in the form of a call.

Text that opens like a call and is none becomes prose. If the name of a declared tool stands in it,
the model probably meant to call that tool: an opener was misspelt, a tag was damaged, or the form
belongs to another family of models. Such a place is reported, so that no call is lost silently.

Strategy: log, find, weigh
    log     While the text arrives, `ProseLog` keeps the emitted prose and reasoning, and the
            openers that all readers refused. Nothing is examined yet: prose must not wait, and
            the text behind a name counts as much as the text before it.
    find    When the text is over, `_Names` finds the names of tools, also with one wrong character.
    weigh   A call has several witnesses: an opener, a key or a tag before the name, a bracket
            behind it, a key for the arguments, a closer. A fault damages one of them, so the
            others remain. Each witness is an exact pattern with a weight, and a name is reported if
            its weights reach `_ENOUGH`. A word in a sentence has no witness; a name in data, or in
            code that is no call, has one or two.

Why weights and not a list of damaged forms: the faults combine, and such a list never ends.
tests/laws/test_silence.py holds the weights: it damages the calls of the corpus, one character at a
time, and each must still be read or reported.

A quoted name is no call
    code spans     quote where dialects are guessed, as they do for whole calls
    code fences    quote, except a fence whose body begins as calls do (it would be read if it were
                   whole), and a fence that is never closed
    reasoning      A closed thought before a call is a plan. It is examined only in a text without
                   calls, and only for dialects that read calls in thoughts. A thought that is never
                   closed, or that has calls, is examined like prose. A name in any thought needs
                   `_ENOUGH_IN_THOUGHT`.

Patterns look at a bounded window around a name, and markup is found by bisection, so the work is
linear in the prose.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect, insort
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias

from callblocks.core.calls import Span
from callblocks.core.events import CallInput, Event, Problem, Reasoning, Text
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.markers import is_within_quotation, with_lf

__all__ = ("UNREAD", "ProseLog", "Unread", "find_unread", "is_common", "tool_meant")

UNREAD = "unread-call"
# The weight that a name needs to be reported. One strong witness suffices (`<name/>` weighs 4), as
# do two weak ones and a token nearby; a quoted name with a colon behind it weighs 2.
_ENOUGH = 4
_ENOUGH_IN_THOUGHT = 5
# The window around a name, in characters: for witnesses right beside it, and for other keys.
_NEAR, _FAR = 80, 240
# The largest distance between a name and a code fence that belongs to it.
_GAP = 8
# Shorter names are looked for as whole words only.
_SHORT = 3
# Shorter names are not looked for with a misspelling.
_LEAST_MISSPELT = 4

_WIDE_BRACKETS = str.maketrans("\uff1c\uff1e", "<>")
# Markup that hardly anything but a call has: `<|call|>`, `</tool_call>`, `[TOOL_CALLS]`, `🛠️[`.
_TOKEN = re.compile(
    r"""<\|[^\s<>|]{1,60}\|?>?|<\|[ ]{1,2}[^\s<>|]{1,60}[ ]{0,2}\|>
    |[^\s<>|]{1,60}\|>|</?｜[^<>\n]{1,60}>|[^\s<>｜]{1,60}｜>
    |</?(?=[\w:.-]{0,60}(?i:tool|func|invoke|param|call|arg_))[\w:.-]{1,60}[^<>\n]{0,200}>?
    |(?<![\w<])\|?\w{0,30}(?:tool|func|invoke|call)\w{0,30}>|\]<\]\w{1,20}\[>\[
    |[A-Z]{3,20}_[A-Z]{2,20}\]|[A-Z]{4,20}\](?=[{\[])|\[/?[A-Z]{2,20}\]
    |\[/?(?=\w{0,40}[A-Z]{3})(?:\w{3,40}\]|\w{1,20}_\w{1,20})
    |✂|🐱|🛠\ufe0f?|ğŸ›[^\n]{0,2}ï¸|\ufe0f\[|\[/end\]
    |🔧|\*\*Tool[ ]Call:\*\*|(?<![>\w])>>>?(?=\w)""",
    re.VERBOSE,
)
# Openers that text without calls has, too: fences, tags, entities, brackets.
_COMMON = re.compile(
    r"\s*(?:[`~]{3,}.*|</?(?!code)[\w.:-]*[ ]?/?>?|&[#\w]*;|[\[{(@<]*|\[\s*[\w.-]+\()\s*", re.DOTALL
)
# The label of arguments behind a code span: `Action: `name`` and then `Action Input:`.
_INPUT_LABEL = re.compile(r"\s{0,3}\*{0,2}Action Input:")
# A line that may open a tool fence, also with one backtick missing or wrong. The word is compared
# with `tool` afterwards (`is_near`): a regex cannot express one wrong character.
_TOOL_FENCE = re.compile(
    r"(?:^|\n) {0,3}(?:\S?[`~]{2,6}\S??|[`~]{1,5}\S[`~]{1,5})[ \t]{0,9}(tool|\w{3,5}\b)",
    re.IGNORECASE,
)
_CODE_TAG = re.compile(r"</?[ ]?code[ ]?>", re.IGNORECASE)
# Quoted code inside of one line: one or two backticks, or an HTML tag for code.
_CODE_SPAN = re.compile(
    r"(?<!`)(`{1,2})(?!`)[^\n]{1,400}?(?<!`)\1(?!`)"
    r"|<(code|kbd|samp)\b[^<>\n]{0,80}>[^\n]{1,400}?</\2>"
)
# A code span that is all of its line may be a call that a small model wrapped.
_WHOLE_LINE = re.compile(r"(?:^|\n)[ \t]{0,9}\Z")
# Code in reasoning: a fence up to its end or the end of the text, or a span inside of a paragraph.
_THOUGHT_CODE = re.compile(
    r"(?:^|(?<=\n)) {0,3}```.*?(?:\n {0,3}```|\Z)"
    r"|(?<!`)(`{1,2})(?!`)(?:(?!\n[ \t]*\n).){1,400}?(?<!`)\1(?!`)",
    re.DOTALL,
)
# Labels behind which a code span is the name of a tool, and no quotation.
_LABEL = re.compile(
    r"(?:🔧|Tool Call:|Action:?\*|Action: |^ {0,3}\S?(?:``|~~|\S~|\S`))[^\n]{0,80}$", re.MULTILINE
)

_NAME_KEYS = "name|tool|tool_name|toolName|function|function_name|func|action|type|recipient_name"
_NAME_KEY = rf"[\"']?\b(?:{_NAME_KEYS})[\"']{{0,2}}\s{{0,9}}:\s{{0,9}}[\"'\[]?"
_INPUT_KEYS = (
    "arguments|parameters|args|input|params|kwargs|inputs|tool_input|action_input|operation"
    "|tool_parameters|toolInput"
)
_INPUT_KEY = re.compile(
    rf"[\"'](?:{_INPUT_KEYS})[\"']|(?<![\w-])(?:{_INPUT_KEYS})[\"']?\s{{0,9}}[:=]"
)
# {"name": "NAME"}: an object of nothing else, whose key may be misspelt.
_SOLE_KEY = re.compile(r"\{[\s\"']{0,9}(\w{1,20})\W{1,6}\w?\W{0,3}\Z")
_SOLE_KEYS = ("name", "tool", "tool_name", "toolName", "function", "function_name")
_SOLE_VALUE = re.compile(r"\w?[\"']{0,2}\s{0,9}\}")
# The name is the last value of its object: the arguments stood before it.
_LAST_VALUE = re.compile(r"[\"']\s{0,9}\}")
# The name is followed by a description or a JSON Schema: a definition of the tool, and no call.
_DEFINITION = re.compile(
    r"[\"']?\s{0,9},\s{0,9}(?:[\"']?description[\"']?\s{0,9}:"
    r"|[\"']?\w{1,20}[\"']?\s{0,9}:\s{0,9}\{\s{0,9}[\"']?(?:type|properties)[\"']?\s{0,9}:)"
)
# Text that may stand between a token and its name: brackets, quotes, up to two keys, a namespace.
_WRAPPER = re.compile(
    r"\w?[\s\[\]({<\"'*`]{0,12}(?:\w{1,20}[ ])?"
    r"(?:[\"']?\w{1,20}(?:[\"']{0,2}\s{0,3}[:=>]{1,2}|[\"'])[\s\"'*`]{0,6}){0,2}"
    r"(?:[\w-]{1,30}[.:/][ ]{0,3}){0,2}\w?"
)
# The beginning of a code fence whose body may be calls: a tool fence, a body that begins with a
# bracket, a tag or a marker, or a body of nothing but lines `name(…)`.
_FENCE_OF_CALLS = re.compile(
    r"\s{0,9}(?:`{3,}|~{3,})(?i:[^\n]{0,9}tool|\w{0,20}[\[({]"
    r"|[^\n]{0,200}(?:\n\s{0,9}(?:[\w.=-]{1,60}(?:>|\r?\n\{)|(?:\w\s{0,40})?[\[{<🛠✂\ufe0f\"])|\{\"))"
    r"|\s{0,9}(?:`{3,}|~{3,})[^\n]{0,200}\n(?:[\w.]{1,100}\([^\n]*(?:\n+|\Z))+(?:\S?``|\S?~~|`\S`|~\S~|\Z)"
    r"|\s{0,9}(?:`{3,}|~{3,})[^\n]{0,200}\n[\w.]{1,100}\([^\n]*(?:```|~~~)"
    r"|\s{0,9}(`{3,}|~{3,})[^\n`~]{0,200}\n {0,3}\1[^\n]{0,9}(?i:tool)"
)
_NEXT_FENCE = re.compile(r"^ {0,3}(?:```|~~~)\w", re.MULTILINE)
_LINE = r"(?:^|\n)[ ]{0,3}"

# Each witness: its weight, the pattern right before the name, the pattern right behind it. The line
# above a group shows the form of call that its witnesses are taken from. A negative weight cancels
# a form of Markdown: `[name(x)](url)` is a link.
_WITNESSES = tuple(
    (weight, re.compile(rf"(?:{before})\Z"), re.compile(behind))
    for weight, before, behind in (
        # {"name": "NAME", "arguments": {
        (2, _NAME_KEY, ""),
        (1, r"[\"'“”]", ""),
        (
            1,
            "",
            r"[\"']?\s{0,9},\s{0,9}(?://[^\n]{0,90}\n\s{0,9})?"
            r"[\"']?\w{0,30}[\"']?\s{0,9}(?::\s{0,9}[{\[\"]|\"?\{)",
        ),
        # {"name": "NAME", "argum, where the text is over
        (
            1,
            rf"\{{\s{{0,9}}{_NAME_KEY}",
            r"[\"']?\s{0,9}(?:,\s{0,9}[\"']?\w{0,30}[\"':\s]{0,4})?\Z",
        ),
        (1, rf"\}}\s{{0,9}},\s{{0,9}}{_NAME_KEY}", ""),
        (1, r"\w[\[{]{1,2}[\"'][^{}\[\]]{0,40}", ""),
        # {"NAME": {, NAME{"
        (1, "", r"[\"']?\s{0,9}:\s{0,9}\{"),
        (2, "", r"\{"),
        (2, "", r"\{\s{0,9}[\"'}]"),
        (4, "", r"[ \t]{0,9}\r?\n\s{0,9}\{\s{0,9}[\"'{}]"),
        (3, r"(?:^|\n|>|<)[ \t]{0,9}", r"[ \t]{1,3}\{\s{0,9}[\"']\w"),
        # call:NAME{
        (1, r"\bcall:[ ]{0,3}", r"[ ]{0,3}\{"),
        # {"name": "NAME" and then no JSON
        (1, _NAME_KEY, r"[\"']\s{0,9}\n(?!\s{0,9}[,}\]])"),
        # <function=NAME>, <invoke name="NAME">, <name>NAME</name>
        (1, r"=[\"'“”]?", ""),
        (1, r"[>.:]", ""),
        (1, r"<[^<>\n]{0,60}", ""),
        (1, "", r"\s{0,9}/?>|<|[”“]"),
        (3, r"=\s{0,3}", r"\s{0,3}>"),
        (3, r"<\w{0,9}name>\s{0,9}", r"\s{0,9}</"),
        # <NAME>…</NAME>, <NAME/>
        (4, "</{1,2}", r"\s{0,9}>"),
        (4, "</", r"(?![\w-])"),
        (4, "<", r"\s{0,9}>\s{0,9}(?:.?/|\{)"),
        (4, "<", r"(?:\s{1,9}\S)?\s{0,9}/|\s{1,9}\S?>"),
        (4, r"[>\s]\w?/", r"\s{0,9}>"),
        (4, "", r"(?:\s\S{1,3})?\s{0,9}/>"),
        # [NAME(…)], [NAME /]
        (2, r"(?:^|[\s>|])\[{1,2}\s{0,9}", ""),
        (1, r"[^\s>|\[]\[", ""),
        (2, "", r"\("),
        (2, "", r"[^\n\[]{0,90}\)\s{0,9}\](?!\()"),
        (-2, "", r"\([^\n()]{0,90}\)\]\("),
        (3, "", r"[^\n\[]{0,90}/\]"),
        # @NAME(…): {
        (2, rf"{_LINE}@[ ]{{0,3}}", ""),
        (2, "", r"[^\n]{0,80}:\s{0,9}\{"),
        # Action: NAME
        (3, rf"{_LINE}[> ]{{0,9}}\*{{0,2}}Action:\*{{0,2}}[ \t]{{0,9}}`?", ""),
        (3, "", r"`?[\s>]{0,9}\*{0,2}Action Input:"),
        # to=functions.NAME
        (2, r"functions\.(?:\w{1,30}[.:/])?", ""),
        (3, r"\bto=\S{0,12}", ""),
        # ```tool NAME, ``NAME, NAME alone on its line
        (4, r"(?i:(?:```|~~~)[^\n]{0,9}\btool[ \t]{1,9})", ""),
        (4, rf"{_LINE}`tool[ \t]{{1,9}}", r"[^`\n]{0,80}\n"),
        (4, rf"{_LINE}(?!```|~~~)(?:\S?(?:``|~~)|`\S`|~\S~)\w?", r"[^`~\n]{0,80}\n"),
        (4, rf"{_LINE}(?:```|~~~)", r"\w?[ \t]{0,9}(?:```|~~~)[ \t]{0,9}(?:\r?\n|\Z)"),
        # 🔧 **Tool Call:** `NAME`
        (4, r"🔧[^\n`]{0,30}`", ""),
        (1, r"(?:``|~~|`.`|~.~)\w{0,12}\n", ""),
        (1, r"(?:^|\n)[ \t]{0,9}", ""),
        (1, "", r"[ \t]{0,9}`?(?:\r?\n|\Z)"),
    )
)
# Characters that separate a reported call from the next one.
_SEPARATOR = re.compile(r"[)}\]>\n]")
_NAMED_NEXT = re.compile(rf"{_NAME_KEY}\Z")
# The end of a Python call before the name: `f(…), name(`.
_AFTER_CALL = re.compile(r"\)\s{0,9}(?:,\s{0,9}|\n|\S)\Z")
_ENDS_TAG = re.compile(r"\s{0,9}/>")
# The first tag or key behind a tag with the name: `<name><path>`.
_INNER = re.compile(r"\s{0,9}>{0,2}\s{0,9}<?([\w.-]{1,100})\s{0,9}[:>]")
# A fence's run right before the name, perhaps behind a stray character, and an info string with a
# line end behind it.
_RUN = re.compile(r"([^\n`~]?)(?:```|~~~)\Z")
_INFO_NAME = re.compile(r"\s{0,9}(?:`{3,}|~{3,})[ \t]{0,9}(\w{1,60}_\w{1,60})(?=\s)")
_INFO = re.compile(r"((?:[\w-][^\n`]{1,200})?)[^\n`]{0,200}\n")
# Characters beside a misspelt name; without any of them a text has no misspelt call.
_MARK = re.compile(r"[<=\[\"'>\]@(:]|\n\s{0,9}\{")
# Words in places where a call has its name, which may be misspelt there.
_FENCE_RUN = re.compile(r"``|~~|`.`|~.~|\A {0,3}`tool\s")
_PLACE = re.compile(r"[<=\[\"'>\]@\n:/.][ \"'*`]{0,4}+([\w-]{3,100})")
_FIRST_WORD = re.compile(r"([\w-]{3,100})")
# A word among words, and one that more of a sentence follows, which a label may stand before.
_AMONG_WORDS = re.compile(r"[\w,;.)] \0[^\0]*\0[ .,;!?)]")
_IN_SENTENCE = re.compile(r"(?:^|\n|[\w:]\s)\0[A-Za-z]+\0 [a-z]")
# A changed line of a diff with a hunk.
_CHANGED = re.compile(r"^[+-](?![ ]\S)[^\n]*\Z", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\d", re.MULTILINE)

# The offset of some prose, True if it is in a code fence, and its parts.
Piece: TypeAlias = tuple[int, bool, list[str]]


class Unread(NamedTuple):
    """The name of a tool in the form of a call, and its span."""

    name: str
    place: Span


class Stretch(NamedTuple):
    """Prose between two blocks, and its offset in the whole text."""

    start: int
    fenced: bool
    text: str


class ProseLog:
    """The emitted prose and reasoning of a text, and the openers that were refused."""

    def __init__(self) -> None:
        self._prose: list[Piece] = []
        self._thoughts: list[Piece] = []
        self._refused: list[Span] = []
        self._tags: set[int] = set()
        self._open_thoughts: list[Span] = []
        self._reported: list[Span] = []

    def refuse(self, opener: str, start: int) -> None:
        """Record an opener that all its readers refused."""
        if not is_common(opener):
            self._refused.append((start, start + len(opener)))
        elif opener.startswith("<"):
            self._tags.add(start)

    def is_refused_tag(self, start: int) -> bool:
        """Return whether a common tag (`<name>`) that may open a call was refused here."""
        return start in self._tags

    def is_reported(self, start: int) -> bool:
        """Return whether the reader of reasoning already reported a call here."""
        return _covers(self._reported, start)

    def open_thought(self, start: int, end: int) -> None:
        """Record a thought that was never closed, or that has calls: names in it are examined."""
        self._open_thoughts.append((start, end))

    def refused(self, stretch: Stretch) -> list[Span]:
        """Return the spans of refused openers in a stretch, relative to its start."""
        first = bisect(self._refused, (stretch.start, 0))
        last = bisect(self._refused, (stretch.start + len(stretch.text), 0))
        return [
            (start - stretch.start, end - stretch.start) for start, end in self._refused[first:last]
        ]

    def begin(self, kind: object, start: int, *, fenced: bool) -> list[str]:
        """Return a list to which the parts of prose, or of reasoning, are appended from here on."""
        parts: list[str] = []
        (self._prose if kind is Text else self._thoughts).append((start, fenced, parts))
        return parts

    def add(self, event: Event, *, fenced: bool) -> None:
        """Record an emitted event."""
        kind = type(event)
        if kind is CallInput:
            return
        if isinstance(event, Text | Reasoning):
            text, (start, end) = event.text, event.span
            # Invariant: a logged text is as long as its span, so that positions in it are offsets.
            # Markup has no text and is not logged. Prose that displays as another text (an escaped
            # call) is a quotation, and is logged as blanks.
            if text:
                as_written = text if len(text) == end - start else " " * (end - start)
                self.begin(kind, start, fenced=fenced).append(as_written)
        elif isinstance(event, Problem) and event.code == UNREAD:
            insort(self._reported, event.place)

    def is_plain(self, names: tuple[str, ...]) -> bool:
        """Return whether the log has neither a name nor a sign of one, as most texts have not."""
        parts = (part for _, _, parts in (*self._prose, *self._thoughts) for part in parts)
        text = "".join(parts)
        if any(name in text for name in names):
            return False
        return not _MARK.search(text) or not any(half in text for half in _halves_of(names))

    def stretches(self, *, closed_thoughts: bool) -> Iterator[tuple[Stretch, int]]:
        """Yield the stretches to examine, each with the weight that a name needs there."""
        for stretch in _joined(self._prose):
            yield stretch, _ENOUGH
        for stretch in _joined(self._thoughts):
            if not (closed_thoughts or _covers(self._open_thoughts, stretch.start)):
                continue
            # Code fences are not tracked inside of reasoning, so all code in it is blanked here.
            bare = _THOUGHT_CODE.sub(lambda code: " " * len(code[0]), stretch.text)
            yield stretch._replace(text=bare), _ENOUGH_IN_THOUGHT


def _covers(spans: list[Span], at: int) -> bool:
    """Return whether a position lies in one of the spans, which are sorted."""
    found = bisect(spans, (at, sys.maxsize))
    return found > 0 and at < spans[found - 1][1]


def is_common(opener: str) -> bool:
    """Return whether an opener also occurs in text without calls."""
    is_short = len(opener) < 3 and opener.isascii()
    return is_short or _COMMON.fullmatch(opener) is not None


def _joined(pieces: list[Piece]) -> Iterator[Stretch]:
    """Join adjacent pieces that are all inside or all outside of a code fence."""
    parts: list[str] = []
    first, end, was_fenced = 0, 0, False
    for start, fenced, more in pieces:
        if parts and (start != end or fenced != was_fenced):
            yield Stretch(first, was_fenced, "".join(parts))
            parts = []
        if not parts:
            first, was_fenced = start, fenced
        text = "".join(more)
        parts.append(text)
        end = start + len(text)
    if parts:
        yield Stretch(first, was_fenced, "".join(parts))


def find_unread(
    log: ProseLog,
    tools: Mapping[str, ToolSpec],
    open_fence: int | None,
    *,
    fences: bool,
    closed_thoughts: bool,
    quotes: bool,
) -> Iterator[Unread]:
    """Find the names of tools that stand in prose in the form of a call.

    `fences`: code fences may hold calls. `closed_thoughts`: closed thoughts may hold calls.
    `quotes`: a call in quotation marks, in code or in a diff is a mention. `open_fence`: the end of
    the text if a code fence is open there, else None; a fence that is never closed quotes nothing.
    """
    names = _Names(tools)
    last: int | None = None
    for stretch, enough in log.stretches(closed_thoughts=closed_thoughts):
        # A fence right behind a reported name holds the arguments of that call.
        belongs = last is not None and 0 <= stretch.start - last <= _GAP
        is_open = stretch.start + len(stretch.text) == open_fence
        quotes_all = stretch.fenced and not belongs and not is_open
        quotes_all = quotes_all and _info_tool(stretch.text) not in tools
        if quotes_all and not _may_be_calls(stretch.text, in_fences=fences):
            continue
        shown = stretch._replace(text=_with_brackets(stretch.text, escaped=not quotes))
        places = names.find(shown.text)
        if places:
            scene = _Scene(shown, log, tools, quotes_lines=quotes)
            for name, (start, end) in scene.unread(places, enough):
                last = stretch.start + end
                if not log.is_reported(stretch.start + start):
                    yield Unread(name, (stretch.start + start, last))


def _with_brackets(text: str, *, escaped: bool) -> str:
    """Return a text of the same length with `<` for full-width brackets, and for HTML's `&lt;`.

    Where dialects are guessed, text with `&lt;` is about markup.
    """
    text = text.translate(_WIDE_BRACKETS)
    return text.replace("&lt;", "   <").replace("&gt;", ">   ") if escaped else text


def _may_be_calls(fence: str, *, in_fences: bool) -> bool:
    """Return whether a code fence begins as calls do, or is inverted.

    If the opening line of a fence is damaged, its closing line opens one, which lasts up to the
    next fence: inside and outside are then swapped. A tool fence is no code, even if calls in code
    fences do not count.
    """
    fence = with_lf(fence)
    head, _, body = fence.lstrip().partition("\n")
    if not in_fences:
        return bool(_tool_fences(head))
    if _FENCE_OF_CALLS.match(fence):
        return True
    is_inverted = not head.strip("`~ \r") and _NEXT_FENCE.search(body)
    return bool(is_inverted or "Action:" in head or _TOKEN.search(head) or _tool_fences(head))


def _info_tool(fence: str) -> str:
    """Return the first word of a fence's info string if it can be no language, as `read_file`."""
    found = _INFO_NAME.match(fence)
    return found[1] if found else ""


def _tool_fences(text: str) -> list[Span]:
    """Return the spans of lines that may open a tool fence, also with one wrong character."""
    return [hit.span() for hit in _TOOL_FENCE.finditer(text) if is_near(hit[1].lower(), "tool")]


class _Names:
    """The names of tools, and a search for them in a text."""

    def __init__(self, tools: Mapping[str, ToolSpec]) -> None:
        self._names = sorted(filter(None, tools), key=len, reverse=True)
        self._by_length: dict[int, list[str]] = {}
        self._halves = _halves_of(tuple(self._names))
        for name in self._names:
            if len(name) >= _LEAST_MISSPELT:
                for length in range(len(name) - 1, len(name) + 2):
                    self._by_length.setdefault(length, []).append(name)
        self._meant: dict[str, str] = dict.fromkeys(self._names, "")

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """Return the positions of names in order, also of names with one wrong character."""
        # An exact name is searched everywhere. A misspelt one is searched only where a call has its
        # name (`_PLACE`): comparing each word of the prose with each tool would be slow, and would
        # find too much.
        found: set[tuple[int, int, str]] = set()
        known = [_pattern(name) for name in self._names if name in text]
        if known:
            found |= {(*hit.span(), hit[0]) for hit in re.finditer("|".join(known), text)}
        if self._by_length and self._may_be_misspelt(text):
            first = _FIRST_WORD.match(text)
            for hit in chain(_PLACE.finditer(text), [first] if first else ()):
                if name := self._of(hit[1]):
                    found.add((*hit.span(1), name))
        return sorted(found)

    def _may_be_misspelt(self, text: str) -> bool:
        """Return whether a word of the text may differ from a name by one character."""
        return any(half in text for half in self._halves)

    def _of(self, word: str) -> str:
        """Return the name that differs from a word by one character, or ""."""
        if word not in self._meant:
            near = (name for name in self._by_length.get(len(word), ()) if is_near(word, name))
            self._meant[word] = next(near, "")
        return self._meant[word]


@lru_cache(maxsize=64)
def _halves_of(names: tuple[str, ...]) -> frozenset[str]:
    """Return the halves of the names that are looked for with one wrong character.

    Such a character leaves one half whole. Looking for halves is many times faster than looking at
    words, and most texts have none.
    """
    long = [name for name in names if len(name) >= _LEAST_MISSPELT]
    middles = ((name, len(name) // 2) for name in long)
    return frozenset(half for name, at in middles for half in (name[:at], name[at:]))


def _pattern(name: str) -> str:
    escaped = re.escape(name)
    return escaped if len(name) >= _SHORT else rf"(?<![\w-]){escaped}(?![\w-])"


def tool_meant(word: str, tools: Iterable[str]) -> str:
    """Return the tool whose name is this word, or differs from it by one character, or ""."""
    names = list(tools)
    near = (name for name in names if len(name) >= _LEAST_MISSPELT and is_near(word, name))
    return word if word in names else next(near, "")


def is_near(word: str, name: str) -> bool:
    """Return whether the edit distance of two texts is at most one."""
    # Strip the common prefix. What remains must be equal behind a replaced, an added or a removed
    # character. (Cheaper than a matrix, and exact for a distance of one.)
    same = 0
    while same < min(len(word), len(name)) and word[same] == name[same]:
        same += 1
    word, name = word[same:], name[same:]
    return word[1:] == name[1:] or word[1:] == name or word == name[1:]


def _is_labelled(text: str, span: Span) -> bool:
    """Return whether a label of calls stands beside a code span, which is then no quotation."""
    start, end = span
    before = _LABEL.search(text, max(0, start - 90), start)
    is_behind_token = text.endswith(("|>", "｜>"), 0, start)
    return before is not None or is_behind_token or _INPUT_LABEL.match(text, end) is not None


def _is_whole_line(text: str, span: Span) -> bool:
    """Return whether a code span in backticks is all of its line."""
    start, end = span
    if text[start] != "`" or not _WHOLE_LINE.search(text, max(0, start - 12), start):
        return False
    return not text[end : end + 12].partition("\n")[0].strip()


class _Scene:
    """A stretch of prose with its quotations and tokens, in which names are weighed."""

    def __init__(
        self,
        stretch: Stretch,
        log: ProseLog,
        tools: Mapping[str, ToolSpec],
        *,
        quotes_lines: bool,
    ) -> None:
        self._tools = tools
        self._quotes_lines = quotes_lines
        self._log, self._start = log, stretch.start
        self._text = text = stretch.text
        spans = (hit.span() for hit in _CODE_SPAN.finditer(text)) if quotes_lines else ()
        self._quotes = [
            span for span in spans if not (_is_whole_line(text, span) or _is_labelled(text, span))
        ]
        tokens = (hit.span() for hit in _TOKEN.finditer(text))
        unquoted = (span for span in tokens if not self._is_quoted(span[0]))
        self._tokens = sorted({*unquoted, *_tool_fences(text), *log.refused(stretch)})
        tags = (hit.start() for hit in _CODE_TAG.finditer(text))
        self._has_code_tag = not all(map(self._is_quoted, tags))
        self._fenced = stretch.fenced
        self._has_hunk = _HUNK.search(text) is not None
        self._parted_from = self._parted = -1

    def unread(self, places: list[tuple[int, int, str]], enough: int) -> Iterator[Unread]:
        """Weigh the names at these places, and yield those that have enough witnesses."""
        last: Unread | None = None
        for start, end, name in places:
            if (
                self._is_quoted(start)
                or self._is_mention(start)
                or (last and last.name == name and self._goes_on(last, start))
            ):
                continue
            if self._weigh(start, end, self._tools[name], is_first=last is None) >= enough:
                last = Unread(name, (start, end))
                yield last

    def _is_mention(self, start: int) -> bool:
        """Return whether the line before a name quotes it, or is a changed line of a diff."""
        first = max(0, start - _FAR)
        if not self._quotes_lines:
            return False
        is_changed = self._has_hunk and _CHANGED.search(self._text, first, start)
        return bool(is_changed) or is_within_quotation(self._text[first:start])

    def _goes_on(self, last: Unread, start: int) -> bool:
        """Return whether a reported name occurs again in the same call."""
        text, end = self._text, last.place[1]
        if text.endswith("</", end, start):
            return True
        # A name may occur, and be reported, any number of times. The next separator is searched
        # for once: a search per occurrence, or per report, would be quadratic.
        if not self._parted_from <= end <= self._parted:
            hit = _SEPARATOR.search(text, end)
            self._parted_from, self._parted = end, hit.start() if hit else len(text)
        return self._parted >= start and not _NAMED_NEXT.search(
            text, max(end, start - _NEAR), start
        )

    def _weigh(self, start: int, end: int, tool: ToolSpec, *, is_first: bool) -> int:
        # First the vetoes (a word of a sentence, a definition of a tool), then the sum. Most vetoes
        # need `not touches`: a token such as `<|call|>` beside the name outweighs the words.
        # The pairs of patterns come before the keys in the window, because most names in prose have
        # no witness at all and leave here.
        text = self._text
        before = with_lf(text[max(0, start - _FAR) : start])
        behind = with_lf(text[end : end + _FAR])
        near = before[-_NEAR:]
        touches = self._touching(start, end)
        word = f"{near[-2:]}\0{text[start:end]}\0{behind[:2]}"
        # The opening line of a fence is no sentence.
        is_prose = not _FENCE_RUN.search(near.rpartition("\n")[2])
        if is_prose and _IN_SENTENCE.search(word):
            return 0
        is_tag = before.endswith("<") or behind.startswith(">")
        is_among = is_prose and not is_tag and not _ENDS_TAG.match(behind)
        if not touches and is_among and _AMONG_WORDS.search(word):
            return 0
        if not touches and _DEFINITION.match(behind):
            return 0
        line = near.rpartition("\n")[2]
        is_info = _info_tool(line + text[start : end + 1]) == text[start:end]
        is_fence = is_info or bool(_tool_fences(line)) or self._is_fence_in_line(start, end)
        weight = 4 * is_fence + sum(
            points
            for points, left, right in _WITNESSES
            if right.match(behind) and left.search(near)
        )
        if not weight and not touches:
            return 0
        if _INPUT_KEY.search(behind) or _INPUT_KEY.search(before):
            weight += 2 + bool(_LAST_VALUE.match(behind))
        sole = _SOLE_KEY.search(near) if _SOLE_VALUE.match(behind) else None
        weight += 4 * (sole is not None and any(is_near(sole[1], key) for key in _SOLE_KEYS))
        weight += 2 * (not is_first and bool(_AFTER_CALL.search(near)))
        if before.endswith("<"):
            # `<name>` alone may be HTML or a placeholder. It counts if it is closed or repeated,
            # perhaps misspelt, or if a dialect whose tags are names of tools refused it.
            again = re.search(rf"</?\w?{re.escape(tool.name)}", behind)
            is_call = not self._quotes_lines and self._log.is_refused_tag(self._start + start - 1)
            weight += 4 * bool(again or is_call)
        if is_tag and (inner := _INNER.match(behind)):
            weight += 4 * (is_near(inner[1], text[start:end]) or inner[1] in tool.properties)
        weight += self._fenced
        # A reply that begins with `NAME(`, where a dialect is named.
        is_first_word = (
            not self._quotes_lines and not text[: min(start, _NEAR)].strip() and not self._start
        )
        weight += is_first_word and behind.startswith("(")
        weight += 2 * self._is_all(start, end)
        weight += 2 * (self._has_code_tag and behind.startswith("("))
        return weight + 2 * bool(self._tokens) + (touches and touches + 1)

    def _is_all(self, start: int, end: int) -> bool:
        """Return whether a text is nothing but `NAME(…)`."""
        text = self._text
        if self._start or start > _NEAR or text[:start].strip() or text[end : end + 1] != "(":
            return False
        return text.rstrip().endswith(")") and text.count("(") == text.count(")")

    def _is_fence_in_line(self, start: int, end: int) -> bool:
        """Return whether a tool's name is the info string of a damaged fence.

        The fence begins inside of a line, or text follows the name without a blank. This counts
        only for named dialects: where they are guessed, the name may be that of a language.
        """
        run = _RUN.search(self._text, max(0, start - 4), start)
        if self._quotes_lines or run is None:
            return False
        is_info = _INFO.match(self._text, end)
        return bool(is_info and (run[1] or is_info[1]))

    def _touching(self, start: int, end: int) -> int:
        """Count the sides of a name on which a token stands, with only a wrapper between."""
        # Tokens are sorted and do not nest deeply, so the three on each side of the bisection
        # suffice.
        text, at = self._text, bisect(self._tokens, (start, start))
        near = self._tokens[max(0, at - 3) : at + 3]
        before = any(
            (first < start and end <= last)
            or (0 <= start - last <= _NEAR and _WRAPPER.fullmatch(text, last, start))
            for first, last in near
        )
        behind = any(
            0 <= first - end <= 20 and len(text[end:first].strip()) < 3 for first, _ in near
        )
        return before + behind

    def _is_quoted(self, at: int) -> bool:
        return _covers(self._quotes, at)
