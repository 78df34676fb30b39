r"""Server-sent events from pieces of bytes, cut anywhere.

    b'data: {"a":\r\n' b'data: 1}\r\n\r\n: a comment\r\n'      ServerEvent(data='{"a":\n1}')

A line ends with LF, CRLF or CR; an event with an empty line, or with the text. Fields other than
`data` and `event` are ignored, and so are comments and events without data. A line `error: …` is
the data of an event `error`: some servers write it so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from callblocks.model.errors import ModelError

__all__ = ("EventLines", "ServerEvent")

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class ServerEvent(msgspec.Struct, frozen=True):
    """One event; `kind` is its name."""

    data: str
    kind: str = "message"


class EventLines:
    """The reader of one stream. `feed` yields the events that a piece completes, `close` the rest.

    Both yield events one by one, so that a line longer than `limit` bytes raises `ModelError`
    (`model_too_long`) only after all events before it. The data of one event has the same limit.
    `server` is its name in the message.
    """

    def __init__(self, limit: int = 1 << 20, server: str = "the model's server") -> None:
        self._limit = limit
        self._server = server
        self._line: list[bytes] = []
        self._line_size = 0
        self._is_first = True
        self._after_cr = False
        self._kind = ""
        self._fields: list[str] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Yield the events that end in this piece; consume all of them before the next piece."""
        # A CR at the end of a piece already ended its line; the LF that may follow in the next
        # piece belongs to it.
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr = self._after_cr or piece.endswith(b"\r")
        *ended, rest = _LINE_END.split(piece)
        for part in ended:
            self._extend(part)
            yield from self._end_line()
        self._extend(rest)

    def close(self) -> Iterator[ServerEvent]:
        """Yield the event that was not ended by an empty line, if there is one."""
        if self._line:
            yield from self._end_line()
        yield from self._end_event()

    def _extend(self, part: bytes) -> None:
        # The size is checked as the line grows, not when it ends: a line without end must not fill
        # the memory.
        self._line_size += len(part)
        if self._line_size > self._limit:
            raise _too_long(self._server, self._limit)
        if part:
            self._line.append(part)

    def _end_line(self) -> Iterator[ServerEvent]:
        line = b"".join(self._line)
        self._line, self._line_size = [], 0
        if self._is_first:
            line = line.removeprefix(_BOM)
            self._is_first = False
        if line:
            self._read(line.decode("utf-8", "replace"))
        else:
            yield from self._end_event()

    def _read(self, line: str) -> None:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._kind = value
        elif field == "data":
            self._add(value)
        elif field == "error":
            self._kind = "error"
            self._add(value)

    def _add(self, value: str) -> None:
        self._size += len(value) + 1
        if self._size > self._limit:
            raise _too_long(self._server, self._limit)
        self._fields.append(value)

    def _end_event(self) -> Iterator[ServerEvent]:
        fields, kind = self._fields, self._kind
        self._fields, self._kind, self._size = [], "", 0
        if fields:
            yield ServerEvent("\n".join(fields), kind or "message")


def _too_long(server: str, limit: int) -> ModelError:
    return ModelError(
        "model_too_long",
        f"{server} sent a line or an event of more than {limit} bytes; raise line_limit if that "
        "can be right",
        limit=limit,
    )
