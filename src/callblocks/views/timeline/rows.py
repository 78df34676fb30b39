"""A timeline for a terminal, block by block, and the list of timelines.

3  2030-01-31 12:00:00  react.tool.call  tc:turn_1.abc.call  182B
   {"tool_id":"react.write","tool_call_id":"abc",…
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from callblocks.model.blocks import RECORDS, Block, Entry
from callblocks.model.shown import format_size
from callblocks.timeline.stores.chain import encode
from callblocks.timeline.stores.store import Summary
from callblocks.views.rows import Kind, Row, wrap
from callblocks.views.safe import visible_line
from callblocks.views.terminal import Terminal
from callblocks.views.timeline.chat import (
    Batch,
    Ended,
    Lost,
    Message,
    ShownItem,
    Thought,
    grouped,
)

__all__ = ("chat_rows", "entry_json", "entry_rows", "summary_rows")

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
        case Thought(text=text):
            return [(("reasoning", visible_line(line)),) for line in text.split("\n")]
        case Lost(words=words):
            return wrap((("error", words),), width)
        case Ended(words=words):
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
