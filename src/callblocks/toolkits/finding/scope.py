"""The scope of a search: everything, a path, a kind of file, or a tag.

all   files   documents   markdown   pdf   #harbour   notes   notes/plan.md
"""

from __future__ import annotations

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.runtime.files.names import HERE
from callblocks.runtime.files.root import Root
from callblocks.toolkits.finding.kinds import KINDS

__all__ = ("DRIVE", "Scope", "path_of", "read_scope", "tag_of")

# The folder of the office's documents.
DRIVE = "office/drive"

_BELOW = "(files.path > ? and files.path < ?)"
_WORDS = ("all", "files", "documents", *KINDS)


class Scope(msgspec.Struct, frozen=True):
    """An SQL condition on files with its values; `tag` is the tag in it."""

    where: str = ""
    values: tuple[str, ...] = ()
    tag: str = ""


def path_of(scope: object) -> str:
    """Return the path that a policy judges: the whole workspace if the scope is no path."""
    is_path = isinstance(scope, str) and scope.strip() and not _is_word(scope.strip())
    return str(scope).strip() if is_path else HERE


def read_scope(text: str, root: Root) -> Scope:
    """Parse a scope; `invalid_input` if it means nothing."""
    word = text.strip()
    if word in ("", "all", HERE, "*"):
        return Scope()
    if word == "files":
        return Scope(f"not {_BELOW}", _range("office"))
    if word == "documents":
        return Scope(f"({_BELOW} or {_BELOW})", (*_range(DRIVE), *_range(word)))
    if word in KINDS:
        return Scope("files.kind = ?", (word,))
    if word.startswith("#"):
        return Scope("instr(files.tags, ?) > 0", (f" {tag_of(word)} ",), tag_of(word))
    return _of_path(word, root)


def tag_of(text: str) -> str:
    """Normalize a tag: casefolded, hyphens for blanks, no leading `#`."""
    return "-".join(text.casefold().lstrip("#").split())


def _is_word(scope: str) -> bool:
    return scope in _WORDS or scope.startswith("#") or scope == "*"


def _of_path(path: str, root: Root) -> Scope:
    try:
        entry = root.stat(path)
    except ToolError as error:
        if error.code != "path_not_found":
            raise
        words = f"nothing is at {brief(path)}; a scope is {', '.join(_WORDS)}, #tag or a path"
        raise ToolError("invalid_input", words, scope=words) from error
    if entry.path == HERE:
        return Scope()
    if entry.kind == "folder":
        return Scope(_BELOW, _range(entry.path))
    return Scope("files.path = ?", (entry.path,))


def _range(folder: str) -> tuple[str, str]:
    """Return the bounds of all paths below a folder: `0` is the character after `/`."""
    return f"{folder}/", f"{folder}0"
