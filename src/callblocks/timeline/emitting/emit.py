"""An outcome of any tool as blocks: the code, the call, notices, records, and results last.

    emit(call, outcome, stamp=stamp, shape=shape_of(call.name), holdings=holdings)

Records stand before the results: the results end the round, and what the round freezes can no
longer be hidden. The model's text before the call (notes) is written by the session and not here.
Nothing that a tool or a model did makes this raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from callblocks.model.blocks import RECORDS, Block
from callblocks.model.calls import Call, CheckedCall
from callblocks.model.outcomes import Notice, Outcome
from callblocks.timeline.emitting.artifact_results import artifact_results
from callblocks.timeline.emitting.call_blocks import as_run, call_blocks
from callblocks.timeline.emitting.ended import Emitted, Ended
from callblocks.timeline.emitting.exec_results import exec_results
from callblocks.timeline.emitting.file_results import rendering_results, write_results
from callblocks.timeline.emitting.holdings import Holdings
from callblocks.timeline.emitting.notices import ERROR_NOTICES, notice_blocks
from callblocks.timeline.emitting.plain_results import plain_results
from callblocks.timeline.emitting.read_results import read_results
from callblocks.timeline.emitting.shapes import Shape
from callblocks.timeline.emitting.spilled import is_spilled
from callblocks.timeline.emitting.web_results import fetch_results, search_results
from callblocks.timeline.stamp import Stamp

__all__ = ("emit", "result_blocks")

_Results: TypeAlias = Callable[[Ended], Emitted]

_RESULTS: dict[Shape, _Results] = {
    "plain": plain_results,
    "write": write_results,
    "rendering": rendering_results,
    "exec": exec_results,
    "read": read_results,
    "hide": plain_results,
    "search": search_results,
    "fetch": fetch_results,
}

# The most characters of base64 and text in all results of one call; a store takes them at once.
_TOTAL = 128 * 2**20


def emit(
    call: Call,
    outcome: Outcome,
    *,
    stamp: Stamp,
    shape: Shape,
    holdings: Holdings,
    checked: CheckedCall | None = None,
    brought: Sequence[Block] = (),
) -> list[Block]:
    """Return every block of a call. `brought` are blocks and records that the tool itself left."""
    return [
        *call_blocks(stamp, call, shape, holdings.artifacts, checked),
        *result_blocks(
            call,
            outcome,
            stamp=stamp,
            shape=shape,
            holdings=holdings,
            checked=checked,
            brought=brought,
        ),
    ]


def result_blocks(
    call: Call,
    outcome: Outcome,
    *,
    stamp: Stamp,
    shape: Shape,
    holdings: Holdings,
    checked: CheckedCall | None = None,
    brought: Sequence[Block] = (),
) -> list[Block]:
    """Return the blocks after the call block, for a call that was written before it ran.

    The results are of the call as it was checked: the model's own input may have other types.
    """
    # A failed call hides nothing and brings nothing, however far its tool came.
    brought = brought if outcome.ok else ()
    shown = tuple(block for block in brought if block.type not in RECORDS)
    ran = as_run(call, checked)
    ended = Ended(call=ran, outcome=outcome, stamp=stamp, holdings=holdings, brought=shown)
    # Shapes decide what is shown; the bound below applies to everything that they return.
    emitted = _RESULTS[shape](ended)
    others = _artifacts(ended, emitted)
    results, cut_short = _bounded((*emitted.results, *others.results))
    notices = (*outcome.notices, *emitted.notices, *others.notices, *cut_short)
    return [
        *notice_blocks(stamp, _told(notices, shape)),
        *(block for block in brought if block.type in RECORDS),
        *emitted.records,
        *results,
    ]


def _artifacts(ended: Ended, emitted: Emitted) -> Emitted:
    """Return the artifacts that the results do not show by themselves."""
    artifacts = [one for one in ended.outcome.artifacts if one.digest not in emitted.shown]
    output = ended.outcome.output
    begun = {one.digest for one in artifacts if is_spilled(output, one)}
    begun.update(one.digest for one in emitted.kept)
    return artifact_results(ended, (*artifacts, *emitted.kept), begun)


def _told(notices: Iterable[Notice], shape: Shape) -> list[Notice]:
    """Return the notices; errors of code stand in its report instead."""
    return [one for one in notices if shape != "exec" or one.code not in ERROR_NOTICES]


def _bounded(blocks: Iterable[Block]) -> tuple[list[Block], list[Notice]]:
    """Return the blocks; past the total, files have no content."""
    left, kept, without = _TOTAL, list[Block](), list[str]()
    for block in blocks:
        size = len(block.base64 or "") + len(block.text or "")
        if size > left and block.path.startswith("fi:"):
            without.append(block.path)
            kept.append(msgspec.structs.replace(block, text=None, base64=None))
        else:
            left -= size
            kept.append(block)
    if not without:
        return kept, []
    words = "these results are too large together; react.read brings the others one by one"
    return kept, [Notice(code="file_too_large", message=words, details={"paths": without})]
