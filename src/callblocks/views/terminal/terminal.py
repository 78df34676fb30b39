"""A chat on a terminal: prose, and groups of calls folded or open.

    I looked at both files.

    🔧 2 tool calls, 1 failed (hide details)
      read_file(path=a.txt) → one line
      read_file(path=gone.txt) → ❌ no such file

One blank line stands around each group, and above the name of one who speaks. All text is made
safe to show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from callblocks.views.chat.chat import (
    BrokenBlock,
    CallGroup,
    Item,
    Speaker,
    Styled,
    ThoughtLine,
    Validation,
    draw_lines,
)
from callblocks.views.rows import Bit, Kind, Row, visible, visible_line, wrap

__all__ = (
    "Prose",
    "Terminal",
)

# --- Prose as rows: Markdown keeps its marks and gets its weight ---
#
#     # Heading          strong
#     **bold** `code`    strong, code
#     ``` … ```          code, as it stands
#
# Nothing is taken away, so prose that is copied from a terminal is what the model wrote.

LONGEST = 2000
"""A longer line is no prose that anybody set in bold."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6} ")
_INDENT = re.compile(r" *(?:[-*+] |\d{1,3}[.)] |> )?")
_SPAN = re.compile(r"(`+)(?!`)[^\n]+?(?<!`)\1(?!`)|\*\*(?=\S)[^*\n]+\*\*")


class Prose:
    """Draws prose line by line; it remembers whether it is inside a code fence."""

    def __init__(self) -> None:
        self._fence = ""

    @property
    def in_fence(self) -> bool:
        """True if the next line is inside a code fence, where blank lines count."""
        return bool(self._fence)

    def copy(self) -> Prose:
        """One that goes on from here, without moving this one."""
        twin = Prose()
        twin._fence = self._fence
        return twin

    def draw(self, line: str, width: int, kind: Kind = "plain") -> list[Row]:
        """Draw one line, without its end."""
        safe = visible(line)
        opened = _FENCE.match(safe)
        if self._fence or opened:
            self._follow(safe, opened)
            return [(("code", safe),)] if safe else [()]
        indent = _INDENT.match(safe)
        hang = " " * (indent.end() if indent else 0)
        return wrap(_styled(safe, kind), width, (("plain", hang),) if hang else ())

    def _follow(self, line: str, opened: re.Match[str] | None) -> None:
        if not self._fence:
            self._fence = opened[1] if opened else ""
        elif line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self._fence = ""


def _styled(line: str, kind: Kind) -> Row:
    if kind != "plain" or len(line) > LONGEST:
        return ((kind, line),)
    if _HEADING.match(line):
        return (("heading", line),)
    bits: list[Bit] = []
    at = 0
    for found in _SPAN.finditer(line):
        bits.append(("plain", line[at : found.start()]))
        bits.append(("code" if found[1] else "strong", found[0]))
        at = found.end()
    bits.append(("plain", line[at:]))
    return tuple(bit for bit in bits if bit[1])


# --- A chat on a terminal: prose, and groups of calls folded or open ---

_KINDS: dict[str, Kind] = {
    "header": "name",
    "indent": "plain",
    "call": "plain",
    "mark": "quiet",
    "result": "quiet",
    "error": "error",
    "more": "quiet",
}
_HEADER = re.compile(
    r"(?P<head>🔧 |✅ )(?P<label>.*?)(?P<failed>(?:, \d+|,) failed)?(?P<unrun>(?:, \d+|,) not run)?"
    r"(?P<running>, running.*)?"
    r"(?P<hint> \((?:show|hide) details\))"
)
_BROKEN_LINES = 5
_ALL = "consensus"


# What begins a heading or a group of ours: in prose it is quoted, so that nobody speaks as another.
_OURS = re.compile(r"(?<!\S)(?=[▌🔧])")


class Terminal:
    """Draws items one after the other; it knows where a blank line is due."""

    def __init__(self, *, expanded: bool, width: int) -> None:
        self._expanded = expanded
        self._width = width
        self._prose = Prose()
        self._empty = True
        self._gap = False
        self._after_block = False

    def draw(self, items: Iterable[Item]) -> list[Row]:
        """Draw more items below those before."""
        return [row for item in items for row in self._draw(item)]

    def copy(self) -> Terminal:
        """One that goes on from here, without moving this one."""
        twin = Terminal(expanded=self._expanded, width=self._width)
        twin.__dict__ |= self.__dict__ | {"_prose": self._prose.copy()}
        return twin

    def _draw(self, item: Item) -> list[Row]:
        match item:
            case str():
                return self._line(item, "plain")
            case ThoughtLine(text=text):
                return self._line(text, "reasoning")
            case Speaker():
                return self._speaker(item)
            case BrokenBlock():
                return self._block(_draw_broken(item, self._width))
            case CallGroup() | Validation():
                return self._block(self._draw_group(item))

    def _speaker(self, item: Speaker) -> list[Row]:
        # A code fence that one leaves open is not the next one's.
        self._prose = Prose()
        due = not self._empty
        self._empty = self._gap = self._after_block = False
        row: Row = (("name", f"▌ {visible_line(item.name or _ALL)}"),)
        if item.fault:
            row = (*row, ("warning", f" {visible_line(item.fault)}"))
        rows = wrap(row, self._width, (("plain", "  "),))
        return [(), *rows] if due else rows

    def _line(self, text: str, kind: Kind) -> list[Row]:
        if not text.strip() and not self._prose.in_fence:
            self._gap = True
            return []
        if self._after_block and text.startswith(" ") and not text.startswith("  "):
            # The blank between a block and the words that go on after it.
            text = text[1:]
        words = _OURS.sub("\\\\", text.removesuffix("\n").removesuffix("\r"))
        rows = self._prose.draw(words, self._width, kind)
        due, self._gap = (self._gap or self._after_block) and not self._empty, False
        self._empty = self._after_block = False
        return [(), *rows] if due else rows

    def _block(self, rows: list[Row]) -> list[Row]:
        due = not self._empty
        self._empty, self._gap, self._after_block = False, False, True
        return [(), *rows] if due else rows

    def _draw_group(self, item: CallGroup | Validation) -> list[Row]:
        head, *lines = draw_lines(item, self._expanded)
        rows = wrap(_header(visible_line(head[0].text)), self._width, (("plain", "   "),))
        for line in lines:
            indent = len(line[0].text) if line and line[0].kind == "indent" else 0
            rows += wrap(tuple(map(_bit, line)), self._width, (("plain", " " * (indent + 4)),))
        return rows


def _bit(styled: Styled) -> Bit:
    return _KINDS[styled.kind], visible_line(styled.text)


def _header(text: str) -> Row:
    found = _HEADER.fullmatch(text)
    if found is None:
        return (("name", text),)
    kinds: tuple[tuple[Kind, str], ...] = (
        ("plain", "head"),
        ("name", "label"),
        ("error", "failed"),
        ("quiet", "unrun"),
        ("mark", "running"),
        ("quiet", "hint"),
    )
    return tuple((kind, found[part]) for kind, part in kinds if found[part])


def _draw_broken(item: BrokenBlock, width: int) -> list[Row]:
    """The text as it stands, as far as it is worth showing, and why it is no call."""
    lines = visible(item.text.strip("\r\n")).split("\n")
    more = len(lines) - _BROKEN_LINES
    rows: list[Row] = [(("quiet", "│ "), ("plain", line)) for line in lines[:_BROKEN_LINES]]
    if more > 0:
        rows.append((("quiet", f"│ … {more} more line{'s' if more > 1 else ''}"),))
    detail = f": {visible_line(item.detail)}" if item.detail else ""
    note: Row = (("quiet", "╰ "), ("warning", f"not a call, {item.code}{detail}"))
    hang: Row = (("quiet", "│ "),)
    wrapped = [part for row in rows for part in wrap(row, width, hang)]
    return [*wrapped, *wrap(note, width, (("plain", "  "),))]
