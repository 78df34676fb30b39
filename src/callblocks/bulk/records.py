"""Records of a corpus: which texts of a record a model wrote, and how a changed record is written.

    JSONL     a line is a record; one that is no JSON object is passed on as it is
    Parquet   a row is a record; of the row group only the columns with texts are read
    text      a file is a record with one text

A field is a path: `reply`, `messages[].content`, `data.turns[].value`. Without one, a record with
`messages` or `conversations` has the texts of its assistant, and any other the first field of a
list that every corpus draws from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Sequence
from io import BytesIO
from typing import Any, Literal, TypeAlias, cast

import msgspec

from callblocks.bulk.storage import Storage
from callblocks.core.errors import CallerError

__all__ = (
    "FORMATS",
    "Format",
    "Line",
    "Slot",
    "check_field",
    "columns_of",
    "encode_line",
    "format_of",
    "lines",
    "slots",
)

Format: TypeAlias = Literal["jsonl", "parquet", "text"]
FORMATS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".txt": "text",
    ".md": "text",
    ".log": "text",
}
"""The format of a file by the end of its name."""

_BLOCK = 1 << 20
_FIELD = re.compile(r"[^.\[\]]+(?:\[\])?(?:\.[^.\[\]]+(?:\[\])?)*")
_CHATS = ("messages", "conversations", "conversation")
_SPEAKERS = frozenset(("assistant", "gpt", "model", "bot", "chatgpt", "ai"))
_TEXTS = (
    *("text", "content", "completion", "response", "output", "generation", "answer"),
    *("prediction", "model_output", "reply"),
)


def format_of(name: str) -> Format | None:
    """Return the format of a file by its name, or `None`."""
    return next((known for end, known in FORMATS.items() if name.lower().endswith(end)), None)


def check_field(field: str) -> str:
    """Return a path to texts as it is; raise `CallerError` for one that is none."""
    if field and not _FIELD.fullmatch(field):
        raise CallerError(f"{field!r:.80} is no path to texts, such as messages[].content")
    return field


# --- The texts of a record ---


class Slot(msgspec.Struct):
    """A place of a text in a record. `holder[key]` is the text; `message` is what it stands in.

    A message with native calls alone has a slot with the text "" and no holder.
    """

    text: str
    holder: Any = None
    key: Any = None
    message: dict[str, Any] = {}

    def put(self, text: str) -> None:
        """Write another text into the record."""
        self.holder[self.key] = text


def slots(record: dict[str, Any], field: str) -> list[Slot]:
    """Return the texts of a record that a model wrote, in order."""
    if field:
        return list(_at(record, field.split(".")))
    for name in _CHATS:
        if isinstance(record.get(name), list):
            return [slot for one in cast("list[Any]", record[name]) for slot in _of_message(one)]
    if isinstance(record.get("role"), str):
        return list(_of_message(record))
    for name in _TEXTS:
        if isinstance(record.get(name), str):
            return [Slot(record[name], record, name, record)]
    return []


def _at(value: Any, path: Sequence[str]) -> Iterator[Slot]:
    """Yield the texts below a path; what has another shape has none."""
    if not isinstance(value, dict):
        return
    inside, name = cast("dict[str, Any]", value), path[0].removesuffix("[]")
    found = inside.get(name)
    if path[0].endswith("[]"):
        items = cast("list[Any]", found) if isinstance(found, list) else []
        for at, item in enumerate(items):
            if len(path) > 1:
                yield from _at(item, path[1:])
            elif isinstance(item, str):
                yield Slot(item, items, at)
    elif len(path) > 1:
        yield from _at(found, path[1:])
    elif isinstance(found, str):
        yield Slot(found, inside, name, inside)


def _of_message(message: Any) -> Iterator[Slot]:
    """Yield the texts of a message, if a model wrote it."""
    if not isinstance(message, dict):
        return
    known = cast("dict[str, Any]", message)
    if str(known.get("role", known.get("from", ""))).lower() not in _SPEAKERS:
        return
    key = "value" if "value" in known and "content" not in known else "content"
    content = known.get(key)
    if isinstance(content, str):
        yield Slot(content, known, key, known)
        return
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    inside = [cast("dict[str, Any]", one) for one in parts if isinstance(one, dict)]
    written = [one for one in inside if isinstance(one.get("text"), str)]
    for part in written:
        yield Slot(part["text"], part, "text", known)
    if not written and (known.get("tool_calls") or parts):
        yield Slot("", message=known)


# --- Lines of a range ---
#
# A range owns the lines that begin in it. So a worker begins behind the first line feed at or after
# the byte before its range, and reads beyond its end until its last line ends. Each line is then
# owned once, wherever the file is cut.


class Line(msgspec.Struct, frozen=True):
    """One line with its line end, and the offset of its first byte."""

    start: int
    content: bytes


def lines(storage: Storage, name: str, start: int, end: int, size: int) -> Generator[Line]:
    """Yield the lines of a file that begin from `start` to before `end`."""
    at = base = start - 1 if start else 0
    skipped, rest, step = start == 0, b"", _BLOCK
    while at < size:
        block = storage.read(name, at, min(size, at + step))
        if not block:
            raise OSError(5, "the file became shorter", name)
        at, whole = at + len(block), rest + block
        cut = len(whole) if at >= size else whole.rfind(b"\n") + 1
        for line in BytesIO(whole[:cut]).readlines():
            if skipped and base >= end:
                return
            if skipped:
                yield Line(base, line)
            skipped, base = True, base + len(line)
        if skipped and base >= end:
            return
        # A line that is longer than what was read is read in growing steps: each byte of it is
        # then copied a bounded number of times.
        rest, step = whole[cut:], _BLOCK if cut else 2 * step


def encode_line(record: dict[str, Any], line: bytes) -> bytes:
    """Return a changed record as one line, with the line end of the old one."""
    end = line[len(line.rstrip(b"\r\n")) :]
    try:
        return msgspec.json.encode(record) + end
    except UnicodeEncodeError:
        # Half a character can only be written as an escape.
        return json.dumps(record, separators=(",", ":")).encode() + end


# --- Columns of a Parquet file ---


def columns_of(names: Sequence[str], field: str) -> list[str]:
    """Return the columns that hold texts, of those that a file has."""
    if field:
        top = field.split(".", maxsplit=1)[0].removesuffix("[]")
        return [top] if top in names else []
    for chat in _CHATS:
        if chat in names:
            return [chat]
    if "role" in names and "content" in names:
        return [one for one in ("role", "content", "tool_calls") if one in names]
    return [name for name in _TEXTS if name in names]
