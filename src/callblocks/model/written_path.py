r"""The place of a file that a model writes: always the files of the current turn.

In turn_1 (`turn_0` stands for any other turn):

    written                           becomes                     a change of meaning
    x.md  ./x.md  files/x.md          turn_1/files/x.md           no
    charts/x.md  attachments/x.md     turn_1/files/charts/x.md …  no, a folder below files
    turn_1/files/x.md                 turn_1/files/x.md           no, that is its place
    turn_0/files/x.md                 turn_1/files/x.md           yes, another turn
    turn_1/x.md  turn_0/x.md          turn_1/files/x.md           yes, files stand in files/
    turn_1/attachments/x.md           turn_1/files/x.md           yes, those are the person's
    fi:turn_1.files/x.md              turn_1/files/x.md           yes, a logical path
    fi:turn_0.user.attachments/x.md   turn_1/files/x.md           yes
    fi:x.md  fi:files/x.md            turn_1/files/x.md           yes
    turn_0.files/x.md                 turn_1/files/x.md           yes, a logical path without fi:
    fi:turn_1.code.abc  tc:…  ar:…  so:…  sk:…                    refused: no file
    /x  ~/x  C:x  a\b  ..  https://…  turn_1/files  x/  ""        refused: no place of a file

A turn is known by being the current one, by its name `turn_…`, or by being among `turns`: a
folder `docs/files` is not taken for one. What is refused is a `BadPath` with `unsafe_path`.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from callblocks.model.errors import BadPath
from callblocks.model.file_names import normal_name
from callblocks.model.paths import FilePath, is_turn_id, parse_path

__all__ = ("WrittenPath", "written_path")

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
