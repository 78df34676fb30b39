"""The protocol between a tool and the rendering process.

    tool      RenderJob                           what to make, and from what
    process   Said, Told, Wanted …                a step, a notice, a file that the document shows
    tool      Given                               that file, or none
    process   Made, or Failed                     the document, or why there is none

Each message is one frame: a length of four bytes (big-endian) and MessagePack.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, BinaryIO, Literal, TypeAlias
from urllib.parse import unquote, unquote_to_bytes

import msgspec

__all__ = (
    "LONGEST",
    "Cited",
    "Failed",
    "Format",
    "Given",
    "Heard",
    "Kind",
    "Made",
    "Outside",
    "Paper",
    "RenderJob",
    "RenderProgress",
    "Told",
    "Unrenderable",
    "Wanted",
    "frame",
    "receive",
)

Kind: TypeAlias = Literal["pdf", "png", "docx", "pptx", "xlsx"]
Format: TypeAlias = Literal["markdown", "html", "csv"]
Paper: TypeAlias = Literal["a4", "a4-landscape", "letter", "letter-landscape"]

# Maximum bytes of one frame.
LONGEST = 128 * 1024 * 1024


class Cited(msgspec.Struct, frozen=True):
    """A source that a document may cite, as its list of sources shows it."""

    sid: int
    title: str = ""
    address: str = ""
    date: str = ""


class RenderJob(msgspec.Struct, frozen=True, kw_only=True):
    """The task. `rows` are those of a sheet, if they are not in `content`."""

    kind: Kind
    name: str
    content: str = ""
    format: Format = "markdown"
    title: str = ""
    author: str = ""
    paper: Paper = "a4"
    width: int = 0
    rows: list[Any] | None = None
    sources: list[Cited] = []


class Given(msgspec.Struct, frozen=True):
    """The answer to `Wanted`; `None` if there is no such file."""

    content: bytes | None = None


class RenderProgress(msgspec.Struct, frozen=True, tag="said"):
    """Progress in words."""

    text: str


class Told(msgspec.Struct, frozen=True, tag="told"):
    """A notice for the model."""

    code: str
    message: str
    details: dict[str, Any] = {}


class Wanted(msgspec.Struct, frozen=True, tag="wanted"):
    """A request for a file, by its name in the document."""

    name: str


class Made(msgspec.Struct, frozen=True, tag="made"):
    """The document, and facts about it: `{"pages": 3}`."""

    content: bytes
    about: dict[str, int] = {}


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The failure of the document."""

    code: str
    message: str


Heard: TypeAlias = RenderProgress | Told | Wanted | Made | Failed


def frame(value: msgspec.Struct) -> bytes:
    """Encode a value as one frame."""
    content = msgspec.msgpack.encode(value)
    return len(content).to_bytes(4, "big") + content


# --- The exception of writers; its code reaches the model ---


class Unrenderable(Exception):
    """The input cannot become a document, within the limits or at all."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


# --- The child's side of the protocol: progress, notices and requests for files ---
#
# Files come from the parent process by name; nothing is fetched, and nothing is read from this
# machine. A missing or unusable file causes a notice, and the document goes on.

_DATA = re.compile(r"data:[^,]*?(;base64)?,(.*)", re.DOTALL | re.IGNORECASE)
# At least two letters, because a Windows drive is no scheme; `fi:` names a file of the timeline.
_SCHEME = re.compile(r"(?!fi:)[A-Za-z][A-Za-z0-9+.-]+:")
_MOST_FILES = 200
_MOST_BYTES = 64 * 1024 * 1024
_SHOWN = 120


class Outside:
    """The connection to the parent process."""

    def __init__(self, send: Callable[[Heard], None], hear: Callable[[], Given]) -> None:
        self._send = send
        self._hear = hear
        self._files: dict[str, bytes | None] = {}
        self._told: set[tuple[str, str]] = set()
        self._bytes = 0

    def say(self, text: str) -> None:
        """Report progress."""
        self._send(RenderProgress(f"{text}\n"))

    def tell(self, code: str, message: str, **details: object) -> None:
        """Send a notice to the model, once."""
        if (code, message) not in self._told:
            self._told.add((code, message))
            self._send(Told(code, message, details))

    def file(self, name: str) -> bytes | None:
        """Return the file that a document names; `None` and a notice if it cannot be shown."""
        # Each file is requested once, also a missing one: a document may show a logo on each page.
        if name not in self._files:
            self._files[name] = self._ask(name)
        return self._files[name]

    def _ask(self, name: str) -> bytes | None:
        if name[:5].lower() == "data:":
            return self._inline(name)
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
        if _SCHEME.match(name) or name.startswith("//"):
            words = "is not fetched; keep it as a file of the timeline, and name that"
            self.tell("image_not_fetched", f"{shown} {words}", name=shown)
            return None
        if len(self._files) >= _MOST_FILES or self._bytes > _MOST_BYTES:
            self.tell("image_left_out", f"{shown}: a document shows {_MOST_FILES} files at most")
            return None
        self._send(Wanted(unquote(name)))
        content = self._hear().content
        if content is None:
            words = "is no file of this timeline; the document has its description instead"
            self.tell("image_missing", f"{shown} {words}", name=shown)
        self._bytes += len(content or b"")
        return content

    def _inline(self, url: str) -> bytes | None:
        """Decode a `data:` URL."""
        if match := _DATA.fullmatch(url):
            plain = unquote_to_bytes(match[2])
            try:
                return base64.b64decode(plain) if match[1] else plain
            except (binascii.Error, ValueError):
                pass
        self.tell("image_broken", "a data: address holds no picture")
        return None


def receive(source: BinaryIO) -> bytes:
    """Read one frame; `EOFError` at the end of the input."""
    head = source.read(4)
    size = int.from_bytes(head, "big")
    if len(head) < 4 or size > LONGEST:
        raise EOFError
    content = source.read(size)
    if len(content) < size:
        raise EOFError
    return content


def conversation(source: BinaryIO, sink: BinaryIO) -> Outside:
    """Return a connection over two pipes."""

    def send(heard: Heard) -> None:
        sink.write(frame(heard))
        sink.flush()

    decode = msgspec.msgpack.Decoder(Given).decode
    return Outside(send, lambda: decode(receive(source)))
