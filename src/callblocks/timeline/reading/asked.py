"""Paths as a model requests them, which it may spell in more than one way.

    fi:turn_1.files/a.md    turn_1/files/a.md         the same file
    so:sources_pool[1,2]    so:sources_pool[1-99]     the same rows, if there are two

A selector is intersected with the pool, and never reaches beyond it.

A list of paths may come as one text: a path on each line, with or without `- `, paths side by side,
a JSON list, `paths: […]`. A path that a bracket or a quote has cut off is repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from callblocks.model.errors import BadPath
from callblocks.model.paths import Path, SourcesPath, parse_path, parse_physical
from callblocks.model.selector import ranges_of
from callblocks.timeline.state import State

__all__ = ("asked_paths", "path_of", "rows_path", "spellings")

_LABEL = re.compile(r"\s*paths\s*[:=]")
_BULLET = re.compile(r"(?:[-*•]|[0-9]{1,3}[.)])(?:[ \t]+|\Z)")
_BETWEEN = re.compile(r"[,\s]+(?=[\"'`]?(?:ar|fi|sk|so|tc):)")
_AROUND = " \t\r\n\"'`,"


def asked_paths(given: Iterable[str], known: Callable[[str], bool]) -> list[str]:
    """Return the paths in a list, or in the text of one; those that are `known` stay as
    they are.
    """
    items = list(given)
    if all(map(known, items)):
        return items
    text = _LABEL.sub("", "\n".join(items), count=1)
    listed = _json_list(text)
    if listed is not None:
        return listed
    return [path for line in text.split("\n") for path in _on_line(line.strip(), known)]


def _json_list(text: str) -> list[str] | None:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("paths")
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return items if all(isinstance(one, str) for one in items) else None


def _on_line(line: str, known: Callable[[str], bool]) -> Iterator[str]:
    # A file name may contain blanks and commas, so a whole line that is a known path is not split.
    if known(line):
        yield line
        return
    for piece in _BETWEEN.split(_BULLET.sub("", line, count=1)):
        if path := _whole(piece.strip(_AROUND)):
            yield path


def _whole(piece: str) -> str:
    """Return a path without the brackets around it, and with the one that a header could
    not hold.
    """
    path = piece.lstrip("[{").strip(_AROUND)
    if "[" not in path:
        return path.rstrip("]}").strip(_AROUND)
    return f"{path.partition(']')[0]}]" if path.startswith("so:") else path


def path_of(text: str) -> Path | None:
    """Return the path that a text denotes, on the timeline or on disk; `None` if it is neither."""
    for read in (parse_path, parse_physical):
        try:
            return read(text)
        except BadPath:
            continue
    return None


def spellings(path: Path, state: State) -> tuple[str, ...]:
    """Return the paths at which the denoted blocks may stand."""
    if not isinstance(path, SourcesPath):
        return (str(path),)
    known = [row.sid for row in state.pool.select(path.ranges)]
    return (str(path), rows_path(known)) if known else (str(path),)


def rows_path(sids: Iterable[int]) -> str:
    """Return the path of these rows of the sources pool, in its shortest spelling."""
    return str(SourcesPath(ranges_of(sids)))
