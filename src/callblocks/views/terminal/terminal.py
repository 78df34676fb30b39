"""A chat on a terminal: prose, and groups of calls folded or open.

    I looked at both files.

    🔧 2 tool calls, 1 failed (hide details)
      read_file(path=a.txt) → one line
      read_file(path=gone.txt) → ❌ no such file

One blank line stands around each group, and above the name of one who speaks. All text is made
safe to show. Where `folds` is false an open group has no words for closing it: nothing does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from callblocks.core.blocks import RECORDS, Block, Entry, Part, TextPart, binary_line
from callblocks.core.call_text import format_size
from callblocks.timeline.log.log import Summary, encode
from callblocks.timeline.log.transfer import Finding
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
from callblocks.views.chat.timeline_chat import (
    Batch,
    Lost,
    Message,
    ShownItem,
    ThoughtEntry,
    TurnEnded,
    grouped,
)
from callblocks.views.rows import Bit, Kind, Row, columns, plain, visible, visible_line, wrap

__all__ = (
    "Prose",
    "Terminal",
    "chat_rows",
    "entry_json",
    "entry_rows",
    "finding_rows",
    "part_rows",
    "summary_rows",
)

# --- Prose as rows: Markdown keeps its marks and gets its weight, or is rendered ---
#
#                        as written               rendered, for a person in a chat
#     # Heading          strong, with its marks   strong
#     **bold** `code`    strong, code             the same without marks
#     [words](address)   as it stands             words (address)
#     - point   > quote  as it stands             • point   │ quote
#     | a | b |          as it stands             columns, once the table has ended
#     ``` … ```          code, as it stands       code without the fence
#
# As written nothing is taken away, so what is copied from a terminal is what the model wrote.

LONGEST = 2000
"""A longer line is no prose that anybody set in bold."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6} ")
_INDENT = re.compile(r" *(?:[-*+] |\d{1,3}[.)] |> )?")
_SPAN = re.compile(r"(`+)(?!`)[^\n]+?(?<!`)\1(?!`)|\*\*(?=\S)[^*\n]+\*\*")
_RENDERED_SPAN = re.compile(
    r"(?P<ticks>`+)(?!`)(?P<code>[^\n]+?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?=\S)(?P<strong>[^*\n]+)\*\*"
    r"|(?<![\w*])\*(?=[^\s*])(?P<soft>[^*\n]*[^\s*])\*(?![\w*])|(?<!\w)_(?=[^\s_])(?P<low>[^_\n]*[^\s_])_(?!\w)"
    r"|~~(?=\S)(?P<gone>[^~\n]+)~~"
    r"|!?\[(?P<words>[^\]\[\n]{1,500})\]\((?P<address>[^\s()]{1,1000})(?: \"[^\"\n]{0,200}\")?\)"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
)
_MARKED: dict[str, Kind] = {
    "code": "code",
    "strong": "strong",
    "soft": "emphasis",
    "low": "emphasis",
    "gone": "quiet",
    "escaped": "plain",
}
_HEADED = re.compile(r" {0,3}#{1,6} +(.*?)(?: +#+)? *")
_BULLET = re.compile(r"( *)[-*+] (?:\[([ xX])\] )?")
_QUOTED = re.compile(r" {0,3}((?:> ?)+)")
_RULE = re.compile(r" {0,3}([-*_])(?: *\1){2,} *")
_TABLE_ROW = re.compile(r" {0,3}\|.*\| *")
_TABLE_RULE = re.compile(r" {0,3}\|(?: *:?-+:? *\|)+ *")
_BAR = re.compile(r"(?<!\\)\|")
_MOST_ROWS = 200
"""Rows of a table that are held back for its columns; a longer one is shown as it stands."""


class Prose:
    """Draws prose line by line; it remembers whether it is inside a code fence."""

    def __init__(self, *, rendered: bool = False) -> None:
        self._fence = ""
        self._rendered = rendered
        self._table: list[str] = []

    @property
    def in_fence(self) -> bool:
        """True if the next line is inside a code fence, where blank lines count."""
        return bool(self._fence)

    def copy(self) -> Prose:
        """One that goes on from here, without moving this one."""
        twin = Prose(rendered=self._rendered)
        twin._fence, twin._table = self._fence, [*self._table]
        return twin

    def holds(self, line: str) -> bool:
        """Take a row of a table, which is shown when the table ends; False for another line."""
        if not self._rendered or self._fence or len(line) > LONGEST:
            return False
        safe = visible(line)
        if not _TABLE_ROW.fullmatch(safe) or len(self._table) == _MOST_ROWS:
            return False
        self._table.append(safe)
        return True

    def close(self, width: int) -> list[Row]:
        """Return the rows of the table that is held."""
        table, self._table = self._table, []
        return _table_rows(table, width)

    def draw(self, line: str, width: int, kind: Kind = "plain") -> list[Row]:
        """Draw one line, without its end."""
        safe = visible(line)
        opened = _FENCE.match(safe)
        if self._fence or opened:
            was_inside = bool(self._fence)
            self._follow(safe, opened)
            if self._rendered and was_inside != bool(self._fence):
                # The line of the fence itself: the language is what there is to say.
                about = "" if was_inside else safe.strip().lstrip("`~").strip()
                return [(("quiet", about),)] if about else []
            return [(("code", safe),)] if safe else [()]
        if self._rendered and kind == "plain" and len(safe) <= LONGEST:
            return _rendered(safe, width)
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


def _rendered(line: str, width: int) -> list[Row]:
    """Draw a line of Markdown without its marks."""
    if head := _HEADED.fullmatch(line):
        return wrap((("heading", plain(_spans(head[1]))),), width)
    if _RULE.fullmatch(line):
        return [(("quiet", "─" * min(width, 40)),)]
    lead: Row = ()
    if quote := _QUOTED.match(line):
        lead, line = (("quiet", "│ " * quote[1].count(">")),), line[quote.end() :]
    if point := _BULLET.match(line):
        box = {None: "•", " ": "☐"}.get(point[2], "☑")
        lead, line = (*lead, ("plain", f"{point[1]}{box} ")), line[point.end() :]
        hang: Row = (*lead[:-1], ("plain", " " * len(lead[-1][1])))
    else:
        indent = _INDENT.match(line)
        hang = (*lead, ("plain", " " * (indent.end() if indent else 0)))
    return wrap((*lead, *_spans(line)), width, hang if plain(hang) else ())


def _spans(line: str) -> Row:
    bits: list[Bit] = []
    at = 0
    for found in _RENDERED_SPAN.finditer(line):
        bits.append(("plain", line[at : found.start()]))
        at = found.end()
        if found["words"]:
            # An address that the words hide is said, so that nobody follows it unseen.
            is_same = found["words"] == found["address"]
            bits.append(("mark", found["words"]))
            bits.append(("quiet", "" if is_same else f" ({found['address']})"))
        else:
            name = found.lastgroup or ""
            text = found[name]
            bits.append((_MARKED[name], text.strip(" ") or text if name == "code" else text))
    bits.append(("plain", line[at:]))
    return tuple(bit for bit in bits if bit[1])


def _table_rows(lines: Sequence[str], width: int) -> list[Row]:
    """Draw a table in columns; as it stands where it is none, or too wide."""
    if len(lines) < 2 or not _TABLE_RULE.fullmatch(lines[1]):
        return [row for line in lines for row in wrap(_spans(line), width)]
    rules = _cells(lines[1])
    cells = [_cells(line) for at, line in enumerate(lines) if at != 1]
    if len(cells[0]) != len(rules) or any(len(row) > len(rules) for row in cells):
        return [row for line in lines for row in wrap(_spans(line), width)]
    rows = [[_spans(cell) for cell in (*row, *[""] * (len(rules) - len(row)))] for row in cells]
    wide = [max(columns(plain(row[at])) for row in rows) for at in range(len(rules))]
    if sum(wide) + 2 * len(wide) > width:
        return [row for line in lines for row in wrap(_spans(line), width)]
    right = [rule.endswith(":") and not rule.startswith(":") for rule in rules]
    head, *body = [_aligned(row, wide, right) for row in rows]
    bold: Row = tuple(("heading" if kind == "plain" else kind, text) for kind, text in head)
    return [bold, (("quiet", "  ".join("─" * one for one in wide)),), *body]


def _cells(line: str) -> list[str]:
    parts = _BAR.split(line.strip().removeprefix("|"))[:-1]
    return [part.strip().replace("\\|", "|") for part in parts]


def _aligned(row: Sequence[Row], wide: Sequence[int], right: Sequence[bool]) -> Row:
    bits: list[Bit] = []
    for cell, room, is_right in zip(row, wide, right, strict=True):
        gap: Bit = ("plain", " " * (room - columns(plain(cell))))
        between: Bit = ("plain", "  " if bits else "")
        bits += (between, gap, *cell) if is_right else (between, *cell, gap)
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
    r"(?P<running>, running.*?)?"
    r"(?P<hint> \((?:show|hide) details\))?"
)
_BROKEN_LINES = 5
_ALL = "consensus"


# What begins a heading or a group of ours: in prose it is quoted, so that nobody speaks as another.
_OURS = re.compile(r"(?<!\S)(?=[▌🔧])")


class Terminal:
    """Draws items one after the other; it knows where a blank line is due."""

    def __init__(
        self, *, expanded: bool, width: int, rendered: bool = False, folds: bool = True
    ) -> None:
        self._expanded = expanded
        self._folds = folds
        self._width = width
        self._rendered = rendered
        self._prose = Prose(rendered=rendered)
        self._empty = True
        self._gap = False
        self._after_block = False

    def draw(self, items: Iterable[Item]) -> list[Row]:
        """Draw more items below those before."""
        return [row for item in items for row in self._draw(item)]

    def close(self) -> list[Row]:
        """Draw the table that stands at the end, whose rows were held back."""
        return self._due(self._prose.close(self._width))

    def copy(self) -> Terminal:
        """One that goes on from here, without moving this one."""
        twin = Terminal(expanded=self._expanded, width=self._width, rendered=self._rendered)
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
        before = self.close()
        self._prose = Prose(rendered=self._rendered)
        due = not self._empty
        self._empty = self._gap = self._after_block = False
        row: Row = (("name", f"▌ {visible_line(item.name or _ALL)}"),)
        if item.fault:
            row = (*row, ("warning", f" {visible_line(item.fault)}"))
        rows = wrap(row, self._width, (("plain", "  "),))
        return [*before, (), *rows] if due else [*before, *rows]

    def _line(self, text: str, kind: Kind) -> list[Row]:
        if not text.strip() and not self._prose.in_fence:
            before = self.close()
            self._gap = True
            return before
        if self._after_block and text.startswith(" ") and not text.startswith("  "):
            # The blank between a block and the words that go on after it.
            text = text[1:]
        words = _OURS.sub("\\\\", text.removesuffix("\n").removesuffix("\r"))
        if kind == "plain" and self._prose.holds(words):
            return []
        before = self.close()
        rows = self._prose.draw(words, self._width, kind)
        return [*before, *self._due(rows)]

    def _due(self, rows: list[Row]) -> list[Row]:
        """Put the blank line before prose where one is due."""
        if not rows:
            return rows
        due, self._gap = (self._gap or self._after_block) and not self._empty, False
        self._empty = self._after_block = False
        return [(), *rows] if due else rows

    def _block(self, rows: list[Row]) -> list[Row]:
        before = self.close()
        due = not self._empty
        self._empty, self._gap, self._after_block = False, False, True
        return [*before, (), *rows] if due else [*before, *rows]

    def _draw_group(self, item: CallGroup | Validation) -> list[Row]:
        head, *lines = draw_lines(item, self._expanded)
        words = visible_line(head[0].text)
        if not self._folds:
            words = words.removesuffix(" (hide details)")
        rows = wrap(_header(words), self._width, (("plain", "   "),))
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


# --- A timeline for a terminal, block by block, and the list of timelines ---
#
# 3  2030-01-31 12:00:00  react.tool.call  tc:turn_1.abc.call  182B
#    {"tool_id":"react.write","tool_call_id":"abc",…


_HEAD = 300
_SHORT = 12
_BLOCK_KINDS: dict[str, Kind] = {
    "user.prompt": "strong",
    "user.attachment": "strong",
    "assistant.completion": "strong",
    "react.notes": "plain",
    "react.tool.code": "code",
    "react.tool.call": "name",
    "react.notice": "warning",
    "react.tool.result": "key",
    "timeline.damaged": "error",
}
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)


def summary_rows(known: Sequence[Summary], width: int) -> list[Row]:
    """A row for each timeline."""
    if not known:
        return [(("quiet", "No timeline is kept here."),)]
    longest = max(len(visible_line(one.name)) for one in known)
    digits = max(len(str(one.count)) for one in known)
    rows: list[Row] = []
    for one in known:
        head: Row = (
            ("name", f"{visible_line(one.name):<{longest}}"),
            ("plain", f"  {one.count:>{digits}} block{'' if one.count == 1 else 's'}"),
            ("quiet", f"  {_time(one.updated)}  {one.count}:{visible_line(one.hash[:_SHORT])}"),
        )
        rows += wrap(head, width, (("plain", "  "),))
    return rows


def entry_rows(entry: Entry, width: int) -> list[Row]:
    """A block where it stands: number, time, type, path and size, and how its content begins."""
    block = entry.block
    indent: Row = (("plain", " " * 7),)
    head: Row = (
        ("quiet", f"{entry.seq:>5}  {_time(block.ts)}  "),
        (_kind(block), visible_line(block.type)),
        ("mark", f"  {visible_line(block.path)}" if block.path else ""),
        ("quiet", f"  {format_size(_size(block))}"),
    )
    rows = wrap(head, width, indent)
    if said := _beginning(block):
        first, *more = wrap((*indent, ("plain", said)), width - 1, indent)
        rows.append((*first, ("quiet", "…" if more else "")))
    return rows


def entry_json(entry: Entry) -> bytes:
    """An entry as one line of JSON."""
    block = msgspec.Raw(encode(entry.block))
    return msgspec.json.encode({"seq": entry.seq, "hash": entry.hash, "block": block}) + b"\n"


def chat_rows(
    items: Iterable[ShownItem], width: int, *, expanded: bool, rendered: bool = False
) -> Iterator[Row]:
    """A chat: a heading for each turn, who says what, and the calls in batches."""
    turn = None
    for item in items:
        if item.turn != turn:
            yield from () if turn is None else ((),)
            turn = item.turn
            yield (("quiet", f"── {visible_line(turn)}"),)
        yield ()
        yield from _item_rows(item, width, expanded, rendered)


def _item_rows(item: ShownItem, width: int, expanded: bool, rendered: bool) -> list[Row]:
    terminal = Terminal(expanded=expanded, width=width, rendered=rendered, folds=not expanded)
    match item:
        case Message():
            name = visible_line(item.name)
            rows: list[Row] = [(("strong", name), ("quiet", f"  {_time(item.ts)}"))]
            rows += terminal.draw(f"{line}\n" for line in item.text.split("\n"))
            rows += terminal.close()
            if item.is_cut:
                rows.append((("quiet", "… it broke off here"),))
            for file in item.files:
                rows += wrap((("mark", "+ "), ("plain", visible_line(file.about))), width)
            return rows
        case Batch():
            return [*terminal.draw([grouped(item)]), *_notices(item, width)]
        case ThoughtEntry(text=text):
            return [(("reasoning", visible_line(line)),) for line in text.split("\n")]
        case Lost(words=words):
            return wrap((("error", words),), width)
        case TurnEnded(words=words):
            return wrap((("warning", words),), width, (("plain", "  "),))


def _notices(batch: Batch, width: int) -> list[Row]:
    rows: list[Row] = []
    for call in batch.calls:
        for notice in call.notices:
            note: Row = (("mark", "ⓘ "), ("quiet", visible_line(f"{call.name}: {notice}")))
            rows += wrap(note, width, (("plain", "  "),))
    return rows


def _kind(block: Block) -> Kind:
    return "quiet" if block.type in RECORDS else _BLOCK_KINDS.get(block.type, "plain")


def _time(text: str) -> str:
    """A time as people read it, to the second; what is no time stands as it is."""
    if found := _ISO.match(text):
        return found[0].replace("T", " ")
    return visible_line(text[:40])


def _size(block: Block) -> int:
    if block.base64 is not None:
        return len(block.base64) * 3 // 4
    return len((block.text or "").encode("utf-8", "surrogatepass"))


def _beginning(block: Block) -> str:
    if block.base64 is not None:
        return visible_line(f"({block.mime}, base64)")
    return visible_line((block.text or "")[:_HEAD].strip())


# --- What a model gets of a timeline, for a person: the text as it is, and where a cache may end
# ---
#
#     [TOOL CALL abc].call react.write
#     …
#     ── cache point ──
#
# An image or a document stands as one line.

_BLOCK_HEADER = re.compile(r"\[(?:TOOL (?:CALL|RESULT) |AI Agent |User )[^\]]*\]\S*")
_POINT: Row = (("mark", "── cache point ──"),)


def part_rows(parts: Iterable[Part], width: int | None) -> Iterator[Row]:
    """The rows of all parts; without a width, lines are as long as they are."""
    for part in parts:
        if isinstance(part, TextPart):
            for line in visible(part.text).removesuffix("\n").split("\n"):
                yield from _wrapped(_styled_line(line), width)
        else:
            yield from _wrapped((("key", visible_line(binary_line(part))),), width)
        if part.cache:
            yield _POINT


def _wrapped(row: Row, width: int | None) -> Iterable[Row]:
    return wrap(row, width) if width else (row,)


def _styled_line(line: str) -> Row:
    found = _BLOCK_HEADER.match(line)
    if found is None:
        return (("plain", line),)
    return (("name", found[0]), ("plain", line[found.end() :]))


# --- What checking a timeline found ---
#
# notes  12 blocks, all as they were written
# plans  7 blocks, 2 problems
#     3  chain_broken      the hash of block 3 does not fit: it was changed, or what stands before
#     it


def finding_rows(name: str, count: int, findings: Sequence[Finding], width: int) -> list[Row]:
    """One row that says whether all is well, and one for each finding."""
    blocks = "1 block" if count == 1 else f"{count} blocks"
    head: Row = (("name", visible_line(name)), ("quiet", f"  {blocks}, "))
    if not findings:
        return wrap((*head, ("code", "all as they were written")), width)
    problems = "1 problem" if len(findings) == 1 else f"{len(findings)} problems"
    rows = wrap((*head, ("error", problems)), width)
    for finding in findings:
        row: Row = (
            ("quiet", f"{finding.seq:>5}  "),
            ("error", f"{visible_line(finding.code):<16}"),
            ("plain", f"  {visible_line(finding.message)}"),
        )
        rows += wrap(row, width, (("plain", " " * 25),))
    return rows
