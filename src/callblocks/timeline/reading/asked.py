"""Paths as a model asks for them, which it may spell in more than one way.

    fi:turn_1.files/a.md    turn_1/files/a.md         the same file
    so:sources_pool[1,2]    so:sources_pool[1-99]     the same rows, if there are two

A selector is held against the pool, and never reaches beyond it.
"""

from __future__ import annotations

from collections.abc import Iterable

from callblocks.model.errors import BadPath
from callblocks.model.paths import Path, SourcesPath, parse_path, parse_physical
from callblocks.model.selector import ranges_of
from callblocks.timeline.state import State

__all__ = ("path_of", "rows_path", "spellings")


def path_of(text: str) -> Path | None:
    """What a text names, by its path on the timeline or on disk; `None` if it is neither."""
    for read in (parse_path, parse_physical):
        try:
            return read(text)
        except BadPath:
            continue
    return None


def spellings(path: Path, state: State) -> tuple[str, ...]:
    """The paths at which blocks may stand that are meant."""
    if not isinstance(path, SourcesPath):
        return (str(path),)
    known = [row.sid for row in state.pool.select(path.ranges)]
    return (str(path), rows_path(known)) if known else (str(path),)


def rows_path(sids: Iterable[int]) -> str:
    """The path of these rows of the sources pool, in its shortest spelling."""
    return str(SourcesPath(ranges_of(sids)))
