"""Copying promised files out of the sandbox; all other files are discarded with it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.model.shown import format_size
from callblocks.runtime.sandbox.sandbox import Changes
from callblocks.timeline.keeping.written import check_written
from callblocks.toolkits.exec.contract import Promised
from callblocks.toolkits.exec.places import Place
from callblocks.tools.context import Context

__all__ = ("Brought", "bring")

NOT_PRODUCED = "file not produced"


class Brought(msgspec.Struct, frozen=True):
    """The promised files that were produced, and the problem of each other one."""

    produced: tuple[str, ...] = ()
    problems: dict[str, str] = {}


def bring(
    changes: Changes, contract: Sequence[Promised], place: Place, context: Context
) -> Brought:
    """Write each promised file that was made; one that cannot be written does not stop the rest."""
    made = {written.path: written.content for written in changes.written}
    left_out = {left.path: left.reason for left in changes.left_out}
    produced: list[str] = []
    problems: dict[str, str] = {}
    for promised in _told(contract, made, context):
        content = made.get(promised.inside)
        if content is None:
            why = left_out.get(promised.inside) or _instead(promised, contract, made)
            problems[promised.path] = f"{NOT_PRODUCED}: {why}" if why else NOT_PRODUCED
        elif problem := _put(promised, content, place):
            problems[promised.path] = problem
        else:
            produced.append(promised.path)
    return Brought(tuple(produced), problems)


def _instead(promised: Promised, contract: Sequence[Promised], made: Iterable[str]) -> str:
    """Name the path of an unpromised file with the same base name, or return ""."""
    # The usual mistake of a model: it promises `sales.csv` (that is `files/sales.csv`) and writes
    # `sales.csv` into the current folder. Naming the wrong path lets it repair the code at once.
    name = posixpath.basename(promised.inside)
    others = {one.inside for one in contract}
    found = (path for path in made if posixpath.basename(path) == name and path not in others)
    wrong = next(found, "")
    return f"the code wrote {brief(wrong, 200)}" if wrong else ""


def _told(
    contract: Sequence[Promised], made: dict[str, bytes], context: Context
) -> Iterator[Promised]:
    """Yield each promised file after reporting its progress; stop when the call is cancelled."""
    for number, promised in enumerate(contract, 1):
        if context.cancelled:
            return
        content = made.get(promised.inside)
        size = NOT_PRODUCED if content is None else format_size(len(content))
        context.report(f"file {number} of {len(contract)}: {promised.path} ({size})\n")
        yield promised


def _put(promised: Promised, content: bytes, place: Place) -> str:
    """Write a file and return its problem, or "". A damaged file does not replace an
    existing one.
    """
    if not content:
        return "file is empty"
    if fault := check_written(promised.path, content).error:
        return fault.message
    try:
        place.put(promised, content)
    except ToolError as error:
        return f"{error.code}: {error.message}"
    except OSError as error:
        return f"file_error: {error.strerror or type(error).__name__}"
    return ""
