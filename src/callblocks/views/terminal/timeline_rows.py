"""A timeline for a terminal, block by block, and the list of timelines.

3  2030-01-31 12:00:00  react.tool.call  tc:turn_1.abc.call  182B
   {"tool_id":"react.write","tool_call_id":"abc",…
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from callblocks.core.blocks import RECORDS, Block, Entry, Part, TextPart, binary_line
from callblocks.core.call_text import format_size
from callblocks.timeline.log.store import Summary, encode
from callblocks.timeline.log.verify import Finding
from callblocks.views.chat.timeline_chat import (
    Batch,
    Lost,
    Message,
    ShownItem,
    ThoughtEntry,
    TurnEnded,
    grouped,
)
from callblocks.views.rows import Kind, Row, visible, visible_line, wrap
from callblocks.views.terminal.terminal import Terminal

__all__ = (
    "chat_rows",
    "entry_json",
    "entry_rows",
    "finding_rows",
    "part_rows",
    "summary_rows",
)

_HEAD = 300
_SHORT = 12
_KINDS: dict[str, Kind] = {
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


def chat_rows(items: Iterable[ShownItem], width: int, *, expanded: bool) -> Iterator[Row]:
    """A chat: a heading for each turn, who says what, and the calls in batches."""
    turn = None
    for item in items:
        if item.turn != turn:
            yield from () if turn is None else ((),)
            turn = item.turn
            yield (("quiet", f"── {visible_line(turn)}"),)
        yield ()
        yield from _item_rows(item, width, expanded)


def _item_rows(item: ShownItem, width: int, expanded: bool) -> list[Row]:
    terminal = Terminal(expanded=expanded, width=width)
    match item:
        case Message():
            name = visible_line(item.name)
            rows: list[Row] = [(("strong", name), ("quiet", f"  {_time(item.ts)}"))]
            rows += terminal.draw(f"{line}\n" for line in item.text.split("\n"))
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
    return "quiet" if block.type in RECORDS else _KINDS.get(block.type, "plain")


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

_HEADER = re.compile(r"\[(?:TOOL (?:CALL|RESULT) |AI Agent |User )[^\]]*\]\S*")
_POINT: Row = (("mark", "── cache point ──"),)


def part_rows(parts: Iterable[Part], width: int | None) -> Iterator[Row]:
    """The rows of all parts; without a width, lines are as long as they are."""
    for part in parts:
        if isinstance(part, TextPart):
            for line in visible(part.text).removesuffix("\n").split("\n"):
                yield from _wrapped(_styled(line), width)
        else:
            yield from _wrapped((("key", visible_line(binary_line(part))),), width)
        if part.cache:
            yield _POINT


def _wrapped(row: Row, width: int | None) -> Iterable[Row]:
    return wrap(row, width) if width else (row,)


def _styled(line: str) -> Row:
    found = _HEADER.match(line)
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
