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
import unicodedata
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from callblocks.core.errors import BadPath

__all__ = (
    "CALL_PATH",
    "CITATION",
    "MAX_LENGTH",
    "MAX_NAMES",
    "MAX_SEGMENT",
    "NOTES_PATH",
    "CallPath",
    "CodePath",
    "FilePath",
    "MessagePath",
    "NotesPath",
    "Path",
    "Ranges",
    "SkillPath",
    "SourcesPath",
    "WrittenPath",
    "call_segment",
    "chosen",
    "cited",
    "file_path",
    "is_turn_id",
    "joined",
    "normal_name",
    "normalize_path",
    "parse_path",
    "parse_physical",
    "parse_selector",
    "ranges_of",
    "selector_text",
    "written_path",
)

# --- Names of files below a folder of a turn: `report.md`, `charts/rain 2030.png` ---
#
#     ./charts//a.png     charts/a.png    empty and `.` segments are dropped
#     ..  a/../b  /etc/x  a\b             refused: unsafe_path
#     a line break, a control, an invisible character, a surrogate, a trailing blank: refused
#
# A name is otherwise kept as written, also its Unicode form: `é` in one character and in two are
# two files on disk, and the existing one must be found. The limits are those of a disk.

# The most bytes between two slashes that file systems accept.
MAX_SEGMENT = 255

# The most bytes in all: with the turn and its folder, still a path that the kernel accepts.
MAX_LENGTH = 3900

# The most segments: deeper trees are hard to copy and to remove.
MAX_NAMES = 120

# Controls, line ends, surrogates, and the separator of other systems.
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\\\\]")


def normal_name(text: str, name: str) -> str:
    """Return the normal form of `name`; raise `unsafe_path` naming `text` for an invalid one."""
    segments = [segment for segment in name.split("/") if segment not in ("", ".")]
    fault = _fault(name, segments)
    if fault:
        raise BadPath(text, fault, code="unsafe_path")
    return "/".join(segments)


def _fault(name: str, segments: list[str]) -> str:
    """Return why this is no name of a file, in words; "" if it is one."""
    # All conditions are cheap, so the table is evaluated whole; the first fault in its order is
    # reported.
    faults = (
        (name.startswith("/"), "is absolute; write it from the folder on, without a leading /"),
        (".." in segments, "leaves its folder; write it without .."),
        (not segments, "names no file; write a name, such as report.md"),
        (_is_long(segments), f"is too long; a name has at most {MAX_SEGMENT} bytes"),
        (_ODD.search(name), "has a control character or a backslash; leave it out"),
        (_is_invisible(name), "has an invisible character; leave it out"),
        (any(part.endswith(" ") for part in segments), "has a name with a blank at its end"),
    )
    return next((words for is_fault, words in faults if is_fault), "")


def _is_long(segments: list[str]) -> bool:
    sizes = [len(segment.encode("utf-8", "surrogatepass")) for segment in segments]
    return len(sizes) > MAX_NAMES or sum(sizes) > MAX_LENGTH or max(sizes, default=0) > MAX_SEGMENT


def _is_invisible(name: str) -> bool:
    return not name.isascii() and any(unicodedata.category(char) == "Cf" for char in name)


# --- Logical paths of a timeline: one grammar, both ways ---

_TURN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# ASCII: of two ids that look alike, at most one is written as it is.
_CALL = re.compile(r"[\w:+~@-][\w.:+~@-]{0,119}", re.ASCII)
# Ids that a parser made: another text of the same turn reuses them for other calls.
_MADE = re.compile(r"tool-call-[0-9]+(?:-[0-9]+)?")
_SKILL = re.compile(r"[A-Za-z0-9][\w.-]{0,199}", re.ASCII)
_POOL = re.compile(r"sources_pool\[([^\]]*)\]")
_BLANKS = " \t\r\n"

CALL_PATH = "tc:{turn}.{call}.{part}"
NOTES_PATH = "ar:{turn}.react.notes.{call}"
"""The forms of a `CallPath` and a `NotesPath`, for those who have checked turn and call."""

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
        return NOTES_PATH.format(turn=self.turn, call=self.call)


class CallPath(_OfCall, frozen=True):
    """A call, a notice about it, or its result."""

    part: Part

    def __str__(self) -> str:
        return CALL_PATH.format(turn=self.turn, call=self.call, part=self.part)


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
@lru_cache(maxsize=1024)
def call_segment(turn: str, id: str) -> str:
    """Return a call's id as paths and headers write it: itself, or `tc_` and 12 hex digits.

    The digits replace an id that no path can hold, and ids such as `tool-call-1`, which are not
    unique outside of their text. Collisions are improbable; a recorder resolves them.
    """
    if _CALL.fullmatch(id) and not _MADE.fullmatch(id):
        return id
    told = f"{turn}.{id}".encode("utf-8", "surrogatepass")
    return f"tc_{hashlib.sha256(told).hexdigest()[:12]}"


@lru_cache(maxsize=1024)
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


# --- The place of a file that a model writes: always the files of the current turn ---
#
# In turn_1 (`turn_0` stands for any other turn):
#
#     written                           becomes                     a change of meaning
#     x.md  ./x.md  files/x.md          turn_1/files/x.md           no
#     charts/x.md  attachments/x.md     turn_1/files/charts/x.md …  no, a folder below files
#     turn_1/files/x.md                 turn_1/files/x.md           no, that is its place
#     turn_0/files/x.md                 turn_1/files/x.md           yes, another turn
#     turn_1/x.md  turn_0/x.md          turn_1/files/x.md           yes, files stand in files/
#     turn_1/attachments/x.md           turn_1/files/x.md           yes, those are the person's
#     fi:turn_1.files/x.md              turn_1/files/x.md           yes, a logical path
#     fi:turn_0.user.attachments/x.md   turn_1/files/x.md           yes
#     fi:x.md  fi:files/x.md            turn_1/files/x.md           yes
#     turn_0.files/x.md                 turn_1/files/x.md           yes, a logical path without fi:
#     fi:turn_1.code.abc  tc:…  ar:…  so:…  sk:…                    refused: no file
#     /x  ~/x  C:x  a\b  ..  https://…  turn_1/files  x/  ""        refused: no place of a file
#
# A turn is known by being the current one, by its name `turn_…`, or by being among `turns`: a
# folder `docs/files` is not taken for one. What is refused is a `BadPath` with `unsafe_path`.

# A home folder, a drive, a logical path, a URL (its second slash is dropped as an empty segment).
_ELSEWHERE = re.compile(r"~|[A-Za-z]:|(?:ar|fi|sk|so|tc):|[A-Za-z][A-Za-z0-9+.-]*:/")


class WrittenPath(msgspec.Struct, frozen=True):
    """The path of the file, and whether that is another place than the one written."""

    path: FilePath
    rewritten: bool


def written_path(text: str, turn: str, turns: Collection[str] = ()) -> WrittenPath:
    """Parse the path that a model gave for a file to write; raise `BadPath` for an unsafe one."""
    written = text.strip(" \t\r\n")
    if written.endswith(("/", "/.")):
        words = "names a folder; write the name of a file, such as report.md"
        raise BadPath(text, words, code="unsafe_path")
    if written.startswith("fi:"):
        return WrittenPath(FilePath(turn, _logical(text, written, turn, turns)), True)
    if logical := _without_scheme(written, turn, turns):
        return WrittenPath(FilePath(turn, logical.name), True)
    name, rewritten = _plain(text, written, turn, turns)
    return WrittenPath(FilePath(turn, name), rewritten)


def _logical(text: str, written: str, turn: str, turns: Collection[str]) -> str:
    """Return the name in a `fi:` path; text that only begins like one is read as a plain path."""
    try:
        path = parse_path(written)
    except BadPath as error:
        if error.code == "unsafe_path":
            raise
        return _plain(text, written.removeprefix("fi:"), turn, turns)[0]
    if isinstance(path, FilePath):
        return path.name
    raise BadPath(text, "is the code of a call, and not written to", code="unsafe_path")


def _without_scheme(written: str, turn: str, turns: Collection[str]) -> FilePath | None:
    """Return a file whose `fi:` was forgotten; faults in it are reported for the plain path."""
    if not _is_turn(written.partition(".")[0], turn, turns):
        return None
    try:
        path = parse_path(f"fi:{written}")
    except BadPath:
        return None
    return path if isinstance(path, FilePath) else None


def _plain(text: str, written: str, turn: str, turns: Collection[str]) -> tuple[str, bool]:
    """Return the name below `files`, and whether the path named another place."""
    whole = normal_name(text, written)
    if _ELSEWHERE.match(whole):
        raise BadPath(
            text, "is no place for a file; write a name, such as report.md", "unsafe_path"
        )
    first, _, rest = whole.partition("/")
    # Only a known turn counts: `docs/files` is an ordinary folder.
    if rest and _is_turn(first, turn, turns):
        place, _, name = rest.partition("/")
        if place not in ("files", "attachments"):
            return rest, True
        return normal_name(text, name), place != "files" or first != turn
    return (rest if first == "files" and rest else whole), False


def _is_turn(segment: str, turn: str, turns: Collection[str]) -> bool:
    known = segment == turn or segment in turns
    return known or (segment.startswith("turn_") and is_turn_id(segment))


# --- Selectors of numbers and ranges, by which sources are picked and cited: `1,3-5` ---
#
#     1, 3 - 5      1,3-5        spaces are allowed
#     5-3,1,2       1-5          a reversed range is swapped; neighbours join, smallest first
#
# A range is never expanded: it is compared with the existing numbers, so that `1-999999999` costs
# nothing.


# First and last number of each range.
Ranges: TypeAlias = tuple[tuple[int, int], ...]

_PART = re.compile(r"\s*([0-9]{1,15})\s*(?:[-–]\s*([0-9]{1,15})\s*)?")


def parse_selector(text: str) -> Ranges | None:
    """Parse a selector into the fewest ranges; `None` for an invalid one."""
    found: list[tuple[int, int]] = []
    for part in text.split(","):
        numbers = _PART.fullmatch(part)
        if numbers is None:
            return None
        first = int(numbers[1])
        found.append((first, first if numbers[2] is None else int(numbers[2])))
    return joined(found)


def selector_text(ranges: Ranges) -> str:
    """Return the ranges as a selector."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the fewest ranges that contain the same numbers, smallest first."""
    found: list[tuple[int, int]] = []
    for first, last in sorted((min(pair), max(pair)) for pair in ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def chosen(ranges: Ranges, known: Iterable[int]) -> list[int]:
    """Return the known numbers in the ranges, once each, smallest first."""
    picked: list[int] = []
    # A merge of two sorted sequences: each range and each number is visited once.
    waiting = iter(joined(ranges))
    first, last = next(waiting, (1, 0))
    for number in sorted(set(known)):
        while number > last:
            # Past all ranges: no number exceeds infinity, and none lies in (inf, inf).
            first, last = next(waiting, (float("inf"), float("inf")))
        if first <= number:
            picked.append(number)
    return picked


def ranges_of(numbers: Iterable[int]) -> Ranges:
    """Return the fewest ranges that contain exactly these numbers."""
    return joined((number, number) for number in numbers)


# --- Citations in a text: `[[S:1,3-5]]` cites sources 1, 3, 4 and 5 ---
#
#     Rain is likely [[S:2]], and wind [[S: 4 - 6, 9]].
#
# They count anywhere, also in code and in fences: a text may have any format, and a source cited
# once too often does less harm than one that is lost. A bracket without a valid selector, such as
# `[[S:]]` or `[[S:x]]`, is prose. A number that no source has is left out.

# Linear: no bracket can match inside.
# A citation; its group is the selector. It matches no bracket inside, so the text between two
# openings is scanned once and the search is linear.
CITATION = re.compile(r"\[\[S:([0-9,\s–-]+)\]\]")


def cited(text: str, known: Collection[int]) -> list[int]:
    """Return the known sources that a text cites, once each, smallest first."""
    found = (parse_selector(citation[1]) for citation in CITATION.finditer(text))
    return chosen(joined(pair for ranges in found if ranges for pair in ranges), known)
