r"""Text of unknown origin in Markdown: shown as it stands, and never structure.

    quoted       > \# no heading, \<b\>no tag\</b\>       prose, line by line
    fenced       ```` … ````                             longer than any fence inside
    code_span    `` a ` b ``                             one line

A reader of CommonMark (with tables and the like) gets back the words, and nothing else.
"""

from __future__ import annotations

import re

from callblocks.views.safe import visible, visible_line

__all__ = ("code_span", "fenced", "quoted")

_BACKTICKS = re.compile(r"`+")
# Every sign that means something inside a line; a backslash before it takes that away.
_SIGNS = re.compile(r"[\\`*_{}\[\]<>&~|$^=@:!]")
# What means something only where a line begins: headings, rules and lists; and their numbers.
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
