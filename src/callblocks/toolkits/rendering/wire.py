"""The protocol between a tool and the rendering process.

    tool      Job                                 what to make, and from what
    process   Said, Told, Wanted …                a step, a notice, a file that the document shows
    tool      Given                               that file, or none
    process   Made, or Failed                     the document, or why there is none

Each message is one frame: a length of four bytes (big-endian) and MessagePack.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

__all__ = (
    "LONGEST",
    "Cited",
    "Failed",
    "Format",
    "Given",
    "Heard",
    "Job",
    "Kind",
    "Made",
    "Paper",
    "Said",
    "Told",
    "Wanted",
    "frame",
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


class Job(msgspec.Struct, frozen=True, kw_only=True):
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


class Said(msgspec.Struct, frozen=True, tag="said"):
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


Heard: TypeAlias = Said | Told | Wanted | Made | Failed


def frame(value: msgspec.Struct) -> bytes:
    """Encode a value as one frame."""
    content = msgspec.msgpack.encode(value)
    return len(content).to_bytes(4, "big") + content
