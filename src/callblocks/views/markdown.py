"""A timeline as Markdown for people: the messages with their authors, and the calls with results.

    # Timeline `notes`
    ## `turn_1`
    **User**
    > Add them up.
    **2 tool calls, 1 failed**
    - `add(a=1, b=2)`

All text of people, models and tools is quoted or fenced: nothing in it becomes structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from callblocks.core.call_text import show_result
from callblocks.views.chat.timeline_chat import (
    LONGEST,
    Batch,
    Lost,
    Message,
    ShownCall,
    ShownFile,
    ShownItem,
    ThoughtEntry,
    TurnEnded,
)
from callblocks.views.rows import visible, visible_line

__all__ = (
    "code_span",
    "fenced",
    "quoted",
    "timeline_markdown",
)

# --- Untrusted text in Markdown: shown literally, and never read as structure ---
#
#     quoted       > \# no heading, \<b\>no tag\</b\>       prose, line by line
#     fenced       ```` … ````                             longer than any fence inside
#     code_span    `` a ` b ``                             one line
#
# A CommonMark reader (with GFM extensions) renders exactly these words, and no markup.

_BACKTICKS = re.compile(r"`+")
# Every character that is markup inside a line; a backslash escapes it.
_SIGNS = re.compile(r"[\\`*_{}\[\]<>&~|$^=@:!]")
# Markup that counts only at the start of a line: headings, rules and lists; and list numbers.
_STARTS = ("#", "+", "-")
_NUMBER = re.compile(r"([0-9]{1,9})(?=[.)])")
_NO_BREAK_SPACE = "\xa0"


def quoted(text: str) -> list[str]:
    """Prose as a quote; its lines stay lines."""
    lines = [_escaped(line) for line in visible(text).strip("\n").split("\n")]
    following = [*lines[1:], ""]
    return [
        f"> {line}\\" if line and after else f"> {line}".rstrip()
        for line, after in zip(lines, following, strict=True)
    ]


def fenced(text: str, indent: str = "") -> list[str]:
    """Any text in a fence that nothing in it can close."""
    body = visible(text)
    fence = "`" * max(3, _longest(body) + 1)
    return [f"{indent}{line}" for line in (f"{fence}text", *body.split("\n"), fence)]


def code_span(text: str) -> str:
    """Any text as code within a line."""
    line = visible_line(text).strip() or " "
    mark = "`" * (_longest(line) + 1)
    blank = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{mark}{blank}{line}{blank}{mark}"


def _longest(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _escaped(line: str) -> str:
    line = line.rstrip()
    bare = line.lstrip()
    # An indent would be code; blanks that do not break are only seen.
    indent = _NO_BREAK_SPACE * (len(line) - len(bare))
    safe = _SIGNS.sub(r"\\\g<0>", bare)
    if number := _NUMBER.match(safe):
        return f"{indent}{number[1]}\\{safe[number.end() :]}"
    return f"{indent}\\{safe}" if safe.startswith(_STARTS) else indent + safe


# --- A timeline as Markdown for people: messages with their authors, and calls with results ---


def timeline_markdown(name: str, items: Iterable[ShownItem]) -> Iterator[str]:
    """The page, line by line, each with its end."""
    yield f"# Timeline {code_span(name)}\n"
    turn = None
    for item in items:
        if item.turn != turn:
            turn = item.turn
            yield f"\n## {code_span(turn)}\n"
        for line in ("", *_lines(item)):
            yield f"{line}\n"


def _lines(item: ShownItem) -> Iterator[str]:
    match item:
        case Message():
            name = code_span(item.name) if item.member else item.name
            yield f"**{name}** · {code_span(item.ts)}"
            if item.text:
                yield ""
                yield from quoted(item.text)
            if item.is_cut:
                yield from ("", "*It broke off here.*")
            yield from _files(item.files, "")
        case Batch(calls=calls):
            yield f"**{_count(calls)}**"
            for call in calls:
                yield from _call(call)
        case ThoughtEntry(text=text):
            yield from ("*Thought*", "", *quoted(text))
        case Lost(words=words):
            yield f"*{words}*"
        case TurnEnded(words=words):
            mark, _, said = words.partition(" ")
            yield f"{mark} {code_span(said)}"


def _count(calls: list[ShownCall]) -> str:
    failed = sum(call.failed for call in calls)
    said = "1 tool call" if len(calls) == 1 else f"{len(calls)} tool calls"
    return f"{said}, {failed} failed" if failed else said


def _call(call: ShownCall) -> Iterator[str]:
    yield ""
    yield f"- {code_span(call.line)}{_state(call)}"
    for notice in call.notices:
        yield ""
        yield f"  Notice: {code_span(notice)}"
    for text in (call.code, call.result or ""):
        if text:
            yield ""
            yield from fenced(_cut(text), "  ")
    yield from _files(call.files, "  ")


def _state(call: ShownCall) -> str:
    if call.failed:
        return " **failed**"
    return " (no result)" if call.result is None and not call.files else ""


def _files(files: list[ShownFile], indent: str) -> Iterator[str]:
    for file in files:
        yield ""
        yield f"{indent}File: {code_span(file.about)}"
        if file.text:
            yield ""
            yield from fenced(_cut(file.text), indent)


def _cut(text: str) -> str:
    return show_result(text, LONGEST)[0]
