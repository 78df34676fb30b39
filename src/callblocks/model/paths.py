"""Logical paths of a timeline: one grammar, both ways.

    ar:<turn>.user.prompt                ar:<turn>.assistant.completion
    ar:<turn>.react.notes.<call>
    tc:<turn>.<call>.call                tc:<turn>.<call>.notice      tc:<turn>.<call>.result
    fi:<turn>.files/<rel>                <turn>/files/<rel>           on disk
    fi:<turn>.user.attachments/<name>    <turn>/attachments/<name>    on disk
    fi:<turn>.code.<call>
    so:sources_pool[1,3-5]
    sk:<namespace.id>

`parse_path` reads a path, `str()` writes it, and the two are inverse. Surrounding blanks are
dropped. A path that could not be parsed again cannot be constructed: each class checks its parts.
The name of a turn has no dot, so the id of a call may have some.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from callblocks.model.errors import BadPath
from callblocks.model.file_names import normal_name
from callblocks.model.selector import Ranges, joined, parse_selector, selector_text

__all__ = (
    "CallPath",
    "CodePath",
    "FilePath",
    "MessagePath",
    "NotesPath",
    "Path",
    "SkillPath",
    "SourcesPath",
    "call_segment",
    "file_path",
    "is_turn_id",
    "normalize_path",
    "parse_path",
    "parse_physical",
)

_TURN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# ASCII: of two ids that look alike, at most one is written as it is.
_CALL = re.compile(r"[\w:+~@-][\w.:+~@-]{0,119}", re.ASCII)
# Ids that a parser made: another text of the same turn reuses them for other calls.
_MADE = re.compile(r"tool-call-[0-9]+(?:-[0-9]+)?")
_SKILL = re.compile(r"[A-Za-z0-9][\w.-]{0,199}", re.ASCII)
_POOL = re.compile(r"sources_pool\[([^\]]*)\]")
_BLANKS = " \t\r\n"

Message: TypeAlias = Literal["user.prompt", "assistant.completion"]
Part: TypeAlias = Literal["call", "notice", "result"]
Place: TypeAlias = Literal["files", "attachments"]


class _OfTurn(msgspec.Struct, frozen=True):
    turn: str

    def __post_init__(self) -> None:
        if not is_turn_id(self.turn):
            raise BadPath(self.turn, "is no turn; it is letters, digits, _ and -")


class _OfCall(_OfTurn, frozen=True):
    call: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _CALL.fullmatch(self.call):
            raise BadPath(self.call, "is no call; call_segment() makes one of any id")


class MessagePath(_OfTurn, frozen=True):
    """The person's message, or the answer."""

    message: Message

    def __str__(self) -> str:
        return f"ar:{self.turn}.{self.message}"


class NotesPath(_OfCall, frozen=True):
    """The model's text before a call."""

    def __str__(self) -> str:
        return f"ar:{self.turn}.react.notes.{self.call}"


class CallPath(_OfCall, frozen=True):
    """A call, a notice about it, or its result."""

    part: Part

    def __str__(self) -> str:
        return f"tc:{self.turn}.{self.call}.{self.part}"


class CodePath(_OfCall, frozen=True):
    """The code that a call ran."""

    def __str__(self) -> str:
        return f"fi:{self.turn}.code.{self.call}"


class FilePath(_OfTurn, frozen=True):
    """A file that a tool made (`files`), or that the person attached (`attachments`).

    The name is in its normal form; `file_path` normalizes any name.
    """

    name: str
    place: Place = "files"

    def __post_init__(self) -> None:
        super().__post_init__()
        if normal_name(self.name, self.name) != self.name:
            raise BadPath(self.name, "is not in its normal form; use file_path()", "unsafe_path")

    @property
    def physical(self) -> str:
        """Return the path on disk, below the folder of the timeline."""
        return f"{self.turn}/{self.place}/{self.name}"

    def __str__(self) -> str:
        place = "user.attachments" if self.place == "attachments" else "files"
        return f"fi:{self.turn}.{place}/{self.name}"


class SourcesPath(msgspec.Struct, frozen=True):
    """Rows of the sources pool, by number: the fewest ranges, smallest first."""

    ranges: Ranges

    def __post_init__(self) -> None:
        if not self.ranges or self.ranges[0][0] < 0 or joined(self.ranges) != self.ranges:
            raise BadPath(repr(self.ranges), "names no sources; ranges_of() makes ranges")

    def __str__(self) -> str:
        return f"so:sources_pool[{selector_text(self.ranges)}]"


class SkillPath(msgspec.Struct, frozen=True):
    """A skill: instructions that a model may ask for."""

    id: str

    def __post_init__(self) -> None:
        if not _SKILL.fullmatch(self.id):
            raise BadPath(self.id, "is no <namespace.id> of a skill")

    def __str__(self) -> str:
        return f"sk:{self.id}"


Path: TypeAlias = MessagePath | NotesPath | CallPath | FilePath | CodePath | SourcesPath | SkillPath


def parse_path(text: str) -> Path:
    """Parse a path; raise `BadPath` for any other text."""
    scheme, colon, rest = text.strip(_BLANKS).partition(":")
    read = _SCHEMES.get(scheme) if colon else None
    if read is None:
        raise BadPath(text, "begins with none of ar: tc: fi: so: sk:")
    return read(text, rest)


def normalize_path(text: str) -> str:
    """Return the normal form of a path; raise `BadPath` for any other text."""
    return str(parse_path(text))


def parse_physical(text: str) -> FilePath:
    """Parse a path on disk, such as `turn_1/files/a.md`; raise `BadPath` for any other text."""
    turn, _, rest = text.strip(_BLANKS).partition("/")
    place, slash, name = rest.partition("/")
    if place not in ("files", "attachments") or not slash:
        raise BadPath(text, "is no <turn>/files/<name> and no <turn>/attachments/<name>")
    return file_path(turn, name, place)


def file_path(turn: str, name: str, place: Place = "files") -> FilePath:
    """Return the path of a file by a name as given: `./a//b` is `a/b`."""
    return FilePath(turn, normal_name(name, name.rstrip(_BLANKS)), place)


# A hash of turn and id, so that the same id in two turns gives two segments.
def call_segment(turn: str, id: str) -> str:
    """Return a call's id as paths and headers write it: itself, or `tc_` and 12 hex digits.

    The digits replace an id that no path can hold, and ids such as `tool-call-1`, which are not
    unique outside of their text. Collisions are improbable; a recorder resolves them.
    """
    if _CALL.fullmatch(id) and not _MADE.fullmatch(id):
        return id
    told = f"{turn}.{id}".encode("utf-8", "surrogatepass")
    return f"tc_{hashlib.sha256(told).hexdigest()[:12]}"


def is_turn_id(text: str) -> bool:
    """Return whether a text can name a turn: letters, digits, `_` and `-`."""
    return _TURN.fullmatch(text) is not None


def _read_ar(text: str, rest: str) -> Path:
    turn, _, what = rest.partition(".")
    if what in ("user.prompt", "assistant.completion"):
        return MessagePath(turn, what)
    if what.startswith("react.notes."):
        return NotesPath(turn, what.removeprefix("react.notes."))
    raise BadPath(text, "names no prompt, completion or notes")


def _read_tc(text: str, rest: str) -> Path:
    turn, _, what = rest.partition(".")
    call, _, part = what.rpartition(".")
    if part not in ("call", "notice", "result"):
        raise BadPath(text, "ends with none of .call .notice .result")
    return CallPath(turn, call, part)


def _read_fi(text: str, rest: str) -> Path:
    turn, _, what = rest.partition(".")
    if what.startswith("files/"):
        return file_path(turn, what.removeprefix("files/"))
    if what.startswith("user.attachments/"):
        return file_path(turn, what.removeprefix("user.attachments/"), "attachments")
    if what.startswith("code."):
        return CodePath(turn, what.removeprefix("code."))
    raise BadPath(text, "has none of .files/ .user.attachments/ .code.")


def _read_so(text: str, rest: str) -> Path:
    inside = _POOL.fullmatch(rest)
    ranges = parse_selector(inside[1]) if inside else None
    if not ranges:
        raise BadPath(text, "is no so:sources_pool[1,3-5]")
    return SourcesPath(ranges)


def _read_sk(_: str, rest: str) -> Path:
    return SkillPath(rest)


_SCHEMES: dict[str, Callable[[str, str], Path]] = {
    "ar": _read_ar,
    "tc": _read_tc,
    "fi": _read_fi,
    "so": _read_so,
    "sk": _read_sk,
}
