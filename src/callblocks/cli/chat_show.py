"""A chat that is kept, for whoever goes on with it: its last turns, all of it, or its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from callblocks.model.blocks import Entry
from callblocks.views.rows import Row, wrap
from callblocks.views.timeline.chat import Batch, Message, ShownItem, shown
from callblocks.views.timeline.files import ShownFile
from callblocks.views.timeline.rows import chat_rows, entry_rows

__all__ = ("file_rows", "recent_rows", "view_rows")

_TURNS = 3
_LINES = 8
_LENGTH = 600


def recent_rows(entries: Iterable[Entry], width: int) -> list[Row]:
    """The last turns; what is long is cut."""
    items = shown(entries)
    turns = list(dict.fromkeys(item.turn for item in items))
    last = [_short(item) for item in items if item.turn in turns[-_TURNS:]]
    rows = list(chat_rows(last, width, expanded=False))
    if earlier := len(turns[:-_TURNS]):
        words = "1 turn before" if earlier == 1 else f"{earlier} turns before"
        rows[:0] = [(("quiet", f"… {words}; /show has all of it"),), ()]
    return rows


def view_rows(entries: Iterable[Entry], view: str, width: int, budget: int | None) -> Iterator[Row]:
    """All of it: `show`, with each call and its result; `raw`, block by block; or the `view`."""
    if view == "raw":
        return (row for entry in entries for row in entry_rows(entry, width))
    if view == "view":
        from callblocks.views.model_view.view import render
        from callblocks.views.timeline.parts import part_rows

        return part_rows(render(entries, budget=budget), width)
    return chat_rows(shown(entries), width, expanded=True)


def file_rows(entries: Iterable[Entry], width: int) -> list[Row]:
    """The files of a chat: those that the person gave, and those that calls made."""
    rows: list[Row] = []
    for item in shown(entries):
        for file in _files(item):
            rows += wrap((("plain", f"  {file.about}"),), width, (("plain", "    "),))
    return rows


def _files(item: ShownItem) -> list[ShownFile]:
    match item:
        case Message(files=files):
            return files
        case Batch(calls=calls):
            return [file for call in calls for file in call.files]
        case _:
            return []


def _short(item: ShownItem) -> ShownItem:
    """A message that fits between others."""
    if not isinstance(item, Message):
        return item
    lines = item.text.split("\n")
    text = "\n".join(lines[:_LINES])[:_LENGTH]
    cut = text if text == item.text else f"{text.rstrip()} …"
    return msgspec.structs.replace(item, text=cut)
